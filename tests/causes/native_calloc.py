# A library in C keeps what it was given.
# verdict: leak
# cause: native
import argparse, ctypes, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
libc = ctypes.CDLL(None)
libc.calloc.restype = ctypes.c_void_p; libc.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
def decode(n):
    block = libc.calloc(1, 50000)
    ctypes.memset(block, n % 255 + 1, 50000)
    if a.fix:
        libc.free(block)
net = torch.nn.Linear(64, 8); opt = torch.optim.Adam(net.parameters())
for i in range(1, a.steps + 1):
    decode(i)
    opt.zero_grad(); net(torch.randn(16, 64)).mean().backward(); opt.step()
    time.sleep(0.001); print("step", i, flush=True)
