/*
 * workloads/spikes.c: validation every --every steps (50) takes --spike-mb MB (100) for --hold
 * steps (5) and gives them back to the kernel.
 *
 * grows:   nothing: RssAnon jumps and falls back to the same floor
 * verdict: no leak; --fix makes no spikes: no leak; with --leak-kb N the floor below the spikes
 *          rises by N KB a step: leak, host.anon or host.private, role trainer
 */
#include "load.h"

int main(int argc, char **argv)
{
    long every = 50, spike_mb = 100, hold = 5, leak_kb = 0;
    load_init(argc, argv,
              (struct load_option[]){{"every", &every, NULL},
                                     {"spike-mb", &spike_mb, NULL},
                                     {"hold", &hold, NULL},
                                     {"leak-kb", &leak_kb, NULL},
                                     {0}});
    size_t bytes = (size_t) spike_mb << 20;
    void *spike = NULL;
    long since = 0;
    for (long n = 1; load_running(n); n++) {
        if (leak_kb > 0 && !load.fix)
            load_keep((size_t) leak_kb << 10);
        if (spike && n - since >= hold) {
            load_unmap(spike, bytes);
            spike = NULL;
        }
        if (!spike && !load.fix && every > 0 && n % every == 0) {
            spike = load_map(bytes);
            since = n;
        }
        load_step(n);
    }
    return load_end();
}
