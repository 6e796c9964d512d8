# Each step wraps the transform of the step before: a chain that begins with a name.
# verdict: leak
# holder: transform.args[0]*
# cause: growing-container or closure or growing-object
import argparse, functools, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def apply(inner, table, x):
    return x if inner is None else inner(x)
transform = None
for i in range(1, a.steps + 1):
    transform = functools.partial(apply, None if a.fix else transform, bytearray(20000))  # here
    time.sleep(0.003); print("step", i, flush=True)
