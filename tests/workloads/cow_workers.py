#!/usr/bin/env python3
"""cow_workers.py: four forked workers read a large list, and their reference counts copy its pages.

The parent builds --mb MB (60) of small objects. Each worker reads them once, in order, as far as
--read-by of the steps go (1: the whole run; 0.5: then there is nothing left to copy).

grows:   private memory of every worker, linear, up to the size of the list; their RssAnon is flat
         (the pages counted before, as shared). The parent's private memory rises with it, when
         nobody shares its pages any more. All of it is bounded.
verdict: no leak, or inconclusive; never leak. --fix keeps the samples in one block of bytes, which
         has one reference count: nothing is copied: no leak
roles:   trainer, 4 data workers
"""

import load

WORKERS = 4
OBJECT_BYTES = 73  # a string of 15 characters, and its place in the list


def build(megabytes, fix):
    count = int(megabytes * (1 << 20)) // OBJECT_BYTES
    if fix:
        return b"sample-00000000" * count, count
    return ["sample-%08d" % i for i in range(count)], count


def read(samples, first, last, fix):
    if fix:
        return sum(len(samples[i * 15 : i * 15 + 15]) for i in range(first, last))
    return sum(len(s) for s in samples[first:last])


def work(options, samples, count):
    reading = max(1, int(options.steps * options.read_by))
    for n in range(reading):
        read(samples, count * n // reading, count * (n + 1) // reading, options.fix)
        load.sleep_ms(options.step_ms)
    while True:
        load.sleep_ms(1000)


def main():
    parser = load.options(__doc__)
    parser.add_argument("--mb", type=float, default=60)
    parser.add_argument("--read-by", type=float, default=1.0)
    options = parser.parse_args()
    job = load.Load()

    def train():
        samples, count = build(options.mb, options.fix)
        for _ in range(WORKERS):
            job.fork(lambda: work(options, samples, count))
        for n in range(1, options.steps + 1):
            load.say("step %d" % n)
            load.sleep_ms(options.step_ms)

    job.run(train)


if __name__ == "__main__":
    main()
