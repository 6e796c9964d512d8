# Helpers that were started with a pipe, and are kept when they have ended.
# verdict: leak
# holder: helpers
# cause: growing-container or processes or files-and-descriptors
import argparse, resource, subprocess, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
helpers = []
for i in range(1, a.steps + 1):
    helper = subprocess.Popen(["/bin/true"], stdout=subprocess.PIPE)
    if a.fix:
        helper.communicate()
    else:
        helper.wait()
        helpers.append(helper)  # here
    time.sleep(0.001); print("step", i, flush=True)
