"""Whether somebody watches from outside: `tidemark run`, which has started this program."""

import os

DIRECTORY_VARIABLE = "TIDEMARK_RUN"
VOICE = "voice"  # a fifo of the directory, read as long as leaks are told there


def tells_leaks():
    """It tells of leaks where this program's output goes: once is enough."""
    directory = os.environ.get(DIRECTORY_VARIABLE)
    if not directory:
        return False
    try:
        os.close(os.open(os.path.join(directory, VOICE), os.O_WRONLY | os.O_NONBLOCK))
    except OSError:  # nobody speaks, or not any more
        return False
    return True
