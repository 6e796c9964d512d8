import logging
import os
from typing import Any, Callable, Literal, Optional, Union

from tidemark import Cleanup, Verdict, Watcher

# Of lightning.pytorch or pytorch_lightning, whichever there is.
_Callback = Any

class TidemarkCallback(_Callback):
    def __init__(
        self,
        print_every: int = ...,
        *,
        metrics: bool = ...,
        run_file: Union[None, bool, str, os.PathLike[str]] = ...,
        horizon: Optional[float] = ...,
        warn_on_leak: bool = ...,
        logger: Union[None, str, logging.Logger] = ...,
        on_leak: Optional[Callable[[Verdict], object]] = ...,
    ) -> None: ...
    @property
    def watcher(self) -> Optional[Watcher]: ...

class CleanupCallback(_Callback):
    cleanup: Cleanup
    def __init__(
        self,
        every: Optional[int] = ...,
        on_evaluate: bool = ...,
        gc: bool = ...,
        empty_cache: bool = ...,
        trim: bool = ...,
        zero_grad: Literal["safe", False] = ...,
    ) -> None: ...
