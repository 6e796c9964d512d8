"""A main thread that never lets go of the GIL by itself: at the top, in a function, beside another."""
import sys
import threading

import ending


def spin():
    n = 0
    while not ending.over:
        n += 1
    return n


how = sys.argv[1]
if how == "thread":
    threading.Thread(target=spin, daemon=True).start()
if how == "traced":
    import tracemalloc
    tracemalloc.start()
ending.begin()
rounds = 0
if how == "function":
    rounds = spin()
while not ending.over:
    rounds += 1
ending.right(rounds > 0)
