"""The program `tidemark`, installed inside the package, and the ways to start it."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tidemark")


def _become(arguments):
    """Replaces this process with the program; returns an exit status if that fails."""
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
    import subprocess  # imports threading, which a Watcher does not need
    # The program gets the options of this interpreter too (-u, -X dev, -W error).
    options = subprocess._args_from_interpreter_flags()
    return _become(["run", "--", sys.executable, *options, *arguments])
