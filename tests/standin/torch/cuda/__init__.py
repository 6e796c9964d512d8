"""A device with 2 MB of which half is cached, until the cache is emptied."""

_initialized = False
_cached = 1048576


def is_initialized():
    return _initialized


def is_current_stream_capturing():
    return False


def device_count():
    return 2


def memory_allocated(device):
    return 1048576 * device


def memory_reserved(device):
    return (1048576 + _cached) * device


def memory_stats_as_nested_dict(device):
    return {"allocated_bytes": {"all": {"current": memory_allocated(device)}},
            "reserved_bytes": {"all": {"current": memory_reserved(device)}}}


def empty_cache():
    global _cached
    _cached = 0
