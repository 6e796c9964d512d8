/* tests/unit/test_lib.c: a program that watches itself gets the truth and is not disturbed. */
#include "lib_program.h"
#include "store_files.h"
#include "unit.h"

#include <errno.h>
#include <locale.h>
#include <sys/stat.h>

TEST(lib__tells_its_version)
{
    CHECK_TEXT(tidemark_version(), TIDEMARK_VERSION);
}

/* ---- wrong input ---- */

static void ignore_leak(void *context, const struct tidemark_verdict *v)
{
    (void) context, (void) v;
}

TEST(lib__without_a_watcher_every_call_is_refused)
{
    struct tidemark_verdict v = {.size = sizeof(v)};
    struct tidemark_now now = {.size = sizeof(now)};
    char *text = NULL;
    CHECK(tidemark_step(NULL, 1) == -EINVAL);
    CHECK(tidemark_epoch_end(NULL) == -EINVAL);
    CHECK(tidemark_count(NULL, "pool", NULL, TIDEMARK_BYTES, 1) == -EINVAL);
    CHECK(tidemark_phase_begin(NULL, "evaluate") == -EINVAL);
    CHECK(tidemark_phase_end(NULL, "evaluate") == -EINVAL);
    CHECK(tidemark_judge(NULL, &v) == -EINVAL);
    CHECK(tidemark_judge_series(NULL, "host.anon", NULL, &v) == -EINVAL);
    CHECK(tidemark_on_leak(NULL, ignore_leak, NULL) == -EINVAL);
    CHECK(tidemark_json(NULL, &text) == -EINVAL);
    CHECK(tidemark_report(NULL, &text) == -EINVAL);
    CHECK(tidemark_look(NULL, &now) == -EINVAL);
    CHECK(tidemark_finish(NULL) == -EINVAL);
    CHECK(tidemark_open(NULL, NULL) == -EINVAL);
    CHECK(!text);
    tidemark_close(NULL);
    tidemark_free(NULL);
}

TEST(lib__wrong_options_are_refused)
{
    tidemark_watcher *w = NULL;
    struct tidemark_options o = {.size = 0};
    CHECK(tidemark_open(&o, &w) == -EINVAL);
    o.size = sizeof(o) - 1;
    CHECK(tidemark_open(&o, &w) == -EINVAL);
    static const double wrong[] = {-1, NAN, INFINITY};
    for (unsigned i = 0; i < 3; i++) {
        o = (struct tidemark_options){.size = sizeof(o), .start_step = wrong[i]};
        CHECK(tidemark_open(&o, &w) == -EINVAL);
        o = (struct tidemark_options){.size = sizeof(o), .limit_bytes = wrong[i]};
        CHECK(tidemark_open(&o, &w) == -EINVAL);
    }
    CHECK(!w);
}

/* A program built with a later version has longer structs. */
TEST(lib__a_newer_programs_structs_are_understood)
{
    struct {
        struct tidemark_options known;
        double new_option;
    } o = {.known = {.size = sizeof(o), .no_gpu = 1}, .new_option = 0};
    struct {
        struct tidemark_verdict known;
        double new_answer;
    } v = {.known = {.size = sizeof(v)}, .new_answer = 7};
    tidemark_watcher *w = NULL;
    CHECK(tidemark_open(&o.known, &w) == 0);
    CHECK(tidemark_judge(w, &v.known) == 0);
    CHECK(v.known.size == sizeof(v) && v.new_answer == 7);
    CHECK(v.known.answer == TIDEMARK_INCONCLUSIVE && v.known.summary[0]);
    tidemark_close(w);
    w = NULL;
    o.new_option = 1;
    CHECK(tidemark_open(&o.known, &w) == -E2BIG && !w);
}

TEST(lib__a_struct_without_its_size_stays_untouched)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    struct tidemark_verdict v = {.size = 8, .rate = 7};
    struct tidemark_now now = {.size = 0, .step = 7};
    CHECK(tidemark_judge(w, &v) == -EINVAL && v.rate == 7 && v.size == 8);
    CHECK(tidemark_judge_series(w, "host.anon", NULL, &v) == -EINVAL && v.rate == 7);
    CHECK(tidemark_judge(w, NULL) == -EINVAL);
    CHECK(tidemark_judge_series(w, NULL, NULL, &v) == -EINVAL);
    CHECK(tidemark_look(w, &now) == -EINVAL && now.step == 7);
    CHECK(tidemark_look(w, NULL) == -EINVAL);
    CHECK(tidemark_json(w, NULL) == -EINVAL);
    CHECK(tidemark_report(w, NULL) == -EINVAL);
    tidemark_close(w);
}

TEST(lib__a_phase_has_a_name_that_can_be_printed)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    char longest[49] = "";
    memset(longest, 'x', 48);
    static const char *const wrong[] = {NULL, "", "a\nb", "\x7f"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(tidemark_phase_begin(w, wrong[i]) == -EINVAL);
        CHECK(tidemark_phase_end(w, wrong[i]) == -EINVAL);
    }
    CHECK(tidemark_phase_begin(w, longest) == -EINVAL);
    longest[47] = '\0';
    CHECK(tidemark_phase_begin(w, longest) == 0 && tidemark_phase_end(w, longest) == 0);
    tidemark_close(w);
}

/* Nested, overlapping, without a begin, without an end, and with a thousand names. */
TEST(lib__phases_may_come_as_they_like)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    char name[16];
    errno = 7;
    CHECK(tidemark_phase_end(w, "evaluate") == 0);
    CHECK(tidemark_phase_begin(w, "evaluate") == 0 && tidemark_phase_begin(w, "save") == 0);
    CHECK(tidemark_phase_end(w, "evaluate") == 0 && tidemark_phase_end(w, "save") == 0);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "batch %u", i);
        CHECK(tidemark_phase_begin(w, name) == 0);
    }
    make_steps(w, 10, 0);
    CHECK(errno == 7);
    CHECK(tidemark_finish(w) == 0);
    tidemark_close(w);
}

/* ---- the truth ---- */

struct told {
    tidemark_watcher *watcher;
    unsigned leaks;
    struct tidemark_verdict verdict;
    int judged; /* what a call from inside the callback returned */
};

static void note_leak(void *context, const struct tidemark_verdict *v)
{
    struct told *told = context;
    struct tidemark_verdict whole = {.size = sizeof(whole)};
    if (strcmp(v->kind, "host.anon") == 0) {
        told->leaks++;
        told->verdict = *v;
        told->judged = tidemark_judge(told->watcher, &whole);
    }
}

/* AddressSanitizer makes a block of 32 KB take 40 KB. */
#ifdef __SANITIZE_ADDRESS__
#define RATE_ERROR 0.27
#else
#define RATE_ERROR 0.1
#endif

TEST(lib__a_leak_is_told_once_and_with_its_rate)
{
    struct told told = {.watcher = open_plain_watcher(NULL), .judged = 1};
    CHECK(told.watcher);
    CHECK(tidemark_on_leak(told.watcher, note_leak, &told) == 0);
    make_steps(told.watcher, 1400, 1);
    CHECK(tidemark_finish(told.watcher) == 0);
    struct tidemark_verdict v = judge(told.watcher), one = {.size = sizeof(one)};
    CHECK(v.size == sizeof(v) && v.answer == TIDEMARK_LEAK);
    CHECK_TEXT(v.kind, "host.anon");
    CHECK(v.severity[0] && v.confidence > 0.9);
    CHECK_NEAR(v.rate, BLOCK, RATE_ERROR * BLOCK);
    CHECK(v.suspect_step >= 1 && v.alarm_step > 150 && v.alarm_step < 1400);
    CHECK(strncmp(v.summary, "LEAK", 4) == 0 && !strchr(v.summary, '\n'));
    CHECK(tidemark_judge_series(told.watcher, "host.anon", NULL, &one) == 0);
    CHECK(one.answer == TIDEMARK_LEAK && one.rate == v.rate);
    CHECK(told.leaks == 1 && told.judged == 0);
    CHECK(told.verdict.answer == TIDEMARK_LEAK && told.verdict.size == sizeof(told.verdict));
    tidemark_close(told.watcher);
    free_kept();
}

TEST(lib__a_steady_program_is_not_accused)
{
    struct told told = {.watcher = open_plain_watcher(NULL)};
    CHECK(tidemark_on_leak(told.watcher, note_leak, &told) == 0);
    make_steps(told.watcher, 700, 0);
    CHECK(tidemark_finish(told.watcher) == 0);
    struct tidemark_verdict v = judge(told.watcher);
    CHECK(v.answer == TIDEMARK_NO_LEAK && told.leaks == 0);
    CHECK(!v.severity[0] && isnan(v.alarm_step) && isnan(v.needs_steps));
    tidemark_close(told.watcher);
}

TEST(lib__too_few_steps_are_called_too_few)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    make_steps(w, 30, 1);
    struct tidemark_verdict v = judge(w);
    CHECK(v.answer == TIDEMARK_INCONCLUSIVE);
    CHECK(v.summary[0] && isnan(v.rate_upper));
    tidemark_close(w);
    free_kept();
}

/* Use inside a pool that existed before the first step is invisible from outside. */
TEST(lib__a_counter_of_the_programs_own_is_judged)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    struct tidemark_verdict v = {.size = sizeof(v)};
    for (unsigned i = 0; i < 700; i++)
        if (make_step(w, 0) == 1) {
            CHECK(tidemark_count(w, "pool.bytes", "arena:1", TIDEMARK_BYTES, 4096 + 16.0 * i) == 0);
            CHECK(tidemark_count(w, "cache.entries", NULL, TIDEMARK_COUNT, 500) == 0);
        }
    CHECK(tidemark_finish(w) == 0);
    CHECK(tidemark_judge_series(w, "pool.bytes", NULL, &v) == 0);
    CHECK(v.answer == TIDEMARK_LEAK);
    CHECK_NEAR(v.rate, 16, 0.5);
    CHECK_TEXT(v.severity, "negligible");
    CHECK_TEXT(v.device, "arena:1");
    CHECK(tidemark_judge_series(w, "pool.bytes", "arena:2", &v) == -ENOENT);
    CHECK(tidemark_judge_series(w, "cache.entries", NULL, &v) == 0);
    CHECK(v.answer != TIDEMARK_LEAK);
    CHECK(tidemark_judge_series(w, "nothing", NULL, &v) == -ENOENT);
    v = judge(w);
    CHECK(v.answer == TIDEMARK_LEAK);
    CHECK_TEXT(v.kind, "pool.bytes");
    tidemark_close(w);
}

static void count_leaks(void *context, const struct tidemark_verdict *v)
{
    *(unsigned *) context += strcmp(v->kind, "pool.bytes") == 0;
}

/* A pool that grows by `bytes_a_step` leaks, and the callback is called `times` times. */
static void check_told(double bytes_a_step, unsigned times)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    struct tidemark_verdict v = {.size = sizeof(v)};
    unsigned told = 0;
    CHECK(tidemark_on_leak(w, count_leaks, &told) == 0);
    for (unsigned i = 0; i < 1400; i++)
        if (make_step(w, 0) == 1)
            CHECK(tidemark_count(w, "pool.bytes", NULL, TIDEMARK_BYTES, bytes_a_step * i) == 0);
    CHECK(tidemark_finish(w) == 0);
    CHECK(tidemark_judge_series(w, "pool.bytes", NULL, &v) == 0 && isfinite(v.alarm_step));
    CHECK(told == times);
    tidemark_close(w);
}

TEST(lib__a_negligible_leak_is_not_told_of)
{
    check_told(16, 0);
    check_told(64 * 1024, 1);
}

TEST(lib__wrong_counters_are_refused)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    char name[64];
    memset(name, 'n', sizeof(name));
    name[48] = '\0';
    CHECK(tidemark_count(w, name, NULL, TIDEMARK_BYTES, 1) == -EINVAL);
    name[47] = '\0';
    CHECK(tidemark_count(w, name, NULL, TIDEMARK_BYTES, 1) == 0);
    CHECK(tidemark_count(w, "", NULL, TIDEMARK_BYTES, 1) == -EINVAL);
    CHECK(tidemark_count(w, NULL, NULL, TIDEMARK_BYTES, 1) == -EINVAL);
    CHECK(tidemark_count(w, "host.anon", NULL, TIDEMARK_BYTES, 1) == -EINVAL);
    CHECK(tidemark_count(w, "clear\033[2J", NULL, TIDEMARK_BYTES, 1) == -EINVAL);
    CHECK(tidemark_count(w, "pool", "a device with a long name", TIDEMARK_BYTES, 1) == -EINVAL);
    CHECK(tidemark_count(w, "pool", NULL, TIDEMARK_BYTES, NAN) == -EINVAL);
    int r = 0;
    for (unsigned i = 0; i < 64 && r == 0; i++) {
        snprintf(name, sizeof(name), "own.%u", i);
        r = tidemark_count(w, name, NULL, TIDEMARK_COUNT, 1);
    }
    CHECK(r == -ENOSPC);
    tidemark_close(w);
}

/* ---- the current state ---- */

TEST(lib__a_resumed_training_goes_on_counting)
{
    const struct tidemark_options o = {
        .size = sizeof(o), .start_step = 50000, .plan_steps = 60000, .epoch = 100, .no_gpu = 1};
    tidemark_watcher *w = NULL;
    struct tidemark_now now = {.size = sizeof(now)};
    CHECK(tidemark_open(&o, &w) == 0);
    make_steps(w, 10, 0);
    CHECK(tidemark_epoch_end(w) == 0);
    CHECK(tidemark_look(w, &now) == 0);
    CHECK_NEAR(now.step, 50010, 0);
    CHECK_NEAR(now.epochs, 1, 0);
    CHECK(now.host_bytes > 65536 && now.host_bytes < 1e12);
    CHECK(now.system_used > 0 && now.system_used < 1);
    CHECK(isnan(now.gpu_bytes) && isnan(now.gpu_used));
    /* A look that took long on a busy machine puts the next one off. */
    for (int i = 0; i < 100 && isnan(now.cpu_used); i++) {
        sleep_ms(50);
        CHECK(tidemark_look(w, &now) == 0);
    }
    CHECK(now.cpu_used >= 0 && now.cpu_used <= 1);
    char *json = NULL;
    CHECK(tidemark_json(w, &json) == 0);
    CHECK(strstr(json, "\"last_step\": 50010") && strstr(json, "\"epochs\": 1"));
    tidemark_free(json);
    tidemark_close(w);
}

TEST(lib__report_and_json_tell_all)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    char *text = NULL;
    make_steps(w, 20, 0);
    CHECK(tidemark_report(w, &text) == 0);
    CHECK(strstr(text, "INCONCLUSIVE") && strstr(text, "20 steps"));
    tidemark_free(text);
    CHECK(tidemark_json(w, &text) == 0);
    CHECK(text[0] == '{' && strstr(text, "\"kind\": \"host.anon\""));
    CHECK(strstr(text, "\"watcher_cpu_seconds\""));
    tidemark_free(text);
    tidemark_close(w);
}

TEST(lib__after_the_end_nothing_is_taken_and_the_answer_stays)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    make_steps(w, 20, 0);
    CHECK(tidemark_finish(w) == 0 && tidemark_finish(w) == 0);
    struct tidemark_verdict before = judge(w);
    CHECK(tidemark_step(w, 1) == -ESHUTDOWN);
    CHECK(tidemark_epoch_end(w) == -ESHUTDOWN);
    CHECK(tidemark_count(w, "pool", NULL, TIDEMARK_BYTES, 1) == -ESHUTDOWN);
    CHECK(tidemark_phase_begin(w, "evaluate") == -ESHUTDOWN);
    CHECK(tidemark_phase_end(w, "evaluate") == -ESHUTDOWN);
    keep_one();
    struct tidemark_verdict after = judge(w);
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    struct tidemark_now now = {.size = sizeof(now)};
    CHECK(tidemark_look(w, &now) == 0 && now.step == 20);
    tidemark_close(w);
    free_kept();
}

/* ---- the caller's state ---- */

TEST(lib__errno_and_language_of_the_caller_stay)
{
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", NULL), before = uselocale(own);
    tidemark_watcher *w = NULL;
    struct tidemark_verdict v = {.size = sizeof(v)};
    const struct tidemark_options missing = {.size = sizeof(missing), .run_file = "/no/such/x"};
    errno = 4711;
    CHECK(tidemark_open(&missing, &w) == -ENOENT && errno == 4711);
    w = open_plain_watcher(NULL);
    CHECK(errno == 4711);
    for (unsigned i = 0; i < 20; i++)
        CHECK(tidemark_step(w, 0.5) >= 0 && errno == 4711);
    sleep_ms(300);
    CHECK(tidemark_step(w, NAN) == 1);
    CHECK(tidemark_judge(w, &v) == 0);
    tidemark_close(w);
    CHECK(errno == 4711 && uselocale((locale_t) 0) == own);
    uselocale(before);
    freelocale(own);
}

/* ---- the run file ---- */

TEST(lib__the_run_file_is_complete_when_it_is_finished)
{
    struct folder f = folder_begin();
    tidemark_watcher *w = open_plain_watcher(f.file);
    CHECK(w);
    make_steps(w, 100, 0);
    CHECK(tidemark_finish(w) == 0);
    struct tidemark_verdict v = judge(w);
    struct stat st;
    CHECK(stat(f.file, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(file_bytes(&f, "-wal") <= 0);
    struct store *s = open_plain(&f);
    CHECK(s && store_is_finished(s));
    CHECK(strstr(store_run(s)->title, "test_lib"));
    const char *json, *report;
    CHECK(store_answer(s, &json, &report) == 0 && json && report);
    CHECK(strstr(json, v.answer == TIDEMARK_NO_LEAK ? "no_leak" : "inconclusive"));
    store_free(s);
    tidemark_close(w);
    folder_end(&f);
}

TEST(lib__an_existing_file_is_left_alone)
{
    struct folder f = folder_begin();
    FILE *file = fopen(f.file, "w");
    fputs("mine", file);
    fclose(file);
    const struct tidemark_options o = {.size = sizeof(o), .run_file = f.file, .no_gpu = 1};
    tidemark_watcher *w = NULL;
    CHECK(tidemark_open(&o, &w) == -EEXIST && !w);
    CHECK_NEAR(file_bytes(&f, ""), 4, 0);
    folder_end(&f);
}

static int open_in_closed_folder(const struct folder *f)
{
    const struct tidemark_options o = {.size = sizeof(o), .run_file = f->file, .no_gpu = 1};
    tidemark_watcher *w = NULL;
    return tidemark_open(&o, &w) == -EACCES && !w ? 0 : 1;
}

TEST(lib__a_folder_that_cannot_be_written_is_told)
{
    struct folder f = folder_begin();
    CHECK(chmod(f.path, 0555) == 0);
    CHECK(as_nobody(open_in_closed_folder, &f) == 0);
    CHECK(chmod(f.path, 0755) == 0);
    folder_end(&f);
}

/* The program is killed in the middle: the file has everything up to the last second. */
TEST(lib__without_a_close_the_file_is_readable)
{
    struct folder f = folder_begin();
    pid_t child = fork();
    if (child == 0) {
        tidemark_watcher *w = open_plain_watcher(f.file);
        make_steps(w, 2500, 1);
        _exit(w ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    struct store *s = open_plain(&f);
    CHECK(s && !store_is_finished(s));
    CHECK(store_last_seconds(s) > 0.3);
    store_free(s);
    folder_end(&f);
}
