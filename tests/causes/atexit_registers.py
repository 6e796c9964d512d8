# A function is registered for the end of the program at every step, with the weights.
# verdict: leak
# cause: registered-with-native-code
import argparse, atexit, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Linear(128, 128)
def save(state, step): pass
def checkpoint(step):
    state = {k: v.detach().clone() for k, v in net.state_dict().items()}
    if a.fix: atexit.unregister(save)
    atexit.register(save, state, step)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    loss = net(torch.randn(32, 128)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    checkpoint(i); time.sleep(0.002)
    print("step", i, flush=True)
