# Connections of an extension: what they take is not seen in Python.
# verdict: leak
# holder: pool.sessions
# cause: growing-container
import argparse, sqlite3, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Session:
    def __init__(self, name):
        self.name, self.db = name, sqlite3.connect(":memory:")
        self.db.execute("create table t (x)")
class Pool:
    def __init__(self): self.sessions = {}
    def session(self, name):
        self.sessions[name] = Session(name)  # here
        return self.sessions[name]
pool = Pool()
for i in range(1, a.steps + 1):
    pool.session("job" if a.fix else "job %d" % i).db.execute("insert into t values (1)")
    time.sleep(0.001); print("step", i, flush=True)
