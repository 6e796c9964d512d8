from .optimizer import Optimizer


class SGD(Optimizer):
    def step(self):
        return "made"
