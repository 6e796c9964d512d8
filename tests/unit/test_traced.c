/* tests/unit/test_traced.c: the lines of a process whose allocations stay. */
#include "job/job.h"
#include "judge/judge.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#define MB 1048576.0
#define RATE 1     /* MB a second: of the process's memory */
#define SECONDS 40 /* armed at 0 */
#define ERROR 0.05 /* standard error of a line's bytes, as a share of them */

typedef double bytes_at(double second);

static double grows(double second)
{
    return MB * second;
}

static double warms_up(double second)
{
    return MB * fmin(2 * second, 20);
}

static double stays(double second)
{
    return second > 0 ? 20 * MB : 0;
}

static double is_freed(double second)
{
    return MB * (second < 20 ? second : 40 - second);
}

static double grows_a_little(double second)
{
    return MB * second / 100;
}

/* ---- a process ---- */

struct traced_process {
    struct job job;
    struct member *m;
    struct buf sites;
    int measured_from; /* the bytes in use */
};

static void begin(struct traced_process *p)
{
    p->m = member_new((struct proc_id){.pid = 4242, .start = 1});
    member_init_tracks(p->m);
    p->m->tracks[MEMBER_ANON].last = 200 * MB;
    p->sites = (struct buf) BUF_INIT;
    p->measured_from = 0;
    job_init(&p->job);
    buf_adds(&p->sites, SITES_FIRST_LINE "\nsampling\t0\t40\t65536\t0\t\n");
}

static void end(struct traced_process *p)
{
    buf_release(&p->sites);
    member_free(p->m);
    job_release(&p->job);
}

static void add_points(struct buf *out, bytes_at *of, double error)
{
    for (int i = 0; i <= SECONDS; i++) {
        double bytes = of(i);
        buf_addf(out, "point\t%d\t%.0f\t%.0f\t%.0f\t0\t0\n", i, bytes, error * bytes, 2 * bytes);
    }
}

/* A site of the function in train.py, called from line `line` of run.py. */
static void add_objects(struct traced_process *p, const char *kind, const char *function, int line,
                        bytes_at *of, double error, double objects)
{
    buf_addf(&p->sites, "site\t%s\t\t100\t100\t0\t%.0f\n", kind, objects);
    buf_addf(&p->sites, "frame\t%s\t/me/train.py\t41\t\t0\t0\n", function);
    buf_addf(&p->sites, "frame\trun\t/me/run.py\t%d\t\t0\t0\n", line);
    add_points(&p->sites, of, error);
}

static void add_site(struct traced_process *p, const char *kind, const char *function, int line,
                     bytes_at *of, double error)
{
    add_objects(p, kind, function, line, of, error, 1);
}

static double all_grow;
static double together(double second)
{
    return all_grow * second / SECONDS;
}

/* `gained`: of all sites; `in_use`: of the allocators, measured without the tracer; NAN: not. */
static bool look(struct traced_process *p, double gained, double in_use, struct traced *ret)
{
    struct buf text = BUF_INIT;
    const char *list = strstr(buf_text(&p->sites), "site\t");
    all_grow = gained;
    buf_add(&text, buf_text(&p->sites), (size_t) (list - buf_text(&p->sites)));
    add_points(&text, together, ERROR);
    buf_adds(&text, list);
    struct sites *sites;
    int r = sites_parse(buf_text(&text), text.len, &sites);
    buf_release(&text);
    for (int i = p->measured_from; i <= SECONDS && !isnan(in_use); i++)
        evidence_add_heap_point(p->m, i, 100 * MB + in_use * i / SECONDS, 0, NAN);
    if (r == 0)
        evidence_take_sites(p->m, sites);
    return r == 0 && traced_of(p->m, NAN, MB * RATE, ret);
}

static const struct traced_line *line_of(const struct traced *t, const char *function)
{
    for (unsigned i = 0; i < t->count; i++)
        if (strcmp(t->lines[i].site->own->function, function) == 0)
            return &t->lines[i];
    return NULL;
}

/* ---- lines ---- */

TEST(traced__a_line_that_grows_explains_the_growth)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 1);
    const struct traced_line *l = line_of(&t, "leak");
    CHECK(l && !l->has_stopped);
    CHECK_NEAR(l->gain.bytes, 40 * MB, 1);
    CHECK_NEAR(l->gained.low, 36 * MB, 1000); /* two standard errors */
    CHECK_NEAR(l->gained.high, 44 * MB, 1000);
    CHECK_NEAR(traced_share(&t, l).low, 0.9, 0.001);
    CHECK_NEAR(traced_share(&t, l).high, 1, 0.001);
    end(&p);
}

TEST(traced__a_line_that_warmed_up_has_stopped)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    add_site(&p, "malloc", "warm_up", 7, warms_up, 0.01);
    CHECK(look(&p, 60 * MB, 60 * MB, &t) && t.count == 2);
    CHECK(t.lines[0].gain.bytes > t.lines[1].gain.bytes);
    CHECK(!line_of(&t, "leak")->has_stopped && line_of(&t, "warm_up")->has_stopped);
    end(&p);
}

TEST(traced__nothing_has_stopped_where_the_process_fills_what_was_requested)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "doubles", 7, warms_up, 0.01);
    CHECK(look(&p, 20 * MB, NAN, &t) && t.count == 1 && t.lines[0].has_stopped);
    traced_heed_growth(p.m, MB / 2, &t);
    CHECK(t.lines[0].has_stopped);
    traced_heed_growth(p.m, 4 * MB, &t);
    CHECK(!t.lines[0].has_stopped);
    end(&p);
}

TEST(traced__a_line_has_stopped_where_others_gain_what_the_process_does)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    add_site(&p, "malloc", "warm_up", 7, warms_up, 0.01);
    CHECK(look(&p, 60 * MB, 60 * MB, &t));
    traced_heed_growth(p.m, MB, &t);
    CHECK(line_of(&t, "warm_up")->has_stopped);
    end(&p);
}

TEST(traced__a_line_is_not_stopped_where_its_samples_cannot_tell)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "warm_up", 7, warms_up, 0.2);
    CHECK(look(&p, 20 * MB, 20 * MB, &t) && t.count == 1 && !t.lines[0].has_stopped);
    end(&p);
}

TEST(traced__a_gain_within_its_error_is_no_line)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "rare", 7, grows, 0.26);
    add_site(&p, "malloc", "freed", 7, is_freed, ERROR);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 0);
    end(&p);
    begin(&p);
    add_site(&p, "malloc", "frequent", 7, grows, 0.24);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 1);
    end(&p);
}

TEST(traced__memory_that_replaces_unseen_memory_may_be_no_growth)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "buffer", 7, stays, ERROR);
    CHECK(look(&p, 20 * MB, 0, &t) && t.count == 1);
    CHECK(t.lines[0].gained.low == 0 && t.lines[0].gained.high > 20 * MB);
    CHECK(traced_share(&t, &t.lines[0]).low == 0);
    end(&p);

    /* A leak of 40 MB beside it: of the 60 MB that they gained, 20 MB are no growth, of either. */
    begin(&p);
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    add_site(&p, "malloc", "buffer", 7, stays, ERROR);
    CHECK(look(&p, 60 * MB, 40 * MB, &t) && t.count == 2);
    const struct traced_line *leak = line_of(&t, "leak"), *buffer = line_of(&t, "buffer");
    CHECK(leak->gained.low > 20 * MB && leak->gained.low < 25 * MB);
    CHECK(buffer->gained.low < 5 * MB && buffer->has_stopped);
    CHECK(traced_share(&t, leak).low > LEDGER_PART && traced_share(&t, buffer).low < 0.08);
    end(&p);
}

TEST(traced__without_bytes_in_use_the_rate_of_the_process_counts)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "mapped", "leak", 7, grows, ERROR);
    CHECK(look(&p, 40 * MB, NAN, &t));
    CHECK_NEAR(t.grown, RATE * MB * SECONDS, 1);
    end(&p);
}

TEST(traced__bytes_in_use_may_be_measured_later_than_sites)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    p.measured_from = 20;
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 1);
    CHECK_NEAR(t.from, 20, 0);
    CHECK_NEAR(t.grown, 20 * MB, 1000);
    CHECK(traced_share(&t, &t.lines[0]).low > 0.7);
    end(&p);
}

TEST(traced__mapped_memory_is_not_among_the_bytes_in_use)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "mapped", "leak", 7, grows, ERROR);
    CHECK(look(&p, 40 * MB, 0, &t) && t.count == 1 && t.lines[0].gained.low > 35 * MB);
    CHECK_NEAR(p.m->evidence->sites->not_seen, 0, 1000);
    end(&p);

    /* The process grew by as much as malloc: what was mapped replaced something. */
    begin(&p);
    add_site(&p, "mapped", "buffer", 7, stays, ERROR);
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    CHECK(look(&p, 60 * MB, 40 * MB, &t) && line_of(&t, "buffer")->gained.low < 5 * MB);
    end(&p);
}

TEST(traced__large_python_objects_are_among_mallocs_bytes_in_use)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    buf_adds(&p.sites, "counts\t100\t0\t0\t0\t0\t0\t1\t1\n");
    add_objects(&p, "python", "large", 7, grows, ERROR, 40 * MB / 20000);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 1);
    CHECK_NEAR(t.grown, 40 * MB, 1000);
    CHECK_NEAR(p.m->evidence->sites->not_seen, 0, 1000);
    end(&p);

    begin(&p);
    buf_adds(&p.sites, "counts\t100\t0\t0\t0\t0\t0\t1\t1\n");
    add_objects(&p, "python", "small", 7, grows, ERROR, 40 * MB / 100);
    CHECK(look(&p, 40 * MB, 0, &t) && t.count == 1);
    CHECK_NEAR(t.grown, 40 * MB, 1000);
    end(&p);
}

TEST(traced__one_line_is_many_stacks_and_allocators)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    for (int line = 1; line <= 30; line++)
        add_site(&p, "malloc", "leak", line, grows_a_little, 0);
    add_site(&p, "python", "leak", 1, grows_a_little, 0);
    add_site(&p, "mapped", "leak", 1, grows_a_little, 0);
    add_site(&p, "malloc", "other", 1, grows_a_little, 0);
    CHECK(look(&p, 16 * MB, 16 * MB, &t) && t.count == 2);
    CHECK_NEAR(t.lines[0].gain.bytes, 32 * 0.4 * MB, 100);
    CHECK_NEAR(t.lines[1].gain.bytes, 0.4 * MB, 10);
    CHECK(traced_is_of_line(t.lines[0].site, &t.lines[0]));
    CHECK(!traced_is_of_line(t.lines[1].site, &t.lines[0]));
    end(&p);
}

TEST(traced__memory_of_a_device_is_no_part_of_host_memory)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "host", 7, grows, ERROR);
    add_site(&p, "device", "forward", 7, grows, 0);
    add_site(&p, "pinned", "loader", 7, grows, 0);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 1);
    CHECK(line_of(&t, "host") && !line_of(&t, "forward") && !line_of(&t, "loader"));
    CHECK_NEAR(t.gain.bytes, 40 * MB, 1000);
    CHECK(traced_share(&t, &t.lines[0]).low > 0.8); /* nothing replaced what was not seen */
    end(&p);
}

TEST(traced__the_largest_lines_are_kept)
{
    struct traced_process p;
    struct traced t;
    char name[16];
    begin(&p);
    for (unsigned i = 0; i < 2 * TRACED_LINES; i++) {
        snprintf(name, sizeof(name), "small%u", i);
        add_site(&p, "malloc", name, 7, grows_a_little, 0);
    }
    add_site(&p, "malloc", "leak", 7, grows, ERROR);
    CHECK(look(&p, 60 * MB, 60 * MB, &t) && t.count == TRACED_LINES);
    CHECK(t.lines[0].site == line_of(&t, "leak")->site);
    end(&p);
}

TEST(traced__what_came_before_the_growth_began_is_no_part_of_it)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_site(&p, "malloc", "warm_up", 7, warms_up, ERROR);
    add_site(&p, "malloc", "leak", 8, grows, ERROR);
    CHECK(look(&p, 60 * MB, 60 * MB, &t) && t.count == 2);
    CHECK(traced_of(p.m, SECONDS / 2.0, MB, &t) && t.count == 1);
    CHECK(t.from == SECONDS / 2.0 && line_of(&t, "leak"));
    CHECK(!traced_of(p.m, SECONDS, MB, &t));
    end(&p);
}

TEST(traced__nothing_was_traced)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    CHECK(!traced_of(p.m, NAN, MB, &t) && t.count == 0 && isnan(t.from));
    CHECK(evidence_restore_sites(p.m, SITES_FIRST_LINE "\nsampling\t5\t5\t65536\t0\t\n") == 0);
    CHECK(!traced_of(p.m, NAN, MB, &t));
    CHECK(evidence_restore_sites(p.m, SITES_FIRST_LINE "\n") == 0);
    CHECK(!traced_of(p.m, NAN, MB, &t));
    end(&p);
}

/* ---- a verdict of a line's own ---- */

static enum verdict verdict_of(bytes_at *of, bool has_steps)
{
    struct traced_process p;
    struct traced t;
    struct answer a = {0};
    begin(&p);
    p.job.terms.horizon = has_steps ? 100 : 10;
    add_site(&p, "malloc", "line", 7, of, 0);
    for (int i = 1; has_steps && i <= 10 * SECONDS; i++)
        clock_mark(&p.job.clock, 0.1 * i, i);
    if (look(&p, 40 * MB, 40 * MB, &t) && t.count == 1)
        traced_judge(&p.job, p.m, &t.lines[0], &a);
    end(&p);
    return a.verdict;
}

TEST(traced__a_line_has_a_verdict_of_its_own)
{
    CHECK(verdict_of(grows, false) == VERDICT_LEAK);
    CHECK(verdict_of(grows, true) == VERDICT_LEAK);
    CHECK(verdict_of(stays, false) == VERDICT_NO_LEAK);
    CHECK(verdict_of(warms_up, true) != VERDICT_LEAK);
    CHECK(verdict_of(grows_a_little, true) != VERDICT_LEAK); /* 7 samples */
}

/* ---- memory of devices ---- */

static void add_device_site(struct traced_process *p, const char *memory, const char *function,
                            bytes_at *of)
{
    buf_addf(&p->sites, "site\t%s\t100\t100\t0\t1\nframe\t%s\t/me/train.py\t41\t\t0\t0\n", memory,
             function);
    add_points(&p->sites, of, 0);
}

static void add_memories(struct traced_process *p)
{
    buf_adds(&p->sites, "memory\tdevice\tcuda:0\t0\t40\t41943040\t0\n"
                        "memory\tdevice\tcuda:1\t0\t40\t83886080\t0\n"
                        "memory\tpinned\t\t0\t40\t41943040\t0\n");
}

TEST(traced__a_line_of_a_device_explains_its_growth_alone)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    add_memories(&p);
    add_site(&p, "malloc", "host", 7, grows, ERROR);
    add_device_site(&p, "device\tcuda:0", "first", grows);
    add_device_site(&p, "device\tcuda:1", "second", grows);
    add_device_site(&p, "pinned\t", "pins", grows);
    CHECK(look(&p, 40 * MB, 40 * MB, &t) && t.count == 1 && line_of(&t, "host"));
    CHECK(!t.memory);

    CHECK(traced_of_memory(p.m, SITE_DEVICE, "cuda:0", &t) && t.count == 1);
    const struct traced_line *l = line_of(&t, "first");
    CHECK(l && l->gained.low == 40 * MB && l->gained.high == 40 * MB); /* exact */
    CHECK(traced_share(&t, l).low == 1 && t.memory && t.grown == 40 * MB);

    CHECK(traced_of_memory(p.m, SITE_DEVICE, "cuda:1", &t) && t.count == 1);
    CHECK(line_of(&t, "second") && traced_share(&t, &t.lines[0]).high == 0.5);
    CHECK(traced_of_memory(p.m, SITE_PINNED, "", &t) && t.count == 1 && line_of(&t, "pins"));
    CHECK(!traced_of_memory(p.m, SITE_DEVICE, "cuda:2", &t) && t.count == 0);
    end(&p);
}

/* As much as was allocated before the recording began was freed meanwhile: which line's memory only
 * took its place is not known. */
TEST(traced__a_device_that_stays_as_it_is_has_no_line)
{
    struct traced_process p;
    struct traced t;
    begin(&p);
    buf_adds(&p.sites, "memory\tdevice\tcuda:0\t0\t40\t0\t0\n");
    add_device_site(&p, "device\tcuda:0", "replaces", grows);
    CHECK(look(&p, 40 * MB, 40 * MB, &t));
    CHECK(traced_of_memory(p.m, SITE_DEVICE, "cuda:0", &t));
    CHECK(t.count == 1 && traced_share(&t, &t.lines[0]).low == 0);
    end(&p);
}
