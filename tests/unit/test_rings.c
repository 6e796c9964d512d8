/* tests/unit/test_rings.c: what processes tell from inside reaches their series and the clock. */
#include "watch/watch.h"

#include "proc_children.h"
#include "unit.h"

#include <poll.h>

#define MB 1048576.0

/* A second of the watch, as the records of a ring give it. */
#define AT(seconds) ((uint64_t) ((seconds) *1e9))

/* ---- a program that watches itself ---- */

struct self {
    struct wire_ring *ring;
    struct watch *watch;
    int anon;
};

static bool self_start(struct self *s, struct store *store)
{
    struct watch_options options = {.proc_root = "/proc", .interval = 1, .store = store};
    const struct wire_name anon = {.kind = "host.anon", .judged = 1};
    if (wire_open(NULL, &s->ring) < 0 || watch_new(&options, &s->watch) < 0)
        return false;
    s->anon = wire_name(s->ring, &anon);
    return watch_add_root(s->watch, getpid(), false) == 0 && watch_add_ring(s->watch, s->ring) == 0;
}

static void self_end(struct self *s)
{
    watch_free(s->watch);
    wire_close(s->ring);
}

/* What wire_step() would tell at that second. */
static void put_step(struct wire_ring *ring, enum wire_source source, double seconds, double step)
{
    wire_put(ring, WIRE_STEP, source, 0, AT(seconds), step);
}

static const struct watch_series *find_series(const struct watch_view *v, const char *kind)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcmp(v->series[i].info.kind, kind) == 0 && v->series[i].info.pid > 0)
            return &v->series[i];
    return NULL;
}

TEST(rings__steps_told_from_inside_are_the_clock)
{
    struct self s;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    CHECK(isnan(watch_steps(s.watch)));
    for (int i = 1; i <= 100; i++)
        put_step(s.ring, WIRE_WATCHER, 0.01 * i, i);
    watch_tick(s.watch, 2);
    CHECK_NEAR(watch_steps(s.watch), 100, 0);
    self_end(&s);
}

TEST(rings__memory_told_with_each_step_is_judged_on_the_step_clock)
{
    struct self s;
    struct watch_view v;
    CHECK(self_start(&s, NULL));
    for (int second = 0; second < 20; second++) {
        for (int i = 0; i < 100; i++) {
            double at = second + 0.01 * i, step = 100 * second + i + 1;
            put_step(s.ring, WIRE_WATCHER, at, step);
            wire_put(s.ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) s.anon, AT(at),
                     100 * MB + 65536 * step);
        }
        watch_tick(s.watch, second + 1);
    }
    watch_finish(s.watch, 20, &(struct watch_end){0});
    watch_view_init(s.watch, 20, &v);
    const struct watch_series *anon = find_series(&v, "host.anon");
    CHECK(anon != NULL);
    CHECK(anon->info.clock == CLOCK_STEP);
    CHECK(anon->answer.verdict == VERDICT_LEAK);
    CHECK_NEAR(anon->answer.rate, 65536, 1);
    watch_view_release(&v);
    self_end(&s);
}
