# Evaluations gather their outputs and let them go.
# verdict: no leak
# pattern: sawtooth or spikes or allocator-retention
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Linear(128, 1000); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    opt.zero_grad(); net(torch.randn(64, 128)).pow(2).mean().backward(); opt.step()
    if i % 100 == 0:
        logits = []
        with torch.no_grad():
            for _ in range(150):
                out = net(torch.randn(64, 128))
                logits.append(out.argmax(1) if a.fix else out)
                time.sleep(0.001)
        torch.cat(logits).float().mean(); logits = out = None
    time.sleep(0.001); print("step", i, flush=True)
