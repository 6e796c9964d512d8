# A threading.local that gathers activations.
# verdict: leak
# holder: _tls.stash
# cause: tensor-clones
import argparse, threading, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
_tls = threading.local()
def stash(x):
    if not hasattr(_tls, "stash"): _tls.stash = []
    _tls.stash.append(x)  # here
    return x
net = torch.nn.Linear(100, 300)
with torch.no_grad():
    for i in range(1, a.steps + 1):
        stash(net(torch.randn(100, 100)))
        if a.fix: _tls.stash.clear()
        time.sleep(0.001); print("\rstep %d/%d" % (i, a.steps), end="", flush=True)
