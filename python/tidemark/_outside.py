"""Whether `tidemark run` started this program and watches it from outside."""

import os

DIRECTORY_VARIABLE = "TIDEMARK_RUN"
VOICE = "voice"  # a fifo in that directory, read while `tidemark run` announces leaks


def tells_leaks():
    """Whether `tidemark run` announces leaks in this program's output: once is enough."""
    directory = os.environ.get(DIRECTORY_VARIABLE)
    if not directory:
        return False
    try:
        os.close(os.open(os.path.join(directory, VOICE), os.O_WRONLY | os.O_NONBLOCK))
    except OSError:  # nobody announces, or no longer
        return False
    return True
