# A replay buffer without a bound: the next state of a transition is the state of the one after it.
# verdict: leak
# holder: agent.memory
# cause: sample-cache or growing-container
import argparse, time, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Agent:
    def __init__(self): self.memory = []
    def remember(self, state, action, reward, next_state):
        self.memory.append((state, action, reward, next_state))  # here
        if a.fix: del self.memory[:-64]
def play(steps):
    rng, agent = np.random.default_rng(0), Agent()
    state = rng.random((64, 64))
    for i in range(1, steps + 1):
        next_state = rng.random((64, 64))
        agent.remember(state, i % 4, float(i), next_state)
        state = next_state
        time.sleep(0.002); print("step", i, flush=True)
play(a.steps)
