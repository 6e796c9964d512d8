/* tests/unit/test_keep.c: a view kept as text and restored. */
#include "report/report.h"

#include "answers.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

/* ---- views ---- */

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        abort();
    return result;
}

/* The view takes ownership of its parts. */
static void add_series(struct view *v, const struct made_series *m, enum job_part part)
{
    v->series = realloc(v->series, (v->count + 1) * sizeof *v->series);
    if (!v->series)
        abort();
    struct view_series *s = &v->series[v->count];
    *s = (struct view_series){.id = v->count++, .answer = m->answer, .part = part};
    s->info = m->info;
    s->info.name = copy(m->info.name);
    s->info.kind = copy(m->info.kind);
    s->info.device = copy(m->info.device);
    s->info.role = copy("trainer");
    s->info.rank = copy("0");
    s->info.command = copy("python train.py");
    s->history = m->history;
}

static void add_row(struct view *v, const char *label, double bytes)
{
    v->rows = realloc(v->rows, (v->row_count + 1) * sizeof *v->rows);
    if (!v->rows)
        abort();
    v->rows[v->row_count++] = (struct view_row){.label = copy(label),
                                                .processes = 4,
                                                .pss_first = bytes / 2,
                                                .pss = bytes,
                                                .anon = bytes / 3,
                                                .file = NAN,
                                                .rss = 2 * bytes,
                                                .grows = true};
}

static void add_phase(struct view *v, const char *name, uint64_t times,
                      struct view_activity_series s)
{
    v->phases = realloc(v->phases, (v->phase_count + 1) * sizeof *v->phases);
    struct view_activity_series *series = malloc(sizeof *series);
    if (!v->phases || !series)
        abort();
    *series = s;
    v->phases[v->phase_count++] = (struct view_activity){.name = copy(name),
                                                         .times = times,
                                                         .ended = times,
                                                         .seconds = 3.1 * (double) times,
                                                         .series = series,
                                                         .count = 1};
}

/* A job of two series, one of which leaks. */
static struct view make_view(void)
{
    struct view v = {
        .command = copy("python train.py --name 'a \"b\" \\ c'"),
        .started = 1763193600.125,
        .seconds = 1.0 / 3,
        .steps = 1980,
        .steps_from = copy("framework"),
        .step = 1981,
        .epochs = 2,
        .processes = 1,
        .most_processes = 5,
        .processes_seen = 17,
        .limit = 32 * GB,
        .limit_source = copy("cgroup"),
        .system_first = GB,
        .system_last = 3 * GB,
        .system_total = 64 * GB,
        .shm_first = NAN,
        .shm_last = NAN,
        .watcher_cpu_seconds = 0.07,
        .watcher_bytes = 4 * MB,
        .stall_seconds = 0.004,
        .ended = true,
        .status = 256,
        .ending = copy("ended with status 1"),
        .answer = {VERDICT_LEAK, SEVERITY_LOW, 0, 1, 0, 1},
    };
    struct made_series leak, run;
    make_leak(&leak);
    make_run_2(&run);
    add_series(&v, &leak, PART_MAIN);
    add_series(&v, &run, PART_BYSTANDER);
    add_row(&v, "trainer 4242", 2 * GB);
    add_row(&v, "4 data workers", GB);
    v.total = v.rows[0];
    v.total.label = NULL;
    v.notes[v.note_count++] = copy("no GPU series: no NVIDIA driver");
    add_phase(&v, "evaluate", 12, (struct view_activity_series){0, GB, 0, 12, 12});
    add_phase(&v, "save", 4, (struct view_activity_series){1, 80 * MB, 7 * MB, 3, 1});
    struct answer *a = &v.series[0].answer;
    a->spikes.count = 12;
    a->spikes.height = GB;
    strcpy(a->spikes.during[0].name, "evaluate");
    a->spikes.during[0].count = 11;
    a->spikes.during_count = 1;
    v.patterns[v.pattern_count++] = (struct view_pattern){
        PATTERN_BOUNDED_CACHE, copy("bounded-cache: trainer 7 host.anon, from 1 MB to 2 MB")};
    return v;
}

/* ---- the same before and after ---- */

static void render(const struct view *v, struct buf *out)
{
    static const struct report_style styles[] = {{.width = 80},
                                                 {.width = 80, .full = true},
                                                 {.width = 100, .color = true, .full = true},
                                                 {.width = 60, .ascii = true, .full = true}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        report_run_text(out, v, "job.tide", &styles[i]);
        report_run_headline(out, v, &styles[i]);
    }
    report_run_json(out, v);
}

/* Whether every report of the restored view is the same; releases the view. */
static bool survives(struct view *v)
{
    struct buf before = BUF_INIT, after = BUF_INIT, kept = BUF_INIT, again = BUF_INIT;
    struct view recalled;
    render(v, &before);
    report_keep(&kept, v);
    bool same = report_recall(buf_text(&kept), kept.len, &recalled) == 0;
    if (same) {
        render(&recalled, &after);
        report_keep(&again, &recalled);
        same = strcmp(buf_text(&before), buf_text(&after)) == 0 &&
               strcmp(buf_text(&kept), buf_text(&again)) == 0;
        view_release(&recalled);
    }
    view_release(v);
    buf_release(&before);
    buf_release(&after);
    buf_release(&kept);
    buf_release(&again);
    return same;
}

TEST(keep__gives_the_same_reports_again)
{
    struct view v = make_view();
    CHECK(survives(&v));
}

TEST(keep__knows_a_job_without_series)
{
    struct view v = {.limit = NAN, .seconds = 1, .answer = {.deciding = SIZE_MAX}};
    CHECK(survives(&v));
    struct buf kept = BUF_INIT;
    struct view recalled;
    v.answer.deciding = SIZE_MAX;
    report_keep(&kept, &v);
    CHECK(report_recall(buf_text(&kept), kept.len, &recalled) == 0);
    CHECK(recalled.answer.deciding == SIZE_MAX && recalled.count == 0);
    view_release(&recalled);
    buf_release(&kept);
}

TEST(keep__knows_what_is_not_finite)
{
    struct view v = make_view();
    v.seconds = v.steps = v.system_last = NAN;
    v.stall_seconds = INFINITY;
    v.rows[0].pss = -INFINITY;
    struct answer *a = &v.series[0].answer;
    a->rate_low = -INFINITY;
    a->rate_high = a->forecast.limit_at = INFINITY;
    a->phases[0].rate_high = INFINITY;
    struct buf kept = BUF_INIT;
    struct view recalled;
    report_keep(&kept, &v);
    CHECK(report_recall(buf_text(&kept), kept.len, &recalled) == 0);
    CHECK(isnan(recalled.seconds) && isinf(recalled.stall_seconds));
    CHECK(recalled.rows[0].pss == -INFINITY);
    CHECK(recalled.series[0].answer.rate_low == -INFINITY);
    CHECK(recalled.series[0].answer.forecast.limit_at == INFINITY);
    CHECK(recalled.series[0].answer.phases[0].rate_high == INFINITY);
    view_release(&recalled);
    buf_release(&kept);
    CHECK(survives(&v));
}

TEST(keep__knows_who_was_entered_and_who_was_not)
{
    struct view v = make_view();
    struct attached_process *list = calloc(2, sizeof(*list));
    CHECK(list != NULL);
    list[0] = (struct attached_process){.pid = 42,
                                        .process = strdup("trainer 42"),
                                        .command = strdup("python train.py"),
                                        .python = strdup("3.11.2"),
                                        .stops = 2,
                                        .stopped_seconds = 0.0004,
                                        .longest_stop_seconds = 0.0003,
                                        .attached_seconds = 31.5,
                                        .counted = true,
                                        .left = true};
    list[1] = (struct attached_process){.pid = 43,
                                        .process = strdup("rank 1"),
                                        .command = strdup(""),
                                        .why = strdup("There is no Python in it."),
                                        .stopped_seconds = NAN,
                                        .longest_stop_seconds = NAN,
                                        .attached_seconds = NAN,
                                        .ended = true};
    v.found.entered = list;
    v.found.entered_count = 2;
    CHECK(survives(&v));
}

TEST(keep__knows_many_series)
{
    struct view v = make_view();
    for (unsigned i = 0; i < 500; i++) {
        struct made_series m;
        char name[40];
        make_run_2(&m);
        snprintf(name, sizeof name, "data worker %u host.anon", i);
        m.info.name = name;
        m.info.pid = 4194304 + i;
        add_series(&v, &m, PART_BYSTANDER);
    }
    v.answer.deciding = 501;
    CHECK(survives(&v));
}

TEST(keep__knows_long_and_odd_texts)
{
    struct view v = make_view();
    char *text = calloc(1, 100001);
    CHECK(text);
    for (unsigned i = 0; i < 100000; i++)
        text[i] = (char) (i % 255 + 1);
    free(v.command);
    v.command = text;
    free(v.notes[0]);
    v.notes[0] = copy("\xff\xfe and \x1b[31m and \xc3\xa4");
    for (unsigned i = 0; i < ANSWER_WHY; i++) {
        memset(v.series[0].answer.why[i], 'w', ANSWER_WHY_LENGTH - 1);
        v.series[0].answer.why[i][ANSWER_WHY_LENGTH - 1] = '\0';
    }
    v.series[0].answer.why_count = ANSWER_WHY;
    memset(v.series[1].answer.needs.why, 'n', ANSWER_WHY_LENGTH - 1);
    v.series[1].answer.needs.why[ANSWER_WHY_LENGTH - 1] = '\0';
    while (v.note_count < VIEW_NOTES)
        v.notes[v.note_count++] = copy("another");
    CHECK(survives(&v));
}

/* ---- warnings ---- */

/* Whether a report has a line that begins like this. */
static bool notes(const struct view *v, const struct report_style *style, const char *what)
{
    struct buf text = BUF_INIT;
    report_run_text(&text, v, NULL, style);
    bool found = strstr(buf_text(&text), what) != NULL;
    buf_release(&text);
    return found;
}

/* The first note is the warning, even if the run was too short for more than two lines. */
TEST(keep__a_warning_is_in_the_short_report_too)
{
    static const struct report_style brief = {.width = 80}, full = {.width = 80, .full = true};
    static const char note[] = "note      no GPU series", answer[] = "\nnote: no GPU series";
    struct view v = make_view();
    CHECK(!notes(&v, &brief, note) && notes(&v, &full, note));
    v.warning_count = 1;
    CHECK(notes(&v, &brief, note) && notes(&v, &full, note));
    v.ended = true;
    v.seconds = 1;
    v.answer.verdict = VERDICT_INCONCLUSIVE;
    CHECK(notes(&v, &brief, answer));
    v.warning_count = 0;
    CHECK(!notes(&v, &brief, "no GPU series"));
    v.warning_count = 1;
    CHECK(survives(&v));
}

/* ---- phases ---- */

/* Whether the report says this, wherever its lines break. */
static bool says(const struct view *v, const char *what)
{
    struct buf text = BUF_INIT, line = BUF_INIT;
    report_run_text(&text, v, NULL, &(struct report_style){.width = 100, .full = true});
    for (const char *c = buf_text(&text); *c; c++)
        if (*c != '\n' && (*c != ' ' || c[1] != ' '))
            buf_addc(&line, *c);
    bool found = strstr(buf_text(&line), what) != NULL;
    buf_release(&text);
    buf_release(&line);
    return found;
}

TEST(keep__phases_are_told_as_they_were_measured)
{
    struct view v = make_view();
    struct view_activity *p = &v.phases[0];
    CHECK(says(&v, " phases evaluate 12 times, 3.1 s each; up to 1.00 GB above the floor "
                   "(torch.allocated cuda:0), given back each time save 4 times, 3.1 s each"));
    p->series[0].looked_at = p->series[0].given_back = 11;
    CHECK(says(&v, "given back each of the 11 times that could be looked at"));
    p->series[0] = (struct view_activity_series){0, GB, 10 * MB, 12, 9};
    CHECK(says(&v, "not all given back 3 of 12 times: on average 10.0 MB stayed"));
    p->times = 1;
    p->ended = 0;
    p->series[0] = (struct view_activity_series){0, GB, 10 * MB, 1, 0};
    CHECK(says(&v, "evaluate once, not ended; up to 1.00 GB above the floor (torch.allocated "
                   "cuda:0), not all given back: 10.0 MB stayed"));
    p->series[0].height = 1000; /* too small to mention */
    CHECK(says(&v, " phases evaluate once, not ended save 4 times"));
    view_release(&v);
}

TEST(keep__phases_for_programs)
{
    struct view v = make_view();
    struct buf text = BUF_INIT;
    report_run_json(&text, &v);
    static const char *const parts[] = {
        "\"during\": [\n",  "\"count\": 11",     "\"name\": \"evaluate\",\n", "\"times\": 12",
        "\"ended\": 12",    "\"seconds\": 37.2", "\"above_floor\": 83886080", "\"kept\": 7340032",
        "\"looked_at\": 3", "\"given_back\": 1",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CHECK(strstr(buf_text(&text), parts[i]));
    buf_release(&text);
    view_release(&v);
}

/* ---- text that is not a kept view ---- */

/* Whether it is refused and leaves nothing allocated. */
static bool is_refused(const char *text, size_t len)
{
    struct view v;
    int r = report_recall(text, len, &v);
    bool empty = r == 0 || (!v.series && !v.rows && !v.command && v.count == 0);
    view_release(&v);
    return r == -EINVAL && empty;
}

/* The same for a view with these members. */
static bool is_refused_within(const char *members)
{
    char text[400];
    int len = snprintf(text, sizeof text, "{\"version\": 2, \"view\": {%s}}", members);
    return is_refused(text, (size_t) len);
}

TEST(keep__refuses_a_text_that_is_cut)
{
    struct view v = make_view();
    struct buf kept = BUF_INIT;
    report_keep(&kept, &v);
    for (size_t len = 0; len < kept.len; len++) {
        char *exact = malloc(len + 1);
        CHECK(exact);
        memcpy(exact, buf_text(&kept), len);
        bool refused = is_refused(exact, len);
        free(exact);
        CHECK(refused);
    }
    buf_release(&kept);
    view_release(&v);
}

TEST(keep__survives_any_changed_byte)
{
    struct view v = make_view();
    struct buf kept = BUF_INIT, out = BUF_INIT;
    report_keep(&kept, &v);
    for (size_t i = 0; i < kept.len; i++) {
        char before = kept.text[i];
        struct view changed;
        kept.text[i] = "\"[]{},0-ex"[i % 10];
        if (report_recall(buf_text(&kept), kept.len, &changed) == 0)
            render(&changed, &out);
        view_release(&changed);
        kept.text[i] = before;
        buf_clear(&out);
    }
    buf_release(&kept);
    buf_release(&out);
    view_release(&v);
}

TEST(keep__refuses_what_no_view_has)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}x",
        "{}",
        "{\"version\": 2}",
        "{\"version\": 2, \"view\": []}",
        "{\"version\": 2, \"view\": {}",
        "{\"version\": 2, \"view\": {}} x",
        "{\"version\": 1, \"view\": {}}",
        "{\"job\": [0,0,0,0,0,0,0,0,0,0,0]}", /* from an earlier version */
    };
    static const char *const members[] = {
        "\"command\": 5",
        "\"answer\": {\"verdict\": 1}",
        "\"answer\": {\"verdict\": \"perhaps\"}",
        "\"answer\": {\"leaks\": -1}",
        "\"answer\": {\"leaks\": 1e10}",
        "\"series\": [{}]",
        "\"series\": [{\"info\": {\"name\": \"a\"}}]",
        "\"series\": [{\"info\": {\"name\": \"a\", \"kind\": \"b\", \"unit\": \"litre\"}}]",
        "\"series\": [{\"info\": {\"name\": \"a\", \"kind\": \"b\"},"
        " \"history\": {\"blocks\": [[1,null,2,3,4,5,6,0]]}}]",
        "\"series\": [{\"info\": {\"name\": \"a\", \"kind\": \"b\"},"
        " \"answer\": {\"phases\": [{\"name\": \"soon\"}]}}]",
        "\"rows\": [{\"grows\": true}]",
        "\"rows\": [{\"label\": \"x\", \"grows\": 1}]",
        "\"total\": {\"label\": \"x\"}, \"rows\": 1",
        "\"notes\": [1]",
        "\"notes\": [\"a\"], \"warning_count\": 2",
        "\"limit\": 5",
        "\"seconds\": \"five\"",
        "\"found\": {\"entered\": [{\"process\": \"neither entered nor refused\"}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(is_refused(texts[i], strlen(texts[i])));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        CHECK(is_refused_within(members[i]));
}

TEST(keep__passes_over_what_a_later_version_adds)
{
    static const char text[] = "{\"version\": 2, \"view\": {\"new\": {\"a\": [1]}, \"total\": "
                               "{\"more\": 1, \"pid\": 7}, \"series\": [{\"info\": {\"name\": "
                               "\"a\", \"kind\": \"b\"}, \"history\": {\"blocks\": "
                               "[[1,2,3,4,5,6,7,0,\"more\",9]]}}]}}";
    struct view v;
    CHECK(report_recall(text, strlen(text), &v) == 0);
    CHECK(v.total.pid == 7 && v.count == 1 && v.series[0].history.count == 1);
    view_release(&v);
}

/* What an earlier version did not write is unknown. */
TEST(keep__knows_not_what_an_earlier_version_left_out)
{
    static const char text[] = "{\"version\": 2, \"view\": {\"rows\": [{\"label\": \"a\"}]}}";
    struct view v;
    CHECK(report_recall(text, strlen(text), &v) == 0);
    CHECK(isnan(v.seconds) && isnan(v.rows[0].pss) && isnan(v.total.anon));
    view_release(&v);
}

/* A phase of a missing series, or with more good stays than stays. */
TEST(keep__refuses_phases_that_cannot_be)
{
    static const char *const wrong[] = {
        "\"phases\":[{\"name\":\"a\",\"series\":[{\"series\":0,\"height\":1,\"kept\":1}]}]",
        "\"phases\":[{\"times\":1}]",
        "\"phases\":[{\"name\":\"a\",\"times\":-1}]",
        "\"phases\":[{\"name\":\"a\",\"series\":[1]}]",
        "\"phases\":[7]",
        ("\"series\":[{\"info\":{\"name\":\"a\",\"kind\":\"b\"}}],\"phases\":[{\"name\":\"a\","
         "\"series\":[{\"series\":0,\"height\":1,\"kept\":1,\"looked_at\":1,\"given_back\":2}]}]"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(is_refused_within(wrong[i]));
    static const char right[] =
        "{\"version\": 2, \"view\": {\"phases\":[{\"name\":\"a\",\"times\":3,\"series\":[]}]}}";
    struct view v;
    CHECK(report_recall(right, strlen(right), &v) == 0 && v.phases[0].times == 3);
    view_release(&v);
}
