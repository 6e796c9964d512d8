/* tests/unit/test_news.c: what is announced about a leak while the job runs, and how loudly. */
#include "report/report.h"
#include "watch/watch.h"

#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#define MB 1048576.0
#define GB (1024 * MB)
#define AT(seconds) ((uint64_t) ((seconds) *1e9))

static const struct report_style plain = {.width = 100, .ascii = true};
static const struct report_style colour = {.width = 100, .ascii = true, .color = true};

/* ---- a program that watches itself ---- */

struct self {
    struct wire_ring *ring;
    struct watch *watch;
    unsigned quiet, loud; /* leaks announced */
    unsigned withdrawn;
    int loud_at;    /* the step of the last loud one */
    unsigned lines; /* in the last announcement */
};

static bool self_start(struct self *s)
{
    struct watch_options options = {.proc_root = "/proc", .interval = 1, .limit_bytes = 64 * GB};
    *s = (struct self){0};
    return wire_open(NULL, &s->ring) == 0 && watch_new(&options, &s->watch) == 0 &&
           watch_add_root(s->watch, getpid(), false) == 0 && watch_add_ring(s->watch, s->ring) == 0;
}

static void self_end(struct self *s)
{
    watch_free(s->watch);
    wire_close(s->ring);
}

static void put(struct self *s, const char *kind, double seconds, double value)
{
    struct wire_name name = {.unit = WIRE_BYTES, .judged = true};
    snprintf(name.kind, sizeof(name.kind), "%s", kind);
    int number = wire_name(s->ring, &name);
    wire_put(s->ring, WIRE_SAMPLE, WIRE_WATCHER, (unsigned) number, AT(seconds), value);
}

static unsigned lines_of(const struct buf *text)
{
    unsigned lines = 0;
    for (const char *s = buf_text(text); *s; s++)
        lines += *s == '\n';
    return lines;
}

static void hear_withdrawal(struct self *s, const struct view *v, size_t i)
{
    struct buf text = BUF_INIT;
    report_withdrawal(&text, v, i, &plain);
    s->withdrawn++;
    CHECK(v->series[i].answer.verdict == VERDICT_NO_LEAK);
    CHECK(strstr(buf_text(&text), "tidemark: alarm withdrawn: "));
    CHECK(strstr(buf_text(&text), " torch.allocated is not a leak: "));
    buf_release(&text);
}

static void hear(struct self *s, int step)
{
    for (struct news n; (n = watch_next_news(s->watch)).kind != NEWS_END;) {
        struct view v;
        if (n.kind != NEWS_LEAK && n.kind != NEWS_WITHDRAWN)
            continue;
        watch_view_init(s->watch, 0.01 * step, &v);
        for (size_t i = 0; i < v.count; i++) {
            if (v.series[i].id != n.series)
                continue;
            if (n.kind == NEWS_WITHDRAWN) {
                hear_withdrawal(s, &v, i);
                continue;
            }
            struct buf text = BUF_INIT;
            report_alarm(&text, &v, i, &plain);
            s->lines = lines_of(&text);
            bool quiet = v.series[i].answer.severity == SEVERITY_NEGLIGIBLE;
            s->quiet += quiet;
            s->loud += !quiet;
            s->loud_at = quiet ? s->loud_at : step;
            CHECK((strstr(buf_text(&text), "LEAK (negligible): ") != NULL) == quiet);
            buf_release(&text);
        }
        view_release(&v);
    }
}

/* Trains at 100 steps a second. */
static void train(struct self *s, int from, int to, const char *kind, double bytes_a_step)
{
    for (int step = from; step <= to; step++) {
        double at = 0.01 * step;
        wire_put(s->ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
        put(s, "host.anon", at, 100 * MB + (strcmp(kind, "host.anon") == 0) * bytes_a_step * step);
        if (strcmp(kind, "host.anon") != 0)
            put(s, kind, at, 60 * MB + bytes_a_step * step);
        if (step % 10 == 0) {
            watch_tick(s->watch, at);
            hear(s, step);
        }
    }
}

/* ---- how often ---- */

TEST(news__a_negligible_leak_is_one_line_once)
{
    struct self s;
    CHECK(self_start(&s));
    train(&s, 1, 1800, "torch.allocated", 512);
    CHECK(s.quiet == 1 && s.loud == 0 && s.lines == 1);
    self_end(&s);
}

/* Without a known limit: from step 2,100 on, ten times as many steps would take 1 % of 1 GB. */
TEST(news__a_negligible_leak_that_comes_to_matter_is_told_again_and_loudly)
{
    struct self s;
    CHECK(self_start(&s));
    train(&s, 1, 4000, "torch.allocated", 512);
    CHECK(s.quiet == 1 && s.loud == 1 && s.lines > 1);
    CHECK(s.loud_at >= 2090 && s.loud_at <= 2400);
    self_end(&s);
}

TEST(news__any_other_leak_is_told_once_and_loudly)
{
    struct self s;
    CHECK(self_start(&s));
    train(&s, 1, 1800, "torch.allocated", 100 * 1024);
    CHECK(s.quiet == 0 && s.loud == 1 && s.lines > 1);
    self_end(&s);
}

/* A bounded buffer looks like a leak while it fills, and is full later. */
TEST(news__an_alarm_that_was_wrong_is_withdrawn_once)
{
    struct self s;
    CHECK(self_start(&s));
    train(&s, 1, 1800, "torch.allocated", 100 * 1024);
    CHECK(s.loud == 1 && s.withdrawn == 0);
    for (int step = 1801; step <= 5000; step++) {
        double at = 0.01 * step;
        wire_put(s.ring, WIRE_STEP, WIRE_WATCHER, 0, AT(at), step);
        put(&s, "host.anon", at, 100 * MB);
        put(&s, "torch.allocated", at, 60 * MB + 100 * 1024.0 * 1800);
        if (step % 10 == 0) {
            watch_tick(s.watch, at);
            hear(&s, step);
        }
    }
    CHECK(s.loud == 1 && s.withdrawn == 1);
    self_end(&s);
}

/* The job's memory grows with that of its only process. */
TEST(news__the_sum_of_a_negligible_part_is_not_told)
{
    struct self s;
    CHECK(self_start(&s));
    train(&s, 1, 6000, "host.anon", 700);
    CHECK(s.quiet == 1 && s.loud == 0);
    struct view v;
    watch_finish(s.watch, 60, &(struct watch_end){0});
    watch_view_init(s.watch, 60, &v);
    CHECK(v.answer.verdict == VERDICT_LEAK && v.answer.severity == SEVERITY_NEGLIGIBLE);
    view_release(&v);
    self_end(&s);
}

/* ---- the status line ---- */

static void status_of(struct self *s, double seconds, struct buf *ret)
{
    struct view_status status;
    watch_status(s->watch, &status);
    report_status(ret, &status, seconds, &colour);
}

TEST(news__the_status_line_of_a_negligible_leak_is_calm)
{
    struct self s;
    struct buf line = BUF_INIT;
    CHECK(self_start(&s));
    train(&s, 1, 1800, "torch.allocated", 512);
    status_of(&s, 18, &line);
    CHECK(strstr(buf_text(&line), "+512 B/step | negligible leak: "));
    CHECK(!strstr(buf_text(&line), "LEAK") && !strstr(buf_text(&line), "\033[1;31m"));
    CHECK(!strstr(buf_text(&line), "limit in"));
    train(&s, 1801, 4000, "torch.allocated", 512);
    buf_clear(&line);
    status_of(&s, 40, &line);
    CHECK(strstr(buf_text(&line), "\033[1;31mLEAK\033[0m: "));
    buf_release(&line);
    self_end(&s);
}

static void status_at(unsigned width, struct buf *ret)
{
    const struct view_status status = {
        .total = 47.2e9,
        .floor = 46e9,
        .step = 1200,
        .step_total = 3000,
        .verdict = VERDICT_LEAK,
        .severity = SEVERITY_HIGH,
        .series = {.name = "dataloader-worker 31025 host.anon", .unit = SERIES_BYTES},
        .rate = 16.0 * 1024 * 1024,
        .needs = NAN,
        .limit_seconds = 82,
    };
    buf_clear(ret);
    report_status(ret, &status, 720, &(struct report_style){.width = width, .ascii = true});
}

static bool status_is(struct buf *line, unsigned width, const char *text)
{
    status_at(width, line);
    if (strcmp(buf_text(line), text) != 0)
        printf("%u: %s\n", width, buf_text(line));
    return strcmp(buf_text(line), text) == 0;
}

/* A narrow terminal drops whole parts of the line, the least important first. */
TEST(news__the_status_line_keeps_what_matters)
{
    struct buf line = BUF_INIT;
    CHECK(status_is(&line, 0,
                    "12 min | step 1,200/3,000 | job 44.0 GB, floor 42.8 GB | +16.0 MB/step | "
                    "LEAK: dataloader-worker 31025 host.anon | limit in 82 s"));
    CHECK(status_is(&line, 100,
                    "job 44.0 GB | +16.0 MB/step | LEAK: dataloader-worker 31025 host.anon | "
                    "limit in 82 s"));
    CHECK(status_is(&line, 80,
                    "+16.0 MB/step | LEAK: dataloader-worker 31025 host.anon | limit in 82 s"));
    CHECK(
        status_is(&line, 68, "+16.0 MB/step | LEAK: dataloader-worker host.anon | limit in 82 s"));
    CHECK(status_is(&line, 60, "+16.0 MB/step | LEAK | limit in 82 s"));
    CHECK(status_is(&line, 40, "+16.0 MB/step | LEAK | limit in 82 s"));
    CHECK(status_is(&line, 24, "LEAK | limit in 82 s"));
    CHECK(status_is(&line, 12, "LEAK"));
    for (unsigned width = 12; width < 140; width++) {
        status_at(width, &line);
        CHECK(line.len < width && strstr(buf_text(&line), "LEAK"));
    }
    buf_release(&line);
}

/* ---- the report ---- */

TEST(news__the_report_has_a_negligible_leak_in_its_table)
{
    struct self s;
    struct view v;
    struct buf text = BUF_INIT;
    CHECK(self_start(&s));
    train(&s, 1, 1800, "torch.allocated", 512);
    watch_finish(s.watch, 18, &(struct watch_end){0});
    watch_view_init(s.watch, 18, &v);
    report_run_text(&text, &v, NULL,
                    &(struct report_style){.width = 100, .ascii = true, .full = true});
    CHECK(strncmp(buf_text(&text), "\nLEAK (negligible): ", 20) == 0);
    CHECK(strstr(buf_text(&text), "\n  LEAK (negligible)  "));
    CHECK(strstr(buf_text(&text), "It is negligible: it adds "));
    buf_clear(&text);
    report_run_json(&text, &v);
    CHECK(strstr(buf_text(&text), "\n  \"severity\": \"negligible\","));
    view_release(&v);
    buf_release(&text);
    self_end(&s);
}
