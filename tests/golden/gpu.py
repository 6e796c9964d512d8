"""Takes 2 MB of a device every fourth step, by the counters of the driver's stand-in (tests/standin)."""
import os
import time

MB = 1024 * 1024


def tell(used):
    with open("gpus.new", "w") as file:
        file.write("driver\ndevice uuid=GPU-0 name=NVIDIA_H100 total=80G used=%d\n" % (used + 400 * MB))
        file.write("process pid=%d used=%d type=C\n" % (os.getpid(), used))
    os.rename("gpus.new", os.environ["TIDEMARK_STANDIN"])


for step in range(1, 601):
    tell(1024 * MB + step // 4 * 2 * MB)
    time.sleep(0.01)
    print("step", step, flush=True)
