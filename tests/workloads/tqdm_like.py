#!/usr/bin/env python3
"""tqdm_like.py: a progress bar on standard error, drawn with carriage returns, as tqdm does.

First it says what it sees, a line each on standard output: whether standard input, output and error
are terminals, how large, and TERM. The bar is as wide as the terminal, 80 where there is none:
`train:  37%|###       | 37/100 [00:03<00:05, 9.9it/s]`. There are no `step` lines.

grows:   nothing; --leak keeps 64 KB of every step
verdict: no leak (leak, host.anon or host.private, role trainer); what it prints must be the same as
         without tidemark
"""

import os
import sys
import time

import load


def terminal(name, fd):
    if not os.isatty(fd):
        return "%s no terminal" % name
    columns, lines = os.get_terminal_size(fd)
    return "%s terminal %dx%d" % (name, columns, lines)


def clock(seconds):
    return "%02d:%02d" % divmod(int(seconds), 60)


def bar(done, total, seconds, width):
    rate = done / seconds if seconds > 0 else 0.0
    left = (total - done) / rate if rate else 0.0
    head = "train: %3d%%|" % (100 * done // total)
    tail = "| %d/%d [%s<%s, %.1fit/s]" % (done, total, clock(seconds), clock(left), rate)
    room = max(1, width - len(head) - len(tail) - 1)
    return head + ("#" * (room * done // total)).ljust(room) + tail


def main():
    parser = load.options(__doc__)
    parser.add_argument("--leak", action="store_true")
    options = parser.parse_args()
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        load.say(terminal(name, fd))
    load.say("TERM %s" % os.environ.get("TERM", ""))
    width = os.get_terminal_size(2).columns if os.isatty(2) else 80

    def train():
        held = [load.take(16)]
        start = time.monotonic()
        for n in range(1, options.steps + 1):
            if options.leak and not options.fix:
                held.append(load.take(64 / 1024))
            line = bar(n, options.steps, time.monotonic() - start, width)
            sys.stderr.write("\r" + line)
            sys.stderr.flush()
            load.sleep_ms(options.step_ms)
        sys.stderr.write("\n")

    load.Load().run(train)


if __name__ == "__main__":
    main()
