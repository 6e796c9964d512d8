# The state of a recurrent net is never detached.
# verdict: leak
# holder: state
# cause: retained-graph
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
cell = torch.nn.GRUCell(128, 256)
state = torch.zeros(64, 256)
for i in range(1, a.steps + 1):
    state = cell(torch.randn(64, 128), state)  # here
    if a.fix:
        state = state.detach()
    print("step", i, flush=True)
