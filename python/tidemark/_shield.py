"""Keeps failures of tidemark out of the training loop: each kind becomes one warning."""

import functools
import sys
import warnings

from tidemark._cleanup import came_by_signal


def level_of_caller():
    """The stacklevel, seen from our caller, of the first line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "tidemark":
        level, frame = level + 1, frame.f_back
    return level


def warn(text):
    """Warns at the program's own line; prints to standard error if warnings are errors."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=level_of_caller())
    except RuntimeWarning:
        print(text, file=sys.stderr)


class WarnsOnce:
    """For a class with shielded methods."""

    def _warn_once(self, about, text):
        warned = self.__dict__.setdefault("_warned", set())
        if about not in warned:
            warned.add(about)
            warn(text)

    def _failed(self, name, error):
        """Warns once about each kind of failure in a method that must not raise.

        Call it while the exception is being handled. An exception from the program's own signal
        handler that happens to arrive during our work goes on to the program.
        """
        if came_by_signal(error):
            raise error
        self._warn_once((name, type(error)), f"tidemark: {name}: {type(error).__name__}: "
                        f"{error}; training goes on")


def shielded(method):
    """Keeps a method's exceptions out of the training loop.

    Methods called at every step do the same without this wrapper, which costs as much as they do.
    """

    @functools.wraps(method)
    def call(self, *args, **options):
        try:
            return method(self, *args, **options)
        except Exception as error:
            self._failed(method.__name__.strip("_"), error)

    return call
