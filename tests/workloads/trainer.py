#!/usr/bin/env python3
"""trainer.py: the trainer that wrapper_trainer_workers.sh starts: it leaks, its workers do not.

grows:   RssAnon and private memory of this process, --kb KB (64) a step, linear; its 3 forked
         workers (8 MB each) are flat
verdict: leak, host.anon or host.private, role trainer, not of the wrapper, not of a data worker;
         --fix: no leak
"""

import signal

import load

WORKERS = 3


def work():
    batch = load.take(8)
    while batch:
        load.sleep_ms(1000)


def main():
    parser = load.options(__doc__)
    parser.add_argument("--kb", type=int, default=64)
    parser.add_argument("--base-mb", type=int, default=32)
    options = parser.parse_args()
    # A shell that is killed while it waits would leave its command behind.
    load.die_with_parent(signal.SIGTERM)
    job = load.Load()

    def train():
        base = load.take(options.base_mb)
        for _ in range(WORKERS):
            job.fork(work)
        history = [base]
        for n in range(1, options.steps + 1):
            block = load.take(options.kb / 1024)
            if not options.fix:
                history.append(block)
            load.say("step %d" % n)
            load.sleep_ms(options.step_ms)

    job.run(train)


if __name__ == "__main__":
    main()
