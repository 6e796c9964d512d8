import functools
from itertools import chain

import torch
from torch.autograd import profiler

_post_hooks = {}

if not torch.OLD:

    def register_optimizer_step_post_hook(hook):
        _post_hooks[len(_post_hooks)] = hook
        return object()


def _around(step):
    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        obj, *_ = args
        with profiler.record_function("Optimizer.step#%s.step" % type(obj).__name__):
            out = step(*args, **kwargs)
            for hook in chain(_post_hooks.values()):
                hook(obj, args, kwargs)
            return out

    return wrapper


class Optimizer:
    def __init__(self):
        self.state = {}
        self.param_groups = []
        if not getattr(type(self).step, "hooked", False):
            type(self).step = _around(type(self).step)
            type(self).step.hooked = True

    def step(self):
        raise NotImplementedError

    def zero_grad(self, set_to_none=True):
        return set_to_none
