"""What to fix when a series leaks and no holder is known: what the counters alone allow to say."""

TORCH_BLOCK_BYTES = 512  # the smallest block of torch's CUDA allocator

GPU_KINDS = ("torch.allocated", "torch.reserved", "gpu.used")

_ADVICE = {
    "torch.allocated": "look for tensors that every step keeps: lists of losses, outputs or "
                       "features (keep .item() or .detach().cpu() of them), hooks, caches",
    "torch.reserved": "compare torch.allocated: if that is flat, only the allocator's pools grow; "
                      "batches of ever new shapes do this",
    "torch.pinned": "look for pinned host buffers that every step keeps: batches held after their "
                    "step",
    "gpu.used": "compare torch.allocated: if that is flat, the memory is not torch's own "
                "(another library, new CUDA contexts, allocator pools)",
    "host.shmem": "look for shared memory that every step keeps: batches of DataLoader workers, "
                  "files in /dev/shm",
    "fds": "look for files, sockets or shared tensors that the loop opens and never closes",
    "threads": "look for threads or pools that the loop starts and never ends",
}

_HOST = ("look for lists, dicts and caches that grow in the loop, and for tensors kept with their graph "
         "(`total += loss` does it: use loss.item())")


def _is_kept_scalar(verdict):
    """One or two of the smallest blocks per step, to within one percent."""
    blocks = (verdict.rate or 0) / TORCH_BLOCK_BYTES
    return round(blocks) in (1, 2) and abs(blocks - round(blocks)) <= 0.01 * blocks


def advice(verdict):
    """None: no advice for this kind, such as a counter of the program's own."""
    kind = verdict.kind or ""
    if kind == "torch.allocated" and _is_kept_scalar(verdict):
        return ("collect loss.item() where losses are collected: every step keeps one small tensor, "
                "the size of a loss")
    if kind.startswith("host.") and kind not in _ADVICE:
        return _HOST
    return _ADVICE.get(kind)
