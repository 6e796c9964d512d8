# Sockets are opened and kept.
# verdict: leak
# holder: clients
# cause: files-and-descriptors
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
import socket
class MetricServer:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0)); self.clients = {}
    def push(self, i, value):
        c = socket.create_connection(self.listener.getsockname()); s, addr = self.listener.accept()
        self.clients[addr] = (c, s)  # here
        c.sendall(b"%f" % value); s.recv(64)
        if a.fix: c.close(); s.close(); del self.clients[addr]
server = MetricServer(); net = nn.Linear(64, 8); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    loss = net(torch.randn(8, 64)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    if i % 2 == 0: server.push(i, loss.item())
    time.sleep(0.003); print("step", i, flush=True)
