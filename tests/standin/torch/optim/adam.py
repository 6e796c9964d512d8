from .optimizer import Optimizer


class Adam(Optimizer):
    def step(self):
        state = self.state.setdefault("weight", {"step": 0})
        state["step"] += 1
