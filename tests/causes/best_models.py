# Copies of the weights, as many as there were evaluations.
# verdict: leak
# holder: Checkpointer.best
# cause: staged-checkpoints or tensor-clones
import argparse, copy, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Checkpointer:
    best = {}
    def save(self, net, step):
        if a.fix:
            self.best.clear()
        self.best[step] = copy.deepcopy(net.state_dict())  # here
net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
opt = torch.optim.SGD(net.parameters(), lr=0.01); checkpointer = Checkpointer()
for i in range(1, a.steps + 1):
    loss = net(torch.randn(32, 256)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 4 == 0:
        checkpointer.save(net, i)
    time.sleep(0.001); print("step", i, flush=True)
