"""One call into C that takes so many seconds, then Python again."""
import sys
import time

import ending

ending.begin()
begun = time.monotonic()
time.sleep(float(sys.argv[1]))
took = time.monotonic() - begun
while not ending.over:
    time.sleep(0.001)
ending.right(took >= float(sys.argv[1]), "slept %.3f" % took)
