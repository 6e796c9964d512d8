/* tests/unit/test_activities.c: phases that processes report reach the series, view and file. */
#include "report/report.h"
#include "watch/watch.h"
#include "wire/ring.h"

#include "store_files.h"
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#define MB 1048576.0
#define AT(seconds) ((uint64_t) ((seconds) *1e9))

struct self {
    struct wire_ring *ring;
    struct watch *watch;
};

static bool self_start(struct self *s, struct store *store)
{
    struct watch_options options = {.proc_root = "/proc", .interval = 1, .store = store};
    return wire_open(NULL, &s->ring) == 0 && watch_new(&options, &s->watch) == 0 &&
           watch_add_root(s->watch, getpid(), false) == 0 && watch_add_ring(s->watch, s->ring) == 0;
}

static void self_end(struct self *s)
{
    watch_free(s->watch);
    wire_close(s->ring);
}

static void put_value(struct self *s, enum wire_kind what, const char *kind, double seconds,
                      double value)
{
    struct wire_name name = {.unit = WIRE_BYTES, .judged = 1};
    snprintf(name.kind, sizeof(name.kind), "%s", kind);
    wire_put(s->ring, what, WIRE_WATCHER, (unsigned) wire_name(s->ring, &name), AT(seconds), value);
}

static void put_sample(struct self *s, const char *kind, double seconds, double value)
{
    put_value(s, WIRE_SAMPLE, kind, seconds, value);
}

static void put_aside(struct self *s, const char *kind, double seconds, double value)
{
    put_value(s, WIRE_ASIDE, kind, seconds, value);
}

/* Writes what wire_phase_begin() and wire_phase_end() would write at these seconds. */
static void put_phase(struct self *s, const char *name, double begin, double end)
{
    unsigned phase = wire_phase(s->ring, name);
    struct wire_phase_slot *counted = &s->ring->layout->phases[phase];
    wire_put(s->ring, WIRE_PHASE, WIRE_WATCHER, phase, AT(begin), 1);
    wire_put(s->ring, WIRE_PHASE, WIRE_WATCHER, phase, AT(end), 0);
    counted->begun++;
    counted->ended++;
    counted->nanoseconds += AT(end) - AT(begin);
}

static const struct view_activity *find_phase(const struct view *v, const char *name)
{
    for (size_t i = 0; i < v->phase_count; i++)
        if (strcmp(v->phases[i].name, name) == 0)
            return &v->phases[i];
    return NULL;
}

static const struct view_activity_series *in_phase(const struct view *v, const char *name,
                                                   const char *kind)
{
    const struct view_activity *p = find_phase(v, name);
    for (size_t i = 0; p && i < p->count; i++)
        if (strcmp(v->series[p->series[i].series].info.kind, kind) == 0)
            return &p->series[i];
    return NULL;
}

static void finish(struct self *s, double seconds, struct view *ret)
{
    watch_finish(s->watch, seconds, &(struct watch_end){0});
    watch_view_init(s->watch, seconds, ret);
}

/* Runs `seconds` seconds of 50 steps each, with torch.allocated at 100 MB. Each second has an
 * evaluation of 0.2 s that uses `bytes` more; `kept` bytes stay per second. */
static void train(struct self *s, int seconds, double bytes, double kept)
{
    watch_tick(s->watch, 0);
    for (int second = 0; second < seconds; second++) {
        for (int i = 0; i < 50; i++) {
            double at = second + 0.01 * i;
            wire_put(s->ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), 50 * second + i + 1);
            put_sample(s, "torch.allocated", at, 100 * MB + kept * second);
        }
        put_phase(s, "evaluate", second + 0.6, second + 0.8);
        put_aside(s, "torch.allocated", second + 0.7, 100 * MB + kept * second + bytes);
        watch_tick(s->watch, second + 1);
    }
}

TEST(activities__spikes_have_the_name_of_their_phase)
{
    struct self s;
    struct view v;
    struct buf text = BUF_INIT;
    CHECK(self_start(&s, NULL));
    train(&s, 12, 200 * MB, 0);
    finish(&s, 12, &v);
    CHECK(v.phase_count == 1);
    const struct view_activity *p = find_phase(&v, "evaluate");
    CHECK(p && p->times == 12 && p->ended == 12);
    CHECK_NEAR(p->seconds, 12 * 0.2, 1e-6);
    const struct view_activity_series *x = in_phase(&v, "evaluate", "torch.allocated");
    CHECK(x && x->looked_at == 11 && x->given_back == 11); /* no sample follows the last one */
    CHECK_NEAR(x->height, 200 * MB, 0);
    const struct answer *a = &v.series[x->series].answer;
    CHECK(a->verdict == VERDICT_NO_LEAK);
    CHECK(a->spikes.count == 12 && a->spikes.during_count == 1);
    CHECK_TEXT(a->spikes.during[0].name, "evaluate");
    CHECK(a->spikes.during[0].count == 12);
    CHECK_TEXT(a->why[a->why_count - 1], "Spikes rise about 200 MB above the floor and all "
                                         "fall back: 12 of 12 during evaluate.");
    report_run_text(&text, &v, NULL, &(struct report_style){.width = 100, .full = true});
    CHECK(strstr(buf_text(&text),
                 "\n  phases    evaluate 12 times, 0.2 s each; up to 200 MB above "
                 "the floor (torch.allocated), given\n            back each of the "
                 "11 times that could be looked at\n"));
    buf_release(&text);
    view_release(&v);
    self_end(&s);
}

/* What stays after every evaluation is a leak, whatever its spikes are called. */
TEST(activities__what_evaluation_keeps_is_still_a_leak)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    train(&s, 20, 200 * MB, 10 * MB);
    finish(&s, 20, &v);
    const struct view_activity_series *x = in_phase(&v, "evaluate", "torch.allocated");
    CHECK(x && x->looked_at == 19 && x->given_back == 0);
    CHECK_NEAR(x->kept, 10 * MB, 0);
    CHECK(v.series[x->series].answer.verdict == VERDICT_LEAK);
    view_release(&v);
    self_end(&s);
}

TEST(activities__nothing_is_said_where_nothing_was_told)
{
    struct self s;
    struct view v;
    struct buf text = BUF_INIT;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    watch_tick(s.watch, 1);
    finish(&s, 2, &v);
    CHECK(v.phase_count == 0);
    report_run_text(&text, &v, NULL, &(struct report_style){.width = 80, .full = true});
    CHECK(!strstr(buf_text(&text), "phases "));
    buf_release(&text);
    report_run_json(&text, &v);
    CHECK(!strstr(buf_text(&text), "\"times\""));
    buf_release(&text);
    view_release(&v);
    self_end(&s);
}

/* A counter that is flat except for its spikes, which are samples too. What stays is growth,
 * however small beside the spikes. */
TEST(activities__what_stays_under_spikes_is_no_rounding)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    for (int i = 0; i < 1000; i++) {
        int evaluations = i / 50;
        double level = 100 * MB + 10 * MB * evaluations;
        wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(0.01 * i), i + 1);
        put_sample(&s, "torch.allocated", 0.01 * i, i % 50 == 49 ? level + 200 * MB : level);
        if (i % 100 == 99)
            watch_tick(s.watch, 0.01 * (i + 1));
    }
    finish(&s, 10, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK);
    view_release(&v);
    self_end(&s);
}

/* The memory of this process itself, by the kernel's high-water mark. */
TEST(activities__a_peak_between_two_looks_is_known)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    put_sample(&s, "host.anon", 0.1, 100 * MB);
    put_aside(&s, "host.anon", 0.25, 700 * MB);
    put_phase(&s, "evaluate", 0.2, 0.3);
    put_sample(&s, "host.anon", 0.4, 100 * MB);
    watch_tick(s.watch, 1);
    finish(&s, 2, &v);
    const struct view_activity_series *x = in_phase(&v, "evaluate", "host.anon");
    CHECK(x && x->looked_at == 1 && x->given_back == 1);
    CHECK_NEAR(x->height, 600 * MB, 0);
    view_release(&v);
    self_end(&s);
}

TEST(activities__what_was_told_before_is_not_counted)
{
    struct self s;
    struct watch *second;
    struct view v;
    const struct watch_options options = {.proc_root = "/proc", .interval = 1};
    CHECK(self_start(&s, NULL));
    put_phase(&s, "evaluate", 0.1, 0.2);
    CHECK(watch_new(&options, &second) == 0 && watch_add_root(second, getpid(), false) == 0 &&
          watch_add_ring(second, s.ring) == 0);
    watch_tick(second, 1);
    put_phase(&s, "evaluate", 1.1, 1.4);
    watch_tick(second, 2);
    watch_view_init(second, 2, &v);
    const struct view_activity *p = find_phase(&v, "evaluate");
    CHECK(p && p->times == 1);
    CHECK_NEAR(p->seconds, 0.3, 1e-6);
    view_release(&v);
    watch_free(second);
    self_end(&s);
}

TEST(activities__beyond_sixteen_names_they_are_other)
{
    struct self s;
    struct view v;
    char name[16];
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "part %d", i);
        put_phase(&s, name, 0.01 * i, 0.01 * i + 0.005);
    }
    watch_tick(s.watch, 1);
    finish(&s, 2, &v);
    CHECK(v.phase_count == 17);
    CHECK(find_phase(&v, "part 15") && !find_phase(&v, "part 16"));
    CHECK(find_phase(&v, "other")->times == 24);
    view_release(&v);
    self_end(&s);
}

/* Lost ends, ends alone, and numbers of no phase: none of them is believed. */
TEST(activities__disorder_is_survived)
{
    struct self s;
    struct view v;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    unsigned phase = wire_phase(s.ring, "evaluate\x1b[31m");
    s.ring->layout->phases[phase].begun = 3;
    wire_put(s.ring, WIRE_PHASE, WIRE_WATCHER, phase, AT(0.1), 0);
    wire_put(s.ring, WIRE_PHASE, WIRE_WATCHER, phase, AT(0.2), 1);
    wire_put(s.ring, WIRE_PHASE, WIRE_WATCHER, phase, AT(0.3), 1);
    wire_put(s.ring, WIRE_PHASE, WIRE_WATCHER, 5, AT(0.4), 1);
    wire_put(s.ring, WIRE_PHASE, WIRE_WATCHER, 63, AT(0.5), 1);
    wire_put(s.ring, WIRE_ASIDE, WIRE_WATCHER, 63, AT(0.6), 1e30);
    watch_tick(s.watch, 1);
    finish(&s, 2, &v);
    CHECK(v.phase_count == 1 && v.phases[0].times == 3 && v.phases[0].ended == 0);
    CHECK(strstr(v.phases[0].name, "evaluate") && !strchr(v.phases[0].name, '\x1b'));
    view_release(&v);
    /* A count that falls; no program of ours writes one. */
    s.ring->layout->phases[phase].ended = 7;
    watch_view_init(s.watch, 2, &v);
    CHECK(v.phase_count == 0);
    view_release(&v);
    self_end(&s);
}

/* Anything that is not text is turned into text, short enough to keep. */
TEST(activities__odd_names_survive_the_run_file)
{
    struct self s;
    struct view v, recalled;
    struct buf kept = BUF_INIT;
    CHECK(self_start(&s, NULL));
    watch_tick(s.watch, 0);
    char name[48];
    memset(name, 0xff, 47);
    name[47] = '\0';
    put_sample(&s, "host.anon", 0.1, 100 * MB);
    put_aside(&s, "host.anon", 0.25, 700 * MB);
    put_phase(&s, name, 0.2, 0.3);
    for (int i = 0; i < 20; i++)
        put_sample(&s, "host.anon", 0.4 + 0.01 * i, 100 * MB);
    watch_tick(s.watch, 1);
    finish(&s, 2, &v);
    CHECK(v.phase_count == 1 && v.phases[0].name[0] && strlen(v.phases[0].name) < 48);
    const struct view_activity_series *x = in_phase(&v, v.phases[0].name, "host.anon");
    CHECK(x && v.series[x->series].answer.spikes.during_count == 1);
    report_keep(&kept, &v);
    CHECK(report_recall(buf_text(&kept), kept.len, &recalled) == 0);
    CHECK_TEXT(recalled.phases[0].name, v.phases[0].name);
    view_release(&recalled);
    buf_release(&kept);
    view_release(&v);
    self_end(&s);
}

static int find_event(void *context, double seconds, const char *what, const char *text)
{
    struct buf *found = context;
    if (strcmp(what, "phase") == 0)
        buf_addf(found, "%.1f %s|", seconds, text);
    return 0;
}

TEST(activities__the_run_file_has_them_as_events)
{
    char path[64];
    struct self s;
    struct store *store;
    struct store_error error;
    struct buf events = BUF_INIT;
    snprintf(path, sizeof(path), "/tmp/test_phases.%d.tide", (int) getpid());
    unlink(path);
    CHECK(store_create(path, &(struct store_run){.limit_bytes = NAN}, &store) == 0);
    CHECK(self_start(&s, store));
    watch_tick(s.watch, 0);
    put_phase(&s, "evaluate", 0.5, 3.7);
    put_phase(&s, "save", 4, 4.25);
    watch_tick(s.watch, 5);
    watch_finish(s.watch, 6, &(struct watch_end){0});
    CHECK(store_close(store, 6) == 0);
    self_end(&s);
    CHECK(store_open(path, &store, &error) == 0);
    CHECK(store_each_event(store, find_event, &events) == 0);
    CHECK_TEXT(buf_text(&events), "3.7 evaluate 3.2 s|4.2 save 0.25 s|");
    buf_release(&events);
    store_free(store);
    unlink(path);
}
