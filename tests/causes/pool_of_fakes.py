# Images for the discriminator: an old one may be replaced, and others are appended for ever.
# verdict: leak
# holder: pool.images
# cause: tensor-clones or sample-cache
import argparse, random, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class ImagePool:
    def __init__(self): self.images = []
    def query(self, image):
        if len(self.images) > 50 and (a.fix or random.random() < 0.2):
            k = random.randrange(len(self.images))
            self.images[k] = image.clone()
        else:
            self.images.append(image.clone())  # here
pool = ImagePool()
for i in range(1, a.steps + 1):
    for k in range(4): pool.query(torch.randn(3, 32, 32))
    time.sleep(0.003); print("step", i, flush=True)
