#!/usr/bin/env python3
"""cache_fill.py: a cache is filled during the first epoch (--per-epoch steps, 200) and then full.

Prints `epoch E step N/PER_EPOCH`.

grows:   RssAnon, --kb KB (128) a step, linear, for one epoch; then flat
verdict: no leak; with --leak the cache has no key and grows in every epoch: leak, host.anon or
         host.private, role trainer; --fix has no cache: no leak
"""

import load


def main():
    parser = load.options(__doc__)
    parser.add_argument("--per-epoch", type=int, default=200)
    parser.add_argument("--kb", type=int, default=128)
    parser.add_argument("--leak", action="store_true")
    options = parser.parse_args()

    def train():
        base = load.take(16)
        cache = {-1: base}
        for n in range(options.steps):
            epoch, step = divmod(n, options.per_epoch)
            key = n if options.leak else step
            if not options.fix and key not in cache:
                cache[key] = load.take(options.kb / 1024)
            load.say("epoch %d step %d/%d" % (epoch + 1, step + 1, options.per_epoch))
            load.sleep_ms(options.step_ms)

    load.Load().run(train)


if __name__ == "__main__":
    main()
