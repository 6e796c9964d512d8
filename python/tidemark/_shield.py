"""What keeps a training loop alive whatever happens in tidemark: failures are told, once each."""

import functools
import sys
import warnings

from tidemark._cleanup import came_by_signal


def level_of_caller():
    """The stacklevel, for who calls us, of the first line that is not this package's."""
    level, frame = 1, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "tidemark":
        level, frame = level + 1, frame.f_back
    return level


def warn(text):
    """By the program's own line; on standard error where warnings are made errors."""
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
        """A method that is not to raise has: each kind of failure is said once.

        Called where the exception is handled. What a signal handler of the program raises happens
        to come while we are at work: it goes on to the program.
        """
        if came_by_signal(error):
            raise error
        self._warn_once((name, type(error)), f"tidemark: {name}: {type(error).__name__}: "
                        f"{error}; training goes on")


def shielded(method):
    """The training loop never dies of its watcher.

    What is called at every step does the same without a function around it, which costs as much as
    the method.
    """

    @functools.wraps(method)
    def call(self, *args, **options):
        try:
            return method(self, *args, **options)
        except Exception as error:
            self._failed(method.__name__.strip("_"), error)

    return call
