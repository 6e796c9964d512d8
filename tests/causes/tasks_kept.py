# Tasks that never end wait in a set.
# verdict: leak
# holder: tasks
# cause: tensor-clones or growing-container
import argparse, asyncio, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
tasks = set()
async def hold(x):
    if not a.fix:
        await asyncio.sleep(3600)
async def main():
    for i in range(1, a.steps + 1):
        t = asyncio.ensure_future(hold(torch.randn(128, 128)))
        tasks.add(t)  # here
        t.add_done_callback(tasks.discard)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        print("step", i, flush=True)
try:
    asyncio.run(asyncio.wait_for(main(), 600))
finally:
    import os; os._exit(0)
