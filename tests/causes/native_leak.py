# Memory of a C library.
# verdict: leak
# cause: native
import argparse, ctypes, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
net = torch.nn.Linear(64, 64)
for i in range(1, a.steps + 1):
    net(torch.randn(8, 64)).mean().backward()
    block = libc.malloc(100000)
    ctypes.memset(block, 7, 100000)
    if a.fix:
        libc.free(block)
    time.sleep(0.004)
    print("step", i, flush=True)
