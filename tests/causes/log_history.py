# What a trainer logs, with the loss as a tensor in it.
# verdict: leak
# holder: state.log_history
# cause: retained-loss
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class State:
    def __init__(self):
        self.log_history = []
class Trainer:
    def __init__(self, model):
        self.model, self.state = model, State()
        self.optimizer = torch.optim.Adam(model.parameters())
    def training_step(self, batch):
        loss = self.model(batch).pow(2).mean()
        self.optimizer.zero_grad(); loss.backward(); self.optimizer.step()
        return loss
    def train(self):
        for i in range(1, a.steps + 1):
            loss = self.training_step(torch.randn(32, 64))
            self.state.log_history.append({"step": i, "loss": loss.item() if a.fix else loss})  # here
            time.sleep(0.001); print("step", i, flush=True)
Trainer(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))).train()
