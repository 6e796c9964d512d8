#!/usr/bin/env python3
"""tests/probe/tensors.py LIBRARY [SEED]: the facts that the probe reads from tensors, against
what torch itself says; on the GPU too if there is one. Run it with an interpreter that has torch.
The last line has the number of tensors compared, and the time that reading them took.
"""

import ctypes
import gc
import os
import random
import sys
import types
import warnings

LIBRARY = None
STAGES = []


def stage(f):
    STAGES.append(f)
    return f


class Facts(ctypes.Structure):
    _fields_ = [("impl", ctypes.c_void_p), ("storage", ctypes.c_void_p),
                ("data", ctypes.c_void_p),
                ("storage_bytes", ctypes.c_size_t), ("view_bytes", ctypes.c_size_t),
                ("device_type", ctypes.c_int), ("device_index", ctypes.c_int),
                ("dtype", ctypes.c_char_p), ("dims", ctypes.c_int), ("shape", ctypes.c_int64 * 8),
                ("requires_grad", ctypes.c_bool), ("node", ctypes.c_void_p),
                ("grad", ctypes.c_void_p), ("is_parameter", ctypes.c_bool)]


class Age(ctypes.Structure):
    _fields_ = [("oldest", ctypes.c_uint64), ("newest", ctypes.c_uint64)]


def load(path):
    library = ctypes.PyDLL(path)
    library.facts_learn.restype = ctypes.c_char_p
    library.facts_learn.argtypes = [ctypes.POINTER(ctypes.c_double)]
    library.facts_time.restype = ctypes.c_double
    library.facts_time.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
    library.tensors_is.restype = library.tensors_read.restype = ctypes.c_bool
    library.tensors_is.argtypes = [ctypes.c_void_p]
    library.tensors_read.argtypes = [ctypes.c_void_p, ctypes.POINTER(Facts)]
    library.tensors_device_name.restype = ctypes.c_char_p
    library.tensors_device_name.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char * 24]
    library.tensors_graph.restype = ctypes.c_size_t
    library.tensors_graph.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Age)]
    return library


def learn():
    """(reason of a failure or None; nanoseconds)"""
    ns = ctypes.c_double()
    why = LIBRARY.facts_learn(ctypes.byref(ns))
    return why.decode() if why else None, ns.value


def read(tensor):
    facts = Facts()
    assert LIBRARY.tensors_read(id(tensor), ctypes.byref(facts)), "not read: " + repr(tensor)
    return facts


def device_name(facts):
    buf = (ctypes.c_char * 24)()
    return LIBRARY.tensors_device_name(facts.device_type, facts.device_index, buf).decode()


def reads():
    """How many tensors were compared."""
    return check.count


# ---- what torch says ----


def storage_of(t):
    return t.untyped_storage() if hasattr(t, "untyped_storage") else t._storage()


def same(what, read, true, t):
    assert read == true, "%s: %r is read, %r is true of %s %s" % (
        what, read, true, t.dtype, type(t).__name__)


def check_kind(t, f, shape, dtype, device):
    same("impl", f.impl, t._cdata, t)
    same("dims", f.dims, len(shape), t)
    same("shape", list(f.shape)[:f.dims], shape[:8], t)
    same("dtype", f.dtype.decode(), dtype[len("torch."):], t)
    same("device", device_name(f), device, t)


def check_gradients(t, f, requires_grad, is_leaf, grad):
    same("requires_grad", f.requires_grad, requires_grad, t)
    same("node", f.node is not None, not is_leaf, t)
    same("grad", f.grad, grad, t)


def check(t):
    """All facts of a strided tensor."""
    import torch
    f = read(t)
    with torch._C.DisableTorchFunction():
        check_kind(t, f, list(t.shape), str(t.dtype), str(t.device))
        storage = storage_of(t)
        held = storage.data_ptr() != 0 and t.device.type != "meta"
        same("storage", f.storage, storage._cdata if held else None, t)
        same("bytes", f.storage_bytes, storage.nbytes() if held else 0, t)
        shown = min(t.numel() * t.element_size(), f.storage_bytes)
        same("shown", f.view_bytes, shown, t)
        grad = t.grad if t.is_leaf else None
        check_gradients(t, f, t.requires_grad, t.grad_fn is None,
                        None if grad is None else grad._cdata)
        same("parameter", f.is_parameter, isinstance(t, torch.nn.Parameter), t)
    check.count += 1
    return f


check.count = 0


def graph(node):
    """The number of nodes, counted in Python."""
    met, todo = {node}, [node]
    while todo:
        for following, _ in todo.pop().next_functions:
            if following is not None and following not in met:
                met.add(following)
                todo.append(following)
    return len(met)


def check_graph(t, most=1 << 40):
    """Returns the age of the graph."""
    age = Age()
    nodes = LIBRARY.tensors_graph(read(t).node, most, ctypes.byref(age))
    same("nodes", nodes, min(graph(t.grad_fn), most), t)
    return age


# ---- tensors ----


def all_dtypes():
    import torch
    return sorted({v for v in vars(torch).values() if type(v) is torch.dtype}, key=str)


def plain_dtypes():
    return [d for d in all_dtypes() if not any(w in str(d) for w in ("q", "bits", "x2", "x4"))]


def devices():
    import torch
    return ["cpu", "meta"] + ["cuda:%d" % i for i in range(torch.cuda.device_count())]


def random_shape(draw):
    dims = draw.randrange(10)
    most = (0, 60, 20, 9, 6, 5, 4, 3, 3, 2)[dims]
    return [draw.randint(0 if draw.random() < .05 else 1, most) for _ in range(dims)]


def random_view(draw, t):
    """Another view of the same storage, of the kinds that every dtype supports."""
    how = draw.randrange(7)
    if how == 0 and t.dim():
        return t.transpose(0, -1)
    if how == 1 and t.dim() and t.shape[0] > 1:
        return t[1:]
    if how == 2 and t.dim() and t.shape[-1] > 2:
        return t[..., ::2]
    if how == 3:
        return t.unsqueeze(0).expand(draw.randint(1, 5), *t.shape)
    if how == 4 and t.dim() and t.shape[0]:
        return t[draw.randrange(t.shape[0])]
    if how == 5:
        return t.detach()
    return t


def random_tensor(draw):
    import torch
    t = torch.empty(random_shape(draw), dtype=draw.choice(plain_dtypes()),
                    device=draw.choice(devices()))
    if t.dtype.is_floating_point or t.dtype.is_complex:
        t.requires_grad_(draw.random() < .5)
    for _ in range(draw.randrange(3)):
        t = random_view(draw, t)
    if t.is_leaf and t.requires_grad and draw.random() < .5:
        t.grad = t.detach()
    if t.is_floating_point() and draw.random() < .2:
        t = torch.nn.Parameter(t.detach(), requires_grad=draw.random() < .8)
    return t


@stage
def random_ones(draw):
    kept = []
    for i in range(4000):
        t = random_tensor(draw)
        check(t)
        if draw.random() < .3:
            kept.append(t)
    for t in kept:
        check(t)


@stage
def every_dtype(draw):
    """Dtypes that cannot be made on the CPU have nothing to read."""
    import torch
    made = 0
    for dtype in all_dtypes():
        try:
            t = torch.empty((3, 4), dtype=dtype)
        except (RuntimeError, NotImplementedError):
            continue
        check_kind(t, read(t), [3, 4], str(dtype), "cpu")
        made += 1
    assert made > 15, made


@stage
def computed_ones(draw):
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    total = torch.zeros(())
    for i in range(50):
        loss = model(torch.randn(4, 7)).square().mean()
        total = total + loss
        check(loss)
        check(total)
        check_graph(loss)
        check_graph(total)
        for p in model.parameters():
            assert check(p).is_parameter
        loss.backward(retain_graph=True)
        check_graph(total)
        for p in model.parameters():
            assert check(p).grad
    check_graph(total, 7)
    check_graph(total, 1)
    check_graph(total, 0)


@stage
def graphs_have_an_age(draw):
    """A new graph is younger than all before it; one that is carried stays as old."""
    import torch
    model = torch.nn.LSTM(7, 5)
    total = torch.zeros(())
    first, newest = None, 0
    for i in range(30):
        out, state = model(torch.randn(2 + i, 1, 7))
        total = total + out.square().mean()
        new, carried = check_graph(out), check_graph(total)
        first = first or carried.oldest
        assert newest < new.oldest <= new.newest, (newest, new.oldest, new.newest)
        assert carried.oldest == first > 0 and carried.newest > new.newest, (carried.oldest, first)
        newest = carried.newest


@stage
def long_graphs(draw):
    import torch
    total = torch.zeros((), requires_grad=True)
    for i in range(5000):
        total = total + 1
    check_graph(total)
    check_graph(total, 1024)
    check_graph(total, 1025)
    wide = torch.cat([(total + i).reshape(1) for i in range(3000)])
    check_graph(wide)
    check_graph(torch.ones(1, requires_grad=True) * 2)
    assert LIBRARY.tensors_graph(None, 5, ctypes.byref(Age())) == 0

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    own = Own.apply(total)
    check(own)
    check_graph(own.sin())


@stage
def ones_whose_storage_changes(draw):
    import torch
    t = torch.empty(1000)
    t.resize_(2000)
    check(t)
    storage_of(t).resize_(0)
    f = read(t)
    assert (f.storage, f.storage_bytes, f.view_bytes) == (None, 0, 0)
    storage_of(t).resize_(8000)
    check(t)
    base = torch.zeros(100, 100)
    f = check(base[3])
    assert (f.storage_bytes, f.view_bytes) == (40000, 400)
    a, b = torch.zeros(5), torch.zeros(7)
    a.data = b
    check(a)
    a.set_(storage_of(b), 1, (2, 2), (2, 1))
    check(a)
    check(torch.zeros(6).share_memory_())
    check(torch.frombuffer(bytearray(80), dtype=torch.float32, offset=8))


@stage
def subclasses(draw):
    """No code of theirs runs."""
    import torch

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("asked for " + str(func))

        def __getattribute__(self, name):
            raise AssertionError("asked for " + name)

        __eq__ = __hash__ = __len__ = __bool__ = __iter__ = None

    class Louder(torch.nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("asked for " + str(func))
    plain = torch.empty(3, 5)
    loud = torch.Tensor._make_subclass(Loud, plain)
    f, g = read(loud), read(plain)
    assert (f.storage, f.storage_bytes, list(f.shape)) == (g.storage, 60, list(g.shape))
    assert not f.is_parameter and not f.requires_grad
    f = read(torch.Tensor._make_subclass(Louder, torch.empty(2, 3), True))
    assert f.is_parameter and f.requires_grad and list(f.shape)[:2] == [2, 3]


@stage
def sparse_and_quantized(draw):
    import torch
    sparse = torch.eye(6).to_sparse()
    f = read(sparse)
    assert f.storage is None and list(f.shape)[:f.dims] == [6, 6] and f.dtype == b"float32"
    f = read(torch.eye(6).to_sparse_csr())
    assert f.storage is None and f.storage_bytes == 0
    quantized = torch.quantize_per_tensor(torch.ones(8, 3), .1, 0, torch.qint8)
    f = read(quantized)
    assert (f.dtype, f.storage_bytes, f.view_bytes) == (b"qint8", 24, 24)
    if torch.backends.mkldnn.is_available():
        assert read(torch.ones(3).to_mkldnn()).storage is None
    nested = torch.nested.nested_tensor if hasattr(torch, "nested") else torch.nested_tensor
    read(nested([torch.ones(2), torch.ones(3)]))
    lazy = torch.nn.LazyLinear(4)
    assert read(lazy.weight).is_parameter


@stage
def wrappers(draw):
    """Tensors that stand for others hold no memory themselves."""
    import torch
    wrapper = type("Wrapper", (torch.Tensor,), {"__torch_dispatch__": classmethod(lambda *a: 1 / 0)})
    t = torch.Tensor._make_wrapper_subclass(wrapper, (300, 4), dtype=torch.float32)
    f = read(t)
    assert (f.storage, f.storage_bytes, f.view_bytes) == (None, 0, 0), f.storage_bytes
    assert list(f.shape)[:f.dims] == [300, 4]
    try:
        from torch._subclasses.fake_tensor import FakeTensorMode
    except ImportError:
        return
    with FakeTensorMode():
        f = read(torch.empty(50, 60))
        assert (f.storage, f.dims) == (None, 2)
    seen = []
    if hasattr(torch, "vmap"):
        torch.vmap(lambda x: seen.append(read(x)) or x * 2)(torch.ones(4, 5))
        torch.func.grad(lambda x: seen.append(read(x)) or x.sum())(torch.ones(4))
        assert len(seen) == 2


def held():
    """Numbers that a forgotten reference would change. Memory blocks are no such number: CPython's
    attribute cache keeps some of the names that C asks for."""
    import torch
    shared = [torch, torch._C, torch._C._VariableFunctions, torch.Tensor, torch.nn.Parameter,
              torch.device, *all_dtypes()]
    gc.collect()
    return (*map(sys.getrefcount, shared), len(gc.get_objects()), len(os.listdir("/proc/self/fd")))


@stage
def learning_leaves_nothing_behind(draw):
    layout, final = ctypes.create_string_buffer(1 << 16), ctypes.c_bool()
    LIBRARY.tensor_layout_learn.restype = ctypes.c_char_p
    held()
    before = held()
    for _ in range(20):
        why = LIBRARY.tensor_layout_learn(layout, ctypes.byref(final))
        assert why is None, why
    after = held()
    assert max(abs(a - b) for a, b in zip(before, after)) < 10, (before, after)


@stage
def in_a_forked_child(draw):
    """The learned layout goes with it."""
    import torch
    t = torch.ones(3, 4, requires_grad=True) * 2
    child = os.fork()
    if child == 0:
        code = 1
        try:
            check_graph(t)
            code = 0 if check(t).storage_bytes == 48 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@stage
def what_is_no_tensor(draw):
    import torch
    others = [None, 3, "text", [], {}, torch, torch.Tensor, torch.nn.Parameter, torch.float32,
              torch.device("cpu"), torch.Size([3]), storage_of(torch.ones(3)), type, object(),
              types.SimpleNamespace(), torch.nn.Linear(2, 2),
              (torch.ones(2, requires_grad=True) * 2).grad_fn]
    facts = Facts()
    for o in others:
        assert not LIBRARY.tensors_is(id(o)), o
        assert not LIBRARY.tensors_read(id(o), ctypes.byref(facts)), o
    for t in (torch.ones(2), torch.nn.Parameter(torch.ones(2))):
        assert LIBRARY.tensors_is(id(t))


@stage
def on_the_gpu(draw):
    import torch
    if not torch.cuda.is_available():
        return
    for i in range(torch.cuda.device_count()):
        t = check(torch.empty(1000, 3, device="cuda:%d" % i))
        assert (t.device_type, t.device_index, t.storage_bytes) == (1, i, 12000)
    check(torch.empty(500, pin_memory=True))
    check(torch.randn(20, 30, device="cuda", requires_grad=True).half())
    model = torch.nn.Linear(8, 8).cuda()
    loss = model(torch.randn(4, 8, device="cuda")).sum()
    loss.backward()
    check_graph(loss)
    for p in model.parameters():
        assert check(p).grad


# ---- learning ----


def refuses(why):
    said, _ = learn()
    assert said == why, said


def refusals_without_torch():
    """No torch, another module of that name, and an unfinished import."""
    refuses("torch is not imported")
    modules = {"torch": types.ModuleType("torch"), "torch._C": types.ModuleType("torch._C")}
    sys.modules.update(modules)
    refuses("torch has other names for its types")
    modules["torch"].__spec__ = types.SimpleNamespace(_initializing=True)
    refuses("torch is being imported")
    sys.modules["torch"] = 5
    refuses("torch has other names for its types")
    for name in modules:
        del sys.modules[name]


def refusals():
    """Every mode in which new tensors would not be plain ones."""
    import torch
    with torch.inference_mode():
        refuses("inference mode is active")
    from torch.utils._python_dispatch import TorchDispatchMode

    class Loud(TorchDispatchMode):
        def __torch_dispatch__(self, *args, **kwargs):
            raise AssertionError("seen by a dispatch mode")
    with Loud():
        refuses("a dispatch mode is active")
    torch.jit.trace(lambda x: (refuses("a trace is being made"), x + 1)[1],
                    torch.ones(2), check_trace=False)
    if hasattr(torch, "vmap"):
        torch.vmap(lambda x: (refuses("a transformation of functions is active"), x)[1])(
            torch.ones(3))


def learn_amid_trouble():
    """Modes, hooks and settings of a program that must not notice the learning."""
    import torch
    seen = []
    from torch.overrides import TorchFunctionMode

    class Loud(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))
    torch.set_default_dtype(torch.float64)
    if hasattr(torch, "set_default_device"):
        torch.set_default_device("meta")
    loud = Loud()
    if not hasattr(torch._C, "DisableTorchFunctionSubclass"):
        with loud:
            refuses("a mode for torch's functions is active")
        loud = warnings.catch_warnings()
    with loud, torch.no_grad(), torch.autocast("cpu", torch.bfloat16), \
            torch.autograd.graph.saved_tensors_hooks(seen.append, seen.append), \
            warnings.catch_warnings():
        warnings.simplefilter("error")
        del seen[:]
        sys.settrace(lambda *args: seen.append(args))
        answer = learn()
        sys.settrace(None)
        calls = [s for s in seen if not (isinstance(s, tuple) and s[0].f_globals is globals())]
        assert not calls, calls[:5]
        assert not torch.is_grad_enabled()
    torch.set_default_dtype(torch.float32)
    if hasattr(torch, "set_default_device"):
        torch.set_default_device(None)
    return answer


def classes_are_asked_again():
    import torch

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 7
    assert type(torch.add(torch.Tensor._make_subclass(Own, torch.ones(2)), 1)) is int


def tensors_alive():
    import torch
    gc.collect()
    return sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects())


def timing():
    import torch
    many = [torch.empty(4, 4, requires_grad=i % 2 == 0) for i in range(2000)]
    others = [[] for _ in many]
    times = []
    for objects in (many, others):
        addresses = (ctypes.c_void_p * len(objects))(*map(id, objects))
        times.append(LIBRARY.facts_time(addresses, len(objects)))
    return times


def main():
    global LIBRARY
    LIBRARY = load(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    refusals_without_torch()
    import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusals()
    before = tensors_alive()
    why, ns = learn_amid_trouble()
    assert why is None, why
    assert tensors_alive() == before, "tensors were kept"
    classes_are_asked_again()
    warnings.simplefilter("ignore")
    for f in STAGES:
        f(random.Random(seed))
    each, other = timing()
    print("torch %s: %d tensors; learnt in %.2f ms, read in %.1f ns each, another object %.1f ns" %
          (torch.__version__, reads(), ns / 1e6, each, other))


if __name__ == "__main__":
    main()
