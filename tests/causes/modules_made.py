# A configuration is loaded as a module of its own at every step, and stays in sys.modules.
# verdict: leak
# holder: sys.modules
# cause: growing-container
import argparse, sys, time, types
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
for i in range(1, a.steps + 1):
    module = types.ModuleType("config_%d" % (0 if a.fix else i))
    module.table = list(range(1000))
    sys.modules[module.__name__] = module
    time.sleep(0.003); print("step", i, flush=True)
