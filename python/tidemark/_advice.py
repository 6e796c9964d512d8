"""Where to look when a series leaks, as far as the numbers show."""

TORCH_BLOCK_BYTES = 512  # the smallest block of torch's CUDA allocator

GPU_KINDS = ("torch.allocated", "torch.reserved", "gpu.used")

_ADVICE = {
    "torch.allocated": "tensors that survive from step to step: lists of losses, outputs or "
                       "features (keep .item() or .detach().cpu() of them), hooks, caches",
    "torch.reserved": "the allocator's pools grow, perhaps without more memory in use: compare "
                      "torch.allocated; batches of ever new shapes can cause it",
    "torch.pinned": "pinned host buffers, such as batches kept after their step",
    "gpu.used": "compare torch.allocated: if that is flat, the memory is not torch's own "
                "(another library, new CUDA contexts, allocator pools)",
    "host.shmem": "shared memory: kept batches of DataLoader workers, files in /dev/shm",
    "fds": "files, sockets or shared tensors opened in the loop and never closed",
    "threads": "threads or pools started in the loop and never ended",
}

_HOST = ("lists, dicts and caches that grow in the loop; tensors kept with their graph "
         "(as with `total += loss`: use loss.item())")


def _is_kept_scalar(verdict):
    """One or two of the smallest blocks per step, to within one percent."""
    blocks = (verdict.rate or 0) / TORCH_BLOCK_BYTES
    return round(blocks) in (1, 2) and abs(blocks - round(blocks)) <= 0.01 * blocks


def advice(verdict):
    """None: no advice for this kind, such as a counter of the program's own."""
    kind = verdict.kind or ""
    if kind == "torch.allocated" and _is_kept_scalar(verdict):
        return ("every step keeps one small tensor, the size of a loss: where you collect losses, "
                "collect loss.item()")
    if kind.startswith("host.") and kind not in _ADVICE:
        return _HOST
    return _ADVICE.get(kind)
