/* tests/unit/test_store.c: what is written to a run file is read from it. */
#include "store/store.h"

#include "store_files.h"
#include "unit.h"

#include <errno.h>
#include <sqlite3.h>

/* What a reader received, as text. */
struct heard {
    char text[2000];
    int stop_with;
};

__attribute__((format(printf, 2, 3))) static int hear(struct heard *h, const char *format, ...)
{
    size_t len = strlen(h->text);
    va_list args;
    va_start(args, format);
    vsnprintf(h->text + len, sizeof h->text - len, format, args);
    va_end(args);
    return h->stop_with;
}

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

static int hear_process(void *c, int64_t id, const struct store_process *p)
{
    return hear(c, "%d: %d %d parent %d %s rank %d '%s' because %s %g to %g status %g\n", (int) id,
                (int) p->pid, (int) p->start, (int) p->parent_pid, or_none(p->role), p->rank,
                or_none(p->command), or_none(p->why), p->first_seconds, p->last_seconds,
                p->exit_status);
}

static int hear_series(void *c, int64_t id, const struct store_series *x)
{
    return hear(c, "%d: of %d %s %s %s %s %g %s\n", (int) id, (int) x->process, x->kind,
                or_none(x->device), or_none(x->name), series_unit_name(x->unit), x->limit,
                or_none(x->rule));
}

static int hear_sample(void *c, const struct store_sample *x)
{
    return hear(c, "%g: %.17g %.17g %.17g %g\n", x->seconds, x->value, x->floor, x->max, x->count);
}

static int hear_mark(void *c, double seconds, double step, double epoch)
{
    return hear(c, "%g: %g %g\n", seconds, step, epoch);
}

static int hear_event(void *c, double seconds, const char *what, const char *text)
{
    return hear(c, "%g: %s %s\n", seconds, what, text);
}

/* Closes `s` and opens the file again. */
static struct store *reopen(const struct folder *f, struct store *s, double seconds)
{
    return store_close(s, seconds) < 0 ? NULL : open_plain(f);
}

TEST(store__gives_back_the_run)
{
    struct folder f = folder_begin();
    struct store_run run = {"[\"python\", \"a b.py\"]",
                            "python 'a b.py'",
                            "n1",
                            1.75e9 + 0.25,
                            0x1p36,
                            "cgroup",
                            1000,
                            3600,
                            900,
                            50};
    struct store *s;
    CHECK(store_create(f.file, &run, &s) == 0);
    s = reopen(&f, s, 1);
    CHECK(s);
    const struct store_run *got = store_run(s);
    CHECK_TEXT(got->command, run.command);
    CHECK_TEXT(got->title, run.title);
    CHECK_TEXT(got->host, run.host);
    CHECK_TEXT(got->limit_source, run.limit_source);
    CHECK(got->started == run.started && got->limit_bytes == run.limit_bytes);
    CHECK(got->plan_steps == 1000 && got->plan_seconds == 3600);
    CHECK(got->horizon == 900 && got->epoch_length == 50);
    store_free(s);
    folder_end(&f);
}

TEST(store__leaves_absent_what_is_not_known)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    CHECK(s);
    s = reopen(&f, s, 1);
    CHECK(s);
    const struct store_run *got = store_run(s);
    CHECK(!got->command && !got->host && !got->limit_source);
    CHECK(isnan(got->limit_bytes) && isnan(got->plan_steps) && isnan(got->plan_seconds));
    CHECK(isnan(got->horizon) && isnan(got->epoch_length));
    CHECK(isnan(store_last_seconds(s)) && !store_is_finished(s));
    const char *json = "", *report = "";
    CHECK(store_answer(s, &json, &report) == 0 && !json && !report);
    store_free(s);
    folder_end(&f);
}

TEST(store__gives_back_processes)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    struct store_process trainer = {10, 7, 1, "trainer", 0, "python x", "uses the GPU", 0, 5, NAN};
    struct store_process unknown = {11, 8, 0, NULL, -1, NULL, NULL, 1, 2, NAN};
    int64_t first = store_add_process(s, &trainer), second = store_add_process(s, &unknown);
    CHECK(first == 1 && second == 2);
    CHECK(store_commit(s, 5) == 0);
    unknown.role = "data worker";
    unknown.exit_status = 9;
    store_update_process(s, second, &unknown);
    store_update_process(s, 0, &unknown);
    s = reopen(&f, s, 6);
    struct heard h = {0};
    CHECK(store_each_process(s, hear_process, &h) == 0);
    CHECK_TEXT(h.text,
               "1: 10 7 parent 1 trainer rank 0 'python x' because uses the GPU 0 to 5 status nan\n"
               "2: 11 8 parent 0 data worker rank -1 'none' because none 1 to 2 status 9\n");
    store_free(s);
    folder_end(&f);
}

TEST(store__gives_back_series_and_samples)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    struct store_series rss = {3, "host.rss", NULL, NULL, SERIES_BYTES, 0, NULL};
    struct store_series tensors = {0, "py.tensors", "cuda:0", "all", SERIES_COUNT, 0, "shown"};
    int64_t a = store_add_series(s, &rss), b = store_add_series(s, &tensors);
    CHECK(a == 1 && b == 2);
    store_update_series(s, a, 4000, NULL);
    store_update_series(s, a, 5000, "judged");
    store_add_sample(s, a, 0.5, 0x1p40 + 1);
    store_add_sample(s, b, 0.5, 12.25);
    store_add_sample(s, a, 1.5, 7);
    s = reopen(&f, s, 2);
    struct heard h = {0};
    CHECK(store_each_series(s, hear_series, &h) == 0);
    CHECK(store_each_sample(s, a, hear_sample, &h) == 0);
    CHECK(store_each_sample(s, b, hear_sample, &h) == 0);
    CHECK(store_each_sample(s, 3, hear_sample, &h) == 0);
    CHECK_TEXT(h.text, "1: of 3 host.rss none none bytes 5000 judged\n"
                       "2: of 0 py.tensors cuda:0 all count 0 shown\n"
                       "0.5: 1099511627777 1099511627777 1099511627777 1\n"
                       "1.5: 7 7 7 1\n"
                       "0.5: 12.25 12.25 12.25 1\n");
    CHECK(store_last_seconds(s) == 1.5);
    store_free(s);
    folder_end(&f);
}

TEST(store__learns_the_terms_while_it_runs)
{
    struct folder f = folder_begin();
    struct store_run run = plain_run();
    struct store *s;
    run.plan_steps = 700;
    CHECK(store_create(f.file, &run, &s) == 0);
    store_set_terms(s, 5e9, "RAM", NAN, NAN);
    store_set_terms(s, 4e9, "cgroup", 900, 50);
    store_set_terms(s, NAN, NULL, NAN, NAN);
    s = reopen(&f, s, 1);
    const struct store_run *got = store_run(s);
    CHECK(got->limit_bytes == 4e9 && got->plan_steps == 900 && got->epoch_length == 50);
    CHECK_TEXT(got->limit_source, "cgroup");
    CHECK(isnan(got->plan_seconds) && isnan(got->horizon));
    store_free(s);
    folder_end(&f);
}

TEST(store__gives_back_marks_and_events)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    store_add_mark(s, 1, 100, NAN);
    store_add_mark(s, 2, NAN, 1);
    store_add_mark(s, NAN, 3, 3);
    store_add_event(s, 3, "exec", "python became torchrun");
    store_add_event(s, 1, "note", "");
    store_add_event(s, NAN, "note", "never");
    s = reopen(&f, s, 4);
    struct heard h = {0};
    CHECK(store_each_mark(s, hear_mark, &h) == 0);
    CHECK(store_each_event(s, hear_event, &h) == 0);
    CHECK_TEXT(h.text, "1: 100 nan\n2: nan 1\n1: note \n3: exec python became torchrun\n");
    store_free(s);
    folder_end(&f);
}

static int hear_look(void *c, int64_t process, const struct store_heap_point *x)
{
    return hear(c, "%d at %g: %g %g %g %g %g %g\n", (int) process, x->seconds, x->anon,
                x->heap_used, x->heap_free, x->data, x->arenas_used, x->arenas_free);
}

static int hear_census(void *c, int64_t process, const struct store_census *x)
{
    return hear(c, "%d %d %llu %s\n", (int) process, x->searched, (unsigned long long) x->origin,
                x->text);
}

TEST(store__keeps_the_last_looks_and_censuses_of_a_process)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    static const struct store_heap_point before[] = {{1, 10, 5, 2, 20, 3, 4},
                                                     {2, 11, 6, 2, 20, 3, 4}};
    static const struct store_heap_point after[] = {{2, 11, 6, 2, 20, 3, 5},
                                                    {3, 12, NAN, NAN, NAN, NAN, NAN}};
    store_set_heap_points(s, 1, before, 2);
    store_set_heap_points(s, 2, before, 1);
    store_set_heap_points(s, 1, after, 2);
    store_set_heap_points(s, 0, before, 2);
    store_set_census(s, 1, &(struct store_census){true, 7, "holders"});
    store_set_census(s, 1, &(struct store_census){false, 7, "counted"});
    store_set_census(s, 1, &(struct store_census){false, 7, "counted again"});
    store_set_census(s, 2, &(struct store_census){false, 1ull << 62, "counted"});
    store_set_census(s, 2, &(struct store_census){true, 1ull << 62, "holders"});
    s = reopen(&f, s, 4);
    struct heard h = {0};
    CHECK(store_each_heap_point(s, hear_look, &h) == 0);
    CHECK(store_each_census(s, hear_census, &h) == 0);
    CHECK_TEXT(h.text, "1 at 2: 11 6 2 20 3 5\n1 at 3: 12 nan nan nan nan nan\n"
                       "2 at 1: 10 5 2 20 3 4\n"
                       "1 1 7 holders\n1 0 7 counted again\n2 1 4611686018427387904 holders\n");
    store_free(s);
    folder_end(&f);
}

TEST(store__reads_looks_of_before_arenas)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    CHECK(store_close(s, 1) == 0);
    sqlite3 *db;
    CHECK(sqlite3_open(f.file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db,
                       "DROP TABLE look;"
                       "CREATE TABLE look (process, seconds, anon, heap_used, heap_free, data);"
                       "INSERT INTO look VALUES (1, 1, 10, 5, 2, 20)",
                       NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    s = open_plain(&f);
    struct heard h = {0};
    CHECK(store_each_heap_point(s, hear_look, &h) == 0);
    CHECK_TEXT(h.text, "1 at 1: 10 5 2 20 nan nan\n");
    store_free(s);
    folder_end(&f);
}

/* The first files of this schema had no evidence. */
TEST(store__reads_a_file_without_evidence)
{
    struct folder f = folder_begin();
    CHECK(store_close(create_plain(&f), 1) == 0);
    sqlite3 *db;
    CHECK(sqlite3_open(f.file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "DROP TABLE look; DROP TABLE census", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    struct store *s = open_plain(&f);
    struct heard h = {0};
    CHECK(s && store_each_heap_point(s, hear_look, &h) == 0);
    CHECK(s && store_each_census(s, hear_census, &h) == 0);
    CHECK_TEXT(h.text, "");
    store_free(s);
    folder_end(&f);
}

static int hear_sites(void *c, int64_t process, const char *text)
{
    return hear(c, "%d %s\n", (int) process, text);
}

TEST(store__keeps_the_last_sites_of_a_process)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    store_set_sites(s, 2, "of 2");
    store_set_sites(s, 1, "before");
    CHECK(store_commit(s, 1) == 0);
    store_set_sites(s, 1, "of 1");
    store_set_sites(s, 0, "of nobody");
    s = reopen(&f, s, 4);
    struct heard h = {0};
    CHECK(store_each_sites(s, hear_sites, &h) == 0);
    CHECK_TEXT(h.text, "1 of 1\n2 of 2\n");
    store_free(s);
    folder_end(&f);
}

TEST(store__reads_a_file_of_before_sites)
{
    struct folder f = folder_begin();
    CHECK(store_close(create_plain(&f), 1) == 0);
    sqlite3 *db;
    CHECK(sqlite3_open(f.file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "DROP TABLE sites", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    struct store *s = open_plain(&f);
    struct heard h = {0};
    CHECK(s && store_each_sites(s, hear_sites, &h) == 0);
    CHECK_TEXT(h.text, "");
    store_free(s);
    folder_end(&f);
}

TEST(store__keeps_one_final_answer)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    store_set_answer(s, "{}", NULL);
    store_set_answer(s, "{\"verdict\": \"leak\"}", "what show needs");
    s = reopen(&f, s, 4);
    const char *json, *report;
    CHECK(store_is_finished(s));
    CHECK(store_answer(s, &json, &report) == 0);
    CHECK_TEXT(json, "{\"verdict\": \"leak\"}");
    CHECK_TEXT(report, "what show needs");
    store_free(s);
    folder_end(&f);
}

TEST(store__keeps_an_answer_without_a_report)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    store_set_answer(s, "{}", NULL);
    s = reopen(&f, s, 4);
    const char *json, *report = "";
    CHECK(store_answer(s, &json, &report) == 0 && !report);
    CHECK_TEXT(json, "{}");
    store_free(s);
    folder_end(&f);
}

TEST(store__stops_where_the_visitor_says_so)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    store_add_sample(s, series, 1, 1);
    store_add_sample(s, series, 2, 2);
    store_add_mark(s, 1, 1, 1);
    s = reopen(&f, s, 4);
    struct heard h = {.stop_with = -77};
    CHECK(store_each_sample(s, series, hear_sample, &h) == -77);
    CHECK_TEXT(h.text, "1: 1 1 1 1\n");
    CHECK(store_each_mark(s, hear_mark, &h) == -77);
    store_free(s);
    folder_end(&f);
}

TEST(store__leaves_out_what_is_no_sample)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    store_add_sample(s, series, 1, NAN);
    store_add_sample(s, series, NAN, 1);
    store_add_sample(s, series, 1, INFINITY);
    store_add_sample(s, 0, 1, 1);
    store_add_sample(s, series, 2, 5);
    store_add_sample(s, series, 2, 6);
    s = reopen(&f, s, 4);
    struct total t = series_total(s, series);
    CHECK(t.rows == 1 && t.last_value == 5);
    store_free(s);
    folder_end(&f);
}

TEST(store__repairs_and_cuts_texts)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    char longest[6000];
    memset(longest, 'x', sizeof longest);
    memcpy(longest + 4094, "\xe2\x82\xac", 3);
    longest[sizeof longest - 1] = '\0';
    store_add_event(s, 1, "broken", "a\xff\xe2\x82z \xc3\xa9");
    s = reopen(&f, s, 1);
    struct heard h = {0};
    CHECK(store_each_event(s, hear_event, &h) == 0);
    CHECK_TEXT(h.text, "1: broken a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz \xc3\xa9\n");
    store_free(s);
    folder_end(&f);

    f = folder_begin();
    s = create_plain(&f);
    store_add_process(s, &(struct store_process){.pid = 1, .command = longest});
    s = reopen(&f, s, 1);
    CHECK(store_each_process(s, hear_process, &h) == 0);
    store_free(s);
    sqlite3 *db;
    sqlite3_stmt *row;
    CHECK(sqlite3_open(f.file, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "SELECT length(command) FROM process", -1, &row, NULL) == 0);
    CHECK(sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) == 4094);
    sqlite3_finalize(row);
    sqlite3_close(db);
    folder_end(&f);
}

static int count_events(void *c, double seconds, const char *what, const char *text)
{
    (void) seconds;
    struct heard *h = c;
    h->stop_with += strcmp(what, "many") == 0;
    snprintf(h->text, sizeof h->text, "%s %s", what, text);
    return 0;
}

TEST(store__counts_events_that_are_too_many)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    for (int i = 0; i < 1000; i++) {
        store_add_event(s, i, "many", "the same again");
        CHECK(i % 300 != 0 || store_commit(s, i) == 0);
    }
    s = reopen(&f, s, 1000);
    struct heard h = {0};
    CHECK(store_each_event(s, count_events, &h) == 0);
    CHECK(h.stop_with == 256);
    CHECK_TEXT(h.text, "many 745 more");
    store_free(s);
    folder_end(&f);
}

TEST(store__bounds_events_of_any_number_of_kinds)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    for (int i = 0; i < 20000; i++) {
        char what[20];
        snprintf(what, sizeof what, "kind %d", i);
        store_add_event(s, i, what, "");
        CHECK(i % 1000 != 0 || store_commit(s, i) == 0);
    }
    s = reopen(&f, s, 20000);
    struct heard h = {0};
    CHECK(store_each_event(s, hear_event, &h) == 0);
    CHECK(file_bytes(&f, "") < 100000);
    store_free(s);
    folder_end(&f);
}

/* ---- files ---- */

static int mode_of(const char *path, const char *suffix)
{
    char name[128];
    struct stat st;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &st) < 0 ? -1 : (int) (st.st_mode & 07777);
}

TEST(store__lets_nobody_else_read)
{
    static const mode_t masks[] = {0, 022, 0777};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct folder f = folder_begin();
        mode_t before = umask(masks[i]);
        struct store *s = create_plain(&f);
        umask(before);
        CHECK(s);
        CHECK(mode_of(f.file, "") == 0600 && mode_of(f.file, "-wal") == 0600);
        CHECK(mode_of(f.file, "-shm") == 0600);
        CHECK(store_close(s, 1) == 0);
        CHECK(mode_of(f.file, "") == 0600);
        folder_end(&f);
    }
}

TEST(store__closes_to_one_file)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    store_add_mark(s, 1, 1, 1);
    CHECK(store_commit(s, 1) == 0);
    CHECK(file_bytes(&f, "-wal") > 0);
    CHECK(store_close(s, 2) == 0);
    CHECK(file_bytes(&f, "") > 0 && file_bytes(&f, "-wal") < 0 && file_bytes(&f, "-shm") < 0);
    CHECK(!store_free(NULL));
    folder_end(&f);
}

TEST(store__never_overwrites)
{
    struct folder f = folder_begin();
    struct store_run run = plain_run();
    struct store *s = NULL;
    FILE *file = fopen(f.file, "w");
    CHECK(file && fputs("dear diary", file) >= 0 && fclose(file) == 0);
    CHECK(store_create(f.file, &run, &s) == -EEXIST && !s);
    CHECK(file_bytes(&f, "") == 10);
    CHECK(store_create("/tmp", &run, &s) == -EEXIST && !s);
    CHECK(store_create("/nonexistent/run.tide", &run, &s) == -ENOENT && !s);
    folder_end(&f);
}

TEST(store__takes_any_name_as_a_name)
{
    static const char *names[] = {":memory:", "file:x?mode=memory", "a%20b#c?.tide",
                                  "\xc3\xa9 \xff"};
    struct folder f = folder_begin();
    char before[4096];
    CHECK(getcwd(before, sizeof before) && chdir(f.path) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct store_run run = plain_run();
        struct store_error error = {""};
        struct store *s = NULL;
        CHECK(store_create(names[i], &run, &s) == 0);
        CHECK(access(names[i], F_OK) == 0);
        CHECK(store_close(s, 1) == 0);
        CHECK(store_is_one(names[i]));
        CHECK(store_open(names[i], &s, &error) == 0);
        CHECK_TEXT(store_run(s)->title, run.title);
        store_free(s);
    }
    CHECK(chdir(before) == 0);
    folder_end(&f);
}

TEST(store__knows_its_own)
{
    struct folder f = folder_begin();
    CHECK(!store_is_one(f.file) && !store_is_one("/tmp") && !store_is_one("/dev/null"));
    CHECK(store_close(create_plain(&f), 1) == 0);
    CHECK(store_is_one(f.file));
    CHECK(truncate(f.file, 15) == 0);
    CHECK(!store_is_one(f.file));
    folder_end(&f);
}

TEST(store__takes_nothing_out_of_a_pipe)
{
    int ends[2];
    char path[32], bytes[32];
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "SQLite format 3", 16) == 16);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    CHECK(!store_is_one(path));
    CHECK(read(ends[0], bytes, sizeof bytes) == 16);
    close(ends[0]);
    close(ends[1]);
}
