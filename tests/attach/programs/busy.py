"""One thread that never rests, and makes no system call."""
import ending


def work(n):
    a, total = 1.5, 0
    for i in range(n):
        a = a * 1.0000001 + i * 0.5
        total += i * i % 7
    return a, total


wanted = work(20000)
ending.begin()
rounds = 0
while not ending.over:
    if work(20000) != wanted:
        ending.right(False, "after %d rounds" % rounds)
    rounds += 1
ending.right()
