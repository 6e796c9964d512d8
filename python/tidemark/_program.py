"""The program `tidemark`, which is installed inside the package, and the ways to start it."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tidemark")


def _become(arguments):
    """Replaces this process by the program; the status with which to exit where that fails."""
    sys.stdout.flush()
    try:
        os.execv(PROGRAM, ["tidemark", *arguments])
    except OSError as error:
        print(f"tidemark: {PROGRAM}: {error.strerror}; is the package installed as a whole?",
              file=sys.stderr)
        return 1


def _is_python_program(word):
    return word in ("-m", "-c") or word.endswith((".py", ".pyc")) or (
        os.sep in word and os.path.exists(word))


def command():
    """The console script `tidemark`."""
    return _become(sys.argv[1:])


def run_python_or_command(arguments):
    """`python -m tidemark ARGUMENTS`: see tidemark.__main__."""
    if not arguments:
        return _become(["--help"])
    if not _is_python_program(arguments[0]):
        return _become(arguments)
    import subprocess  # brings threads along, which a Watcher does not need
    # The options this interpreter was started with (-u, -X dev, -W error) are the program's too.
    options = subprocess._args_from_interpreter_flags()
    return _become(["run", "--", sys.executable, *options, *arguments])
