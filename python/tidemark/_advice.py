"""What to look at when a series leaks: what the numbers allow to say, and no more."""

TORCH_BLOCK_BYTES = 512  # the least that torch's CUDA allocator gives

GPU_KINDS = ("torch.allocated", "torch.reserved", "gpu.used")

_ADVICE = {
    "torch.allocated": "tensors that live on from step to step: lists of losses, outputs or "
                       "features (keep .item() or .detach().cpu() of them), hooks, caches",
    "torch.reserved": "the allocator's pools grow while what is in use may not: compare "
                      "torch.allocated; batches of ever new shapes do this",
    "torch.pinned": "pinned host buffers that are kept: batches held after their step",
    "gpu.used": "compare torch.allocated: if that is level, the memory is not torch's own "
                "(another library, new CUDA contexts, allocator pools)",
    "host.shmem": "shared memory: batches of DataLoader workers that are kept, files in /dev/shm",
    "fds": "files, sockets or shared tensors that are opened in the loop and not closed",
    "threads": "threads or pools that are started in the loop and not ended",
}

_HOST = ("lists, dicts and caches that grow in the loop; tensors kept with their graph "
         "(`total += loss` does it: use loss.item())")


def _is_kept_scalar(verdict):
    """One or two of the smallest blocks a step, to one part in a hundred."""
    blocks = (verdict.rate or 0) / TORCH_BLOCK_BYTES
    return round(blocks) in (1, 2) and abs(blocks - round(blocks)) <= 0.01 * blocks


def advice(verdict):
    """None: the kind says nothing, a counter of the program's own for one."""
    kind = verdict.kind or ""
    if kind == "torch.allocated" and _is_kept_scalar(verdict):
        return ("one small tensor a step is kept, the size of a loss: where losses are collected, "
                "collect loss.item()")
    if kind.startswith("host.") and kind not in _ADVICE:
        return _HOST
    return _ADVICE.get(kind)
