/* core/counters.c: torch's own counters, read by the probe on a time budget. */
#include "core.h"
#include "probe/probe.h"

/* At most this share of the training time. After a slow reading (another thread had torch's lock),
 * reading rests for no longer than LONGEST_REST seconds. */
#define BUDGET 0.0002
#define LONGEST_REST 0.5

static void (*probe_read)(tidemark_probe_emit *emit, void *context);

/* Called where the probe has been found. */
void counters_init(void)
{
    *(void **) &probe_read = probe_function("tidemark_probe_read");
}

/* Counters that are only displayed (how often the collector ran) are not judged. */
static void hand_over(void *context, const char *kind, const char *device, int is_count,
                      int is_judged, double value)
{
    struct watcher *w = context;
    if (is_judged)
        tidemark_count(w->inner, kind, device && *device ? device : NULL,
                       is_count ? TIDEMARK_COUNT : TIDEMARK_BYTES, value);
}

void counters_read(struct watcher *w)
{
    if (!probe_read)
        return;
    double begin = seconds_now();
    if (begin < w->counters_after)
        return;
    probe_read(hand_over, w);
    double end = seconds_now(), rest = (end - begin) / BUDGET;
    w->counters_after = end + (rest < LONGEST_REST ? rest : LONGEST_REST);
}
