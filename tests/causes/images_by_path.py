# Decoded images, by the path they came from.
# verdict: leak
# holder: Folder.loaded
# cause: sample-cache
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
try:
    from PIL import Image
except ImportError:
    raise SystemExit(77)
class Folder:
    loaded = {}
    def __getitem__(self, k):
        path = "img_%06d.png" % (k % 8 if a.fix else k)
        if path not in self.loaded:
            self.loaded[path] = Image.new("RGB", (160, 120), (k % 256, 0, 0))  # here
        return self.loaded[path]
folder = Folder()
for i in range(1, a.steps + 1):
    folder[i].getpixel((0, 0))
    time.sleep(0.001); print("step", i, flush=True)
