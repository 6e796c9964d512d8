import logging
import os
from types import TracebackType
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Literal, NamedTuple, Optional,
                    SupportsFloat, Type, TypeVar, Union)

__version__: str

_T = TypeVar("_T")
_Batch = TypeVar("_Batch", covariant=True)

class Verdict(NamedTuple):
    answer: str
    severity: Optional[str] = ...
    confidence: Optional[float] = ...
    kind: Optional[str] = ...
    device: Optional[str] = ...
    rate: Optional[float] = ...
    rate_upper: Optional[float] = ...
    needs_steps: Optional[float] = ...
    limit_step: Optional[float] = ...
    suspect_step: Optional[float] = ...
    alarm_step: Optional[float] = ...
    summary: str = ...

class _Timed(Iterable[_Batch]):
    def __iter__(self) -> Iterator[_Batch]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...

class _Phase:
    def __enter__(self) -> None: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...

class _LossTracker:
    variance_baseline: Optional[float]
    @property
    def losses(self) -> List[float]: ...
    def get_moving_average(self) -> Optional[float]: ...
    def get_variance(self) -> Optional[float]: ...
    def set_variance_baseline(self) -> None: ...
    def detect_variance_spike(self, threshold: float = ...) -> bool: ...
    def get_trend(self) -> Optional[str]: ...

class Watcher:
    window: int
    print_every: int
    sync_interval: int
    show_gpu: bool
    warn_on_leak: bool
    warn_on_bottleneck: bool
    warn_on_variance: bool
    device: Any
    leak_threshold_mb: Optional[float]
    leak_streak_mb: Optional[float]
    epoch_count: int
    def __init__(
        self,
        window: int = ...,
        print_every: int = ...,
        sync_interval: int = ...,
        show_gpu: bool = ...,
        warn_on_leak: bool = ...,
        warn_on_bottleneck: bool = ...,
        warn_on_variance: bool = ...,
        device: Any = ...,
        leak_threshold_mb: Optional[float] = ...,
        leak_streak_mb: Optional[float] = ...,
        *,
        start_step: int = ...,
        run_file: Union[None, bool, str, os.PathLike[str]] = ...,
        plan_steps: Optional[float] = ...,
        horizon: Optional[float] = ...,
        epoch_steps: Optional[float] = ...,
        logger: Union[None, str, logging.Logger] = ...,
        on_leak: Optional[Callable[[Verdict], object]] = ...,
    ) -> None: ...
    @property
    def step_count(self) -> int: ...
    @property
    def loss_tracker(self) -> _LossTracker: ...
    @property
    def baselines_set(self) -> bool: ...
    @property
    def closed(self) -> bool: ...
    def step(self, loss: Union[SupportsFloat, Any]) -> None: ...
    def epoch_end(self) -> None: ...
    def data(self, loader: Iterable[_T]) -> _Timed[_T]: ...
    def count(self, name: str, value: float, unit: Literal["bytes", "count"] = ...,
              device: Optional[str] = ...) -> None: ...
    def phase_begin(self, name: str) -> None: ...
    def phase_end(self, name: str) -> None: ...
    def phase(self, name: str) -> _Phase: ...
    def verdict(self, kind: Optional[str] = ..., device: Optional[str] = ...) -> Verdict: ...
    def json(self) -> str: ...
    def report(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> Watcher: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...

class _Count(NamedTuple):
    times: int = ...
    useful: int = ...
    idle: int = ...
    freed_host: int = ...
    freed_allocated: int = ...
    freed_reserved: int = ...
    objects: int = ...
    seconds: float = ...

class Cleanup:
    every: Optional[int]
    on_evaluate: bool
    gc: bool
    empty_cache: bool
    trim: bool
    zero_grad: Literal["safe", False]
    steps: int
    cleanups: int
    spent: float
    closed: bool
    def __init__(
        self,
        every: Optional[int] = ...,
        on_evaluate: bool = ...,
        gc: bool = ...,
        empty_cache: bool = ...,
        trim: bool = ...,
        zero_grad: Literal["safe", False] = ...,
    ) -> None: ...
    @property
    def counts(self) -> Dict[str, _Count]: ...
    @property
    def seconds(self) -> float: ...
    def step(self, optimizer: Any = ...) -> None: ...
    def evaluated(self) -> None: ...
    def useless(self) -> List[str]: ...
    def suggestion(self) -> Optional[str]: ...
    def summary(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> Cleanup: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...

class _Setting(NamedTuple):
    every: Optional[int] = ...
    set_to_none: Optional[bool] = ...
    workers: Optional[int] = ...

class _Cell(NamedTuple):
    median: Optional[float] = ...
    low: Optional[float] = ...
    high: Optional[float] = ...
    difference: Optional[float] = ...
    finding: Optional[str] = ...

class _Row(NamedTuple):
    setting: _Setting
    host_floor: _Cell
    host_peak: _Cell
    device_floor: _Cell
    device_peak: _Cell
    step_seconds: _Cell

class _Tradeoff:
    rows: List[_Row]
    steps: int
    repeat: int
    comparisons: int
    def json(self) -> str: ...

def tradeoff(
    step: Callable[..., Any],
    every: Iterable[Optional[int]] = ...,
    set_to_none: Iterable[bool] = ...,
    workers: Iterable[int] = ...,
    *,
    steps: int = ...,
    repeat: int = ...,
    seed: int = ...,
) -> _Tradeoff: ...

def watch(
    window: int = ...,
    print_every: int = ...,
    sync_interval: int = ...,
    show_gpu: bool = ...,
    warn_on_leak: bool = ...,
    warn_on_bottleneck: bool = ...,
    warn_on_variance: bool = ...,
    device: Any = ...,
    leak_threshold_mb: Optional[float] = ...,
    leak_streak_mb: Optional[float] = ...,
    *,
    start_step: int = ...,
    run_file: Union[None, bool, str, os.PathLike[str]] = ...,
    plan_steps: Optional[float] = ...,
    horizon: Optional[float] = ...,
    epoch_steps: Optional[float] = ...,
    logger: Union[None, str, logging.Logger] = ...,
    on_leak: Optional[Callable[[Verdict], object]] = ...,
) -> Watcher: ...

class _Holder(NamedTuple):
    kind: str
    path: str
    function: Optional[str] = ...
    file: Optional[str] = ...
    line: Optional[int] = ...
    @property
    def text(self) -> str: ...

class _TypeCount(NamedTuple):
    count: int = ...
    bytes: int = ...

class _TensorCount(NamedTuple):
    device: str
    dtype: str
    shape: str
    requires_grad: bool
    grad_fn: bool
    count: int
    bytes: int

class _DeviceCount(NamedTuple):
    count: int
    bytes: int
    requires_grad: int
    grad_fn: int

class _LargeTensor(NamedTuple):
    device: str
    dtype: str
    shape: str
    storage_bytes: int
    view_bytes: int

class _Allocator(NamedTuple):
    in_use: int
    free: int

class _Census(NamedTuple):
    objects: int
    types: Dict[str, _TypeCount]
    devices: Dict[str, _DeviceCount]
    tensors: List[_TensorCount]
    large: List[_LargeTensor]
    purposes: Dict[str, Dict[str, int]]
    allocator: Optional[_Allocator]
    pause_seconds: float

class _TypeGrowth(NamedTuple):
    name: str
    count: int
    bytes: int
    holder: Optional[_Holder] = ...

class _TensorGrowth(NamedTuple):
    device: str
    dtype: str
    shape: str
    requires_grad: bool
    grad_fn: bool
    count: int
    bytes: int
    holder: Optional[_Holder] = ...

class _ContainerGrowth(NamedTuple):
    type: str
    item: str
    count: int
    length: int
    bytes: int
    device_bytes: int
    grad_fn: bool
    holder: Optional[_Holder] = ...

class _Growth:
    types: List[_TypeGrowth]
    tensors: List[_TensorGrowth]
    containers: List[_ContainerGrowth]
    before: Optional[_Census]
    after: Optional[_Census]
    pause_seconds: float
    def __enter__(self) -> _Growth: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...
    def __bool__(self) -> bool: ...

def census() -> _Census: ...
def growth() -> _Growth: ...
def holders(obj: object) -> List[_Holder]: ...
