#!/usr/bin/env python3
"""warmup_spikes.py: warms up for one epoch, then flat, with a spike of validation after each epoch.

What a healthy job looks like, for the demonstration. Prints `epoch E step N/PER_EPOCH loss=L`.

grows:   RssAnon, by --warm-mb MB (60) in all, over the first epoch (--per-epoch steps, 150), less
         and less; then only spikes of --spike-mb MB (80), for the last 5 steps of an epoch
verdict: no leak; with --leak it keeps 64 KB of every step besides: leak, host.anon or host.private,
         role trainer; --fix is flat from the start: no leak
"""

import math

import load

VALIDATION_STEPS = 5
LEAK_MB = 64 / 1024


def warm_up_mb(step, options):
    """What step `step` of the first epoch adds: most of it in the beginning."""
    share = [1 - math.exp(-4 * n / options.per_epoch) for n in (step, step + 1)]
    return options.warm_mb * (share[1] - share[0]) / (1 - math.exp(-4))


def main():
    parser = load.options(__doc__)
    parser.add_argument("--per-epoch", type=int, default=150)
    parser.add_argument("--warm-mb", type=float, default=60)
    parser.add_argument("--spike-mb", type=float, default=80)
    parser.add_argument("--leak", action="store_true")
    options = parser.parse_args()

    def train():
        held = [load.take(24)]
        for n in range(options.steps):
            epoch, step = divmod(n, options.per_epoch)
            validation = None
            if not options.fix:
                if epoch == 0:
                    held.append(load.take(warm_up_mb(step, options)))
                if step >= options.per_epoch - VALIDATION_STEPS:
                    validation = load.take(options.spike_mb)
            if options.leak:
                held.append(load.take(LEAK_MB))
            loss = 2.3 * math.exp(-n / 400) + 0.05 * math.sin(n)
            load.say(
                "epoch %d step %d/%d loss=%.4f" % (epoch + 1, step + 1, options.per_epoch, loss)
            )
            load.sleep_ms(options.step_ms)
            del validation

    load.Load().run(train)


if __name__ == "__main__":
    main()
