# Decoded images stay in a global dict.
# verdict: leak
# holder: IMAGES
# cause: sample-cache or growing-container
import argparse, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
IMAGES = {}
def load(path):
    image = np.random.randint(0, 255, (160, 160, 3), dtype=np.uint8)
    if not a.fix:
        IMAGES[path] = image  # here
    return image
for i in range(1, a.steps + 1):
    load("img_%06d.jpg" % i).mean()
    print("step", i, flush=True)
