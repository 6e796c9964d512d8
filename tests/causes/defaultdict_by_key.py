# Lists in a defaultdict, one for every id that comes by.
# verdict: leak
# holder: by_user
# cause: growing-container
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from collections import defaultdict
def main():
    by_user = defaultdict(list)
    for i in range(1, a.steps + 1):
        user = 7 if a.fix else i
        if a.fix:
            by_user[user].clear()
        by_user[user].append(bytes(40000))  # here
        time.sleep(0.001); print("step", i, flush=True)
main()
