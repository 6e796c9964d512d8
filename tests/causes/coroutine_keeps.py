# A coroutine keeps the answers of others.
# verdict: leak
# holder: pages
# cause: growing-container
import argparse, asyncio, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
async def fetch(n):
    await asyncio.sleep(0)
    return bytearray(32768)
async def crawl():
    pages = []
    for i in range(1, a.steps + 1):
        page = await fetch(i)
        if not a.fix:
            pages.append(page)  # here
        time.sleep(0.001); print("step", i, flush=True)
asyncio.run(crawl())
