/* tests/unit/test_summary.c: the answer in three lines, and the line that repeats it. */
#include "words/summary.h"

#include "answers.h"
#include "unit.h"

static const struct report_style plain = {.width = 80, .ascii = true};
static const struct report_style narrow = {.width = 40, .ascii = true};

/* One series, and the holder found for its growth. */
struct made_job {
    struct made_series series;
    struct finding finding;
    struct findings found;
    struct job_answer answer;
    struct report_job job;
};

static void make_job(struct made_job *m, void (*make)(struct made_series *m))
{
    *m = (struct made_job){.finding = {.line = NAN}};
    make(&m->series);
    m->answer = (struct job_answer){.verdict = m->series.answer.verdict,
                                    .severity = m->series.answer.severity};
    m->job = (struct report_job){
        .series = &m->series.s, .count = 1, .answer = &m->answer, .watched = true};
}

static void hold(struct made_job *m)
{
    m->finding = (struct finding){.name = "Lit.train_losses",
                                  .holder = "list 'self.train_losses'",
                                  .gain = "+1.00 tensors a step (float32 [] cpu)",
                                  .file = "/home/somebody/work/projects/mnist/train.py",
                                  .line = 31,
                                  .cause = "retained-loss",
                                  .fix = "keep loss.item() instead",
                                  .advice = "keep loss.item() instead: it keeps its graph"};
    m->found = (struct findings){.findings = &m->finding, .count = 1};
    m->job.found = &m->found;
}

static char text[500];

static const char *taken(struct buf *b)
{
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

static const char *verdict_of(const struct made_job *m)
{
    struct buf b = BUF_INIT;
    summary_verdict(&b, &m->job, &plain);
    return taken(&b);
}

static const char *why_of(const struct made_job *m)
{
    struct buf b = BUF_INIT;
    summary_why(&b, &m->job, &plain);
    return taken(&b);
}

static const char *next_of(const struct made_job *m)
{
    struct buf b = BUF_INIT;
    summary_next(&b, &m->job, &plain);
    return taken(&b);
}

static const char *end_of(const struct made_job *m, const struct report_style *style)
{
    struct buf b = BUF_INIT;
    summary_end(&b, &m->job, style);
    return taken(&b);
}

static const char *severity_words(const struct made_job *m)
{
    struct buf b = BUF_INIT;
    summary_severity(&b, &m->series.s);
    return taken(&b);
}

/* ---- a leak ---- */

TEST(summary__a_leak_is_verdict_why_fix)
{
    struct made_job m;
    make_job(&m, make_leak);
    hold(&m);
    CHECK_TEXT(verdict_of(&m), "LEAK (low): vram grows 512 B/step");
    CHECK_TEXT(why_of(&m),
               "+990 KB in 1,980 steps (2.5 epochs); `Lit.train_losses` +1.00 tensors a step");
    CHECK_TEXT(next_of(&m), "`Lit.train_losses`, train.py:31: keep loss.item() instead");
    CHECK_TEXT(summary_next_label(&m.job), "fix");
    made_series_release(&m.series);
}

TEST(summary__a_near_limit_is_in_the_verdict)
{
    struct made_job m;
    make_job(&m, make_leak);
    m.series.answer.severity = m.answer.severity = SEVERITY_HIGH;
    m.series.answer.limit = 8 * GB;
    m.series.answer.forecast.limit_at = 4000;
    m.series.answer.forecast.limit_seconds = 82;
    CHECK_TEXT(verdict_of(&m), "LEAK (high): vram grows 512 B/step; limit in 82 s");
    m.series.answer.forecast.limit_seconds = NAN;
    CHECK_TEXT(verdict_of(&m), "LEAK (high): vram grows 512 B/step; limit in 2,000 steps");
    m.series.answer.limit = 20 * MB;
    CHECK_TEXT(verdict_of(&m), "LEAK (high): vram grows 512 B/step; limit of 20.0 MB reached");
    made_series_release(&m.series);
}

TEST(summary__counts_are_plural)
{
    struct made_job m;
    make_job(&m, make_leak);
    m.series.info.name = "trainer 7 fds";
    m.series.info.unit = SERIES_COUNT;
    m.series.answer.rate = 1;
    m.series.info.kind = "fds";
    m.series.answer.phase_count = 0;
    CHECK_TEXT(verdict_of(&m), "LEAK (low): trainer 7 fds grow 1/step");
    CHECK_TEXT(why_of(&m), "+1,980 fds in 1,980 steps (2.5 epochs)");
    m.series.answer.pattern = PATTERN_STAIRCASE;
    CHECK_TEXT(verdict_of(&m), "LEAK (low): trainer 7 fds climb in steps, on average 1/step");
    m.series.answer.pattern = PATTERN_ACCELERATING;
    CHECK_TEXT(verdict_of(&m), "LEAK (low): trainer 7 fds grow ever faster, now 1/step");
    m.series.answer.pattern = PATTERN_SAWTOOTH;
    CHECK_TEXT(verdict_of(&m),
               "LEAK (low): trainer 7 fds go up and down, and their floor grows 1/step");
    made_series_release(&m.series);
}

TEST(summary__growth_that_nothing_in_python_holds_is_native)
{
    struct made_job m;
    make_job(&m, make_leak);
    hold(&m);
    m.finding.name = m.finding.holder = m.finding.gain = NULL;
    m.finding.cause = "native";
    CHECK_TEXT(why_of(&m), "+990 KB in 1,980 steps (2.5 epochs); no Python object holds it, so "
                           "native code does");
    m.finding.cause = "cuda-fragmentation";
    CHECK_TEXT(why_of(&m), "+990 KB in 1,980 steps (2.5 epochs); cause: cuda-fragmentation");
    m.finding.holder = "a reference cycle";
    m.finding.gain = "+1.00 objects a step";
    CHECK_TEXT(why_of(&m), "+990 KB in 1,980 steps (2.5 epochs); a reference cycle holds it");
    made_series_release(&m.series);
}

TEST(summary__without_a_holder_it_says_what_to_look_for)
{
    struct made_job m;
    make_job(&m, make_leak);
    CHECK_TEXT(next_of(&m), "look for tensors that every step keeps on the GPU: losses without "
                            ".item(), outputs without .detach().cpu()");
    m.series.info.kind = "my.counter";
    CHECK_TEXT(next_of(&m), "look for objects that every step keeps");
    made_series_release(&m.series);
}

/* Folders are dropped before the line would have to be wrapped. */
TEST(summary__the_last_line_repeats_verdict_and_place)
{
    struct made_job m;
    const struct report_style wide = {.width = 100, .ascii = true};
    make_job(&m, make_leak);
    CHECK_TEXT(end_of(&m, &plain), "LEAK (low): vram, 512 B/step");
    hold(&m);
    CHECK_TEXT(end_of(&m, &wide), "LEAK (low): `Lit.train_losses`, "
                                  "/home/somebody/work/projects/mnist/train.py:31, 512 B/step");
    CHECK_TEXT(end_of(&m, &plain), "LEAK (low): `Lit.train_losses`, train.py:31, 512 B/step");
    CHECK_TEXT(end_of(&m, &narrow), "LEAK (low): `Lit.train_losses`, train.py:31");
    made_series_release(&m.series);
}

TEST(summary__severity_is_explained)
{
    struct made_job m;
    make_job(&m, make_leak);
    CHECK_TEXT(
        severity_words(&m),
        "low: ten times this run would add 9.67 MB; 26.0 MB are in use and no limit is known");
    m.series.answer.limit = 8 * GB;
    m.series.answer.forecast.limit_at = 100000;
    CHECK_TEXT(severity_words(&m),
               "low: ten times this run would add 9.67 MB; 7.97 GB are left, enough "
               "for 98,000 steps");
    m.series.answer.limit = 20 * MB;
    CHECK_TEXT(severity_words(&m), "low: ten times this run would add 9.67 MB; no memory is left");
    made_series_release(&m.series);
}

/* ---- no leak, and open ---- */

TEST(summary__a_healthy_job_has_nothing_to_fix)
{
    struct made_job m;
    make_job(&m, make_run_2);
    CHECK_TEXT(verdict_of(&m), "NO LEAK: Run 2: warm-up until step 80, then flat at 17.0 GB");
    CHECK_TEXT(why_of(&m), "growth is at most 1.20 KB/step over 80 steps");
    CHECK_TEXT(next_of(&m), "nothing to fix");
    CHECK_TEXT(summary_next_label(&m.job), "next");
    CHECK_TEXT(end_of(&m, &plain), "NO LEAK: Run 2, flat at 17.0 GB");
    m.series.answer.rate_upper = NAN;
    CHECK_TEXT(why_of(&m), "no growth over 80 steps");
    made_series_release(&m.series);
}

TEST(summary__growth_that_is_excused_says_why)
{
    struct made_job m;
    make_job(&m, make_run_2);
    m.series.answer.rate_upper = NAN;
    m.series.answer.pattern = PATTERN_BOUNDED_CACHE;
    m.series.answer.warm_up_end = NAN;
    m.series.answer.phases[1].name = PHASE_GROWING;
    m.series.answer.phases[1].rate = 64 * KB;
    strcpy(m.series.answer.why[0],
           "A bounded container is filling; the growth ends when it is full.");
    m.series.answer.why_count = 1;
    CHECK_TEXT(verdict_of(&m),
               "NO LEAK: Run 2: a bounded cache fills, growing 64.0 KB/step at 17.0 GB");
    CHECK_TEXT(why_of(&m), "a bounded container is filling; the growth ends when it is full");
    CHECK_TEXT(end_of(&m, &plain), "NO LEAK: Run 2, now at 17.0 GB");
    made_series_release(&m.series);
}

TEST(summary__what_is_open_says_what_is_missing)
{
    struct made_job m;
    make_job(&m, make_run_1);
    CHECK_TEXT(verdict_of(&m), "INCONCLUSIVE: Run 1: still growing 170 MB/step after 60 steps");
    CHECK_TEXT(why_of(&m), "a cache that fills may look like this");
    CHECK_TEXT(next_of(&m), "about 150 more steps would settle it");
    CHECK_TEXT(end_of(&m, &plain), "INCONCLUSIVE: Run 1, needs about 150 more steps");
    hold(&m);
    CHECK_TEXT(next_of(&m), "about 150 more steps would settle it; growing so far: "
                            "`Lit.train_losses`, train.py:31");
    m.job.found = NULL;
    m.series.answer.needs.at_least = NAN;
    m.series.answer.needs.why[0] = 0;
    CHECK_TEXT(why_of(&m), "7 samples over 60 steps");
    CHECK_TEXT(next_of(&m), "let it run longer");
    CHECK_TEXT(end_of(&m, &plain), "INCONCLUSIVE: Run 1");
    made_series_release(&m.series);
}

/* ---- what was hidden ---- */

static const char *others_of(const struct report_job *job)
{
    struct buf b = BUF_INIT;
    summary_others(&b, job);
    return taken(&b);
}

TEST(summary__counts_what_was_hidden)
{
    struct made_series leak, open, grows, fine;
    make_leak(&leak);
    make_run_1(&open);
    make_run_1(&grows);
    make_run_2(&fine);
    open.answer.suspect = false;
    struct report_series series[] = {leak.s, leak.s, fine.s, fine.s, open.s, grows.s};
    struct job_answer answer = {
        .verdict = VERDICT_LEAK, .leaks = 2, .no_leaks = 2, .inconclusives = 2};
    struct report_job job = {.series = series, .count = 6, .answer = &answer};
    CHECK_TEXT(others_of(&job),
               "5 more series: 1 leaking, 2 fine, 1 growing, but too short to tell, "
               "1 too short to tell");
    series[0] = fine.s;
    job.count = 1;
    CHECK_TEXT(others_of(&job), "");
    answer = (struct job_answer){.verdict = VERDICT_NO_LEAK, .no_leaks = 2};
    series[1] = fine.s;
    job.count = 2;
    CHECK_TEXT(others_of(&job), "1 more series, fine");
    answer.no_leaks = 3;
    job.count = 3;
    CHECK_TEXT(others_of(&job), "2 more series, all fine");
    made_series_release(&leak);
    made_series_release(&open);
    made_series_release(&grows);
    made_series_release(&fine);
}

TEST(summary__what_the_sheet_leaves_open_has_a_word)
{
    struct buf b = BUF_INIT;
    summary_unexplained(&b);
    CHECK_TEXT(taken(&b), "unexplained can be: other processes, the kernel, and file pages, which "
                          "the system counts as free");
}

TEST(summary__of_a_command_that_ended_at_once_one_sentence)
{
    struct buf b = BUF_INIT;
    summary_short(&b, 0.0063, &plain);
    CHECK_TEXT(taken(&b),
               "INCONCLUSIVE: the command ran for 6.3 ms, too short to judge its memory");
}

/* ---- two jobs ---- */

TEST(summary__of_two_jobs_the_one_that_leaks_is_to_be_fixed)
{
    struct made_job leak, fine, open;
    struct buf b = BUF_INIT;
    make_job(&leak, make_leak);
    make_job(&fine, make_run_2);
    make_job(&open, make_run_1);
    hold(&leak);
    summary_pair_why(&b, &leak.job, &fine.job);
    CHECK_TEXT(taken(&b), "A: torch.allocated grows 512 B/step; B: Run 2, warm-up until step 80, "
                          "then flat at 17.0 GB");
    summary_pair_next(&b, &leak.job, &fine.job, &plain);
    CHECK_TEXT(taken(&b), "in A, `Lit.train_losses`, train.py:31: keep loss.item() instead");
    summary_pair_end(&b, &leak.job, &fine.job, &plain);
    CHECK_TEXT(taken(&b), "A: LEAK (low); B: NO LEAK: `Lit.train_losses`, train.py:31");
    summary_pair_next(&b, &fine.job, &open.job, &plain);
    CHECK_TEXT(taken(&b), "about 150 more steps would settle it");
    summary_pair_end(&b, &fine.job, &fine.job, &plain);
    CHECK_TEXT(taken(&b), "A: NO LEAK; B: NO LEAK");
    made_series_release(&leak.series);
    made_series_release(&fine.series);
    made_series_release(&open.series);
}
