/* tests/unit/test_lib_process.c: forks, threads, several watchers, and a watcher outside. */
#include "lib_program.h"
#include "store_files.h"
#include "unit.h"
#include "wire/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- forks ---- */

static bool every_call_says_child(tidemark_watcher *w)
{
    struct tidemark_verdict v = {.size = sizeof(v)};
    struct tidemark_now now = {.size = sizeof(now)};
    char *text = NULL;
    return tidemark_step(w, 1) == -ECHILD && tidemark_epoch_end(w) == -ECHILD &&
           tidemark_count(w, "pool", NULL, TIDEMARK_BYTES, 1) == -ECHILD &&
           tidemark_phase_begin(w, "evaluate") == -ECHILD &&
           tidemark_phase_end(w, "evaluate") == -ECHILD && tidemark_judge(w, &v) == -ECHILD &&
           tidemark_judge_series(w, "host.anon", NULL, &v) == -ECHILD &&
           tidemark_on_leak(w, NULL, NULL) == -ECHILD && tidemark_json(w, &text) == -ECHILD &&
           tidemark_report(w, &text) == -ECHILD && tidemark_look(w, &now) == -ECHILD &&
           tidemark_finish(w) == -ECHILD && !text;
}

static int wait_status(pid_t child)
{
    int status = -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}

TEST(lib__the_child_of_a_fork_has_no_watcher)
{
    struct folder f = folder_begin();
    tidemark_watcher *w = open_plain_watcher(f.file);
    make_steps(w, 50, 0);
    pid_t child = fork();
    if (child == 0) {
        bool refused = every_call_says_child(w);
        tidemark_close(w);
        _exit(refused ? 0 : 1);
    }
    CHECK(wait_status(child) == 0);
    CHECK(file_bytes(&f, "-wal") >= 0); /* the child has not closed the parent's database */
    make_steps(w, 50, 0);
    struct tidemark_now now = {.size = sizeof(now)};
    CHECK(tidemark_look(w, &now) == 0 && now.step == 100);
    CHECK(tidemark_finish(w) == 0);
    tidemark_close(w);
    struct store *s = open_plain(&f);
    CHECK(s && store_is_finished(s));
    store_free(s);
    folder_end(&f);
}

TEST(lib__a_child_may_open_its_own)
{
    struct folder f = folder_begin();
    tidemark_watcher *w = open_plain_watcher(NULL);
    pid_t child = fork();
    if (child == 0) {
        tidemark_watcher *own = open_plain_watcher(f.file);
        make_steps(own, 20, 0);
        struct tidemark_now now = {.size = sizeof(now)};
        bool fine = own && tidemark_look(own, &now) == 0 && now.step == 20 &&
                    tidemark_finish(own) == 0 && tidemark_step(w, 0) == -ECHILD;
        tidemark_close(own);
        _exit(fine ? 0 : 1);
    }
    CHECK(wait_status(child) == 0);
    CHECK(tidemark_step(w, 0) >= 0);
    tidemark_close(w);
    folder_end(&f);
}

/* ---- threads ---- */

#define THREADS 4
#define STEPS 20000

static atomic_bool over;

static void *count_steps(void *watcher)
{
    for (unsigned i = 0; i < STEPS; i++)
        if (tidemark_step(watcher, 1.0 / (i + 1)) == 1)
            tidemark_count(watcher, "pool", NULL, TIDEMARK_BYTES, 100);
    return NULL;
}

static void *ask_all_the_time(void *watcher)
{
    struct tidemark_verdict v = {.size = sizeof(v)};
    struct tidemark_now now = {.size = sizeof(now)};
    while (!over) {
        tidemark_judge(watcher, &v);
        tidemark_look(watcher, &now);
        tidemark_on_leak(watcher, NULL, NULL);
        tidemark_epoch_end(watcher);
        sleep_ms(2);
    }
    return NULL;
}

TEST(lib__threads_count_together)
{
    tidemark_watcher *w = open_plain_watcher(NULL);
    pthread_t threads[THREADS], asker;
    over = false;
    CHECK(pthread_create(&asker, NULL, ask_all_the_time, w) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, count_steps, w) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    over = true;
    pthread_join(asker, NULL);
    struct tidemark_now now = {.size = sizeof(now)};
    CHECK(tidemark_look(w, &now) == 0);
    CHECK_NEAR(now.step, THREADS * STEPS, 0);
    tidemark_close(w);
}

static void *step_until_over(void *watcher)
{
    while (!over)
        tidemark_step(watcher, 0);
    return NULL;
}

/* A data worker is forked while another thread is in the middle of a step. */
TEST(lib__a_fork_meets_no_half_done_work)
{
    struct folder f = folder_begin();
    tidemark_watcher *w = open_plain_watcher(f.file);
    pthread_t thread;
    over = false;
    CHECK(pthread_create(&thread, NULL, step_until_over, w) == 0);
    int failed = 0;
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            bool refused = tidemark_step(w, 0) == -ECHILD;
            tidemark_close(w);
            _exit(refused ? 0 : 1);
        }
        failed += wait_status(child) != 0;
        sleep_ms(3);
    }
    over = true;
    pthread_join(thread, NULL);
    CHECK(failed == 0);
    CHECK(tidemark_finish(w) == 0);
    tidemark_close(w);
    folder_end(&f);
}

/* ---- several watchers, and one outside ---- */

/* A folder for rings, as under `tidemark run`. */
static struct folder begin_outside(void)
{
    struct folder f = folder_begin();
    setenv(WIRE_DIRECTORY_VARIABLE, f.path, 1);
    return f;
}

static void end_outside(const struct folder *f)
{
    unsetenv(WIRE_DIRECTORY_VARIABLE);
    folder_end(f);
}

/* Opens the only ring in the folder. NULL: none, or several. */
static struct wire_reader *open_ring(const struct folder *f)
{
    struct wire_reader *reader = NULL;
    unsigned rings = 0;
    DIR *d = opendir(f->path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, WIRE_RING_SUFFIX) && rings++ == 0 &&
            wire_reader_open(dirfd(d), e->d_name, &reader) < 0)
            reader = NULL;
    if (d)
        closedir(d);
    return rings == 1 ? reader : wire_reader_free(reader);
}

TEST(lib__the_first_watchers_steps_are_told_outside)
{
    struct folder f = begin_outside();
    tidemark_watcher *first = open_plain_watcher(NULL), *second = open_plain_watcher(NULL);
    for (unsigned i = 0; i < 30; i++) {
        CHECK(tidemark_step(first, 0.25) >= 0);
        CHECK(tidemark_step(second, 0) >= 0 && tidemark_step(second, 0) >= 0);
        sleep_ms(1);
    }
    tidemark_count(first, "pool", NULL, TIDEMARK_BYTES, 42);
    tidemark_epoch_end(first);
    struct wire_reader *ring = open_ring(&f);
    CHECK(ring);
    CHECK_NEAR(wire_reader_step(ring), 30, 0);
    struct wire_record x;
    double last = 0, loss = NAN, pool = NAN, epochs = NAN;
    for (struct wire_name name; wire_read(ring, &x);) {
        CHECK(x.source == WIRE_WATCHER);
        if (x.kind == WIRE_STEP) {
            CHECK(x.value >= last && x.value <= 30);
            last = x.value;
        } else if (x.kind == WIRE_EPOCH) {
            epochs = x.value;
        } else if (wire_reader_name(ring, x.name, &name)) {
            loss = strcmp(name.kind, "loss") == 0 && !name.judged ? x.value : loss;
            pool = strcmp(name.kind, "pool") == 0 && name.judged ? x.value : pool;
        }
    }
    CHECK(last == 30 && loss == 0.25 && pool == 42 && epochs == 1);
    struct tidemark_now now = {.size = sizeof(now)};
    CHECK(tidemark_look(second, &now) == 0 && now.step == 60);
    tidemark_close(first);
    CHECK(tidemark_step(second, 0) >= 0);
    CHECK_NEAR(wire_reader_step(ring), 30, 0);
    tidemark_close(second);
    wire_reader_free(ring);
    end_outside(&f);
}

TEST(lib__the_next_watcher_begins_its_own_count)
{
    struct folder f = begin_outside();
    tidemark_watcher *w = open_plain_watcher(NULL);
    make_steps(w, 40, 0);
    tidemark_close(w);
    w = open_plain_watcher(NULL);
    make_steps(w, 20, 0);
    struct wire_reader *ring = open_ring(&f);
    CHECK(ring);
    CHECK_NEAR(wire_reader_step(ring), 20, 0);
    char *json = NULL;
    CHECK(tidemark_json(w, &json) == 0);
    CHECK(strstr(json, "\"last_step\": 20"));
    tidemark_free(json);
    tidemark_close(w);
    wire_reader_free(ring);
    end_outside(&f);
}

TEST(lib__a_finished_watcher_leaves_the_telling_to_the_next)
{
    struct folder f = begin_outside();
    tidemark_watcher *first = open_plain_watcher(NULL);
    make_steps(first, 40, 0);
    CHECK(tidemark_finish(first) == 0);
    tidemark_watcher *next = open_plain_watcher(NULL);
    make_steps(next, 20, 0);
    struct wire_reader *ring = open_ring(&f);
    CHECK(ring);
    CHECK_NEAR(wire_reader_step(ring), 20, 0);
    tidemark_close(first);
    tidemark_close(next);
    wire_reader_free(ring);
    end_outside(&f);
}

TEST(lib__under_a_watcher_outside_no_file_is_written)
{
    struct folder f = begin_outside();
    tidemark_watcher *w = open_plain_watcher(f.file), *second = open_plain_watcher(f.file);
    CHECK(w && second);
    make_steps(w, 20, 0);
    CHECK(judge(w).size > 0);
    tidemark_close(w);
    tidemark_close(second);
    CHECK(file_bytes(&f, "") < 0);
    end_outside(&f);
}

/* The variable may outlive the watcher that set it. */
TEST(lib__where_nobody_is_outside_it_records_itself)
{
    struct folder f = folder_begin();
    setenv(WIRE_DIRECTORY_VARIABLE, "/no/such/folder", 1);
    tidemark_watcher *w = open_plain_watcher(f.file);
    unsetenv(WIRE_DIRECTORY_VARIABLE);
    CHECK(w);
    make_steps(w, 20, 0);
    tidemark_close(w);
    CHECK(file_bytes(&f, "") > 0);
    folder_end(&f);
}

/* ---- the GPU ---- */

/* The stand-in simulates one device that this process uses; a forked child does not touch the
 * driver. */
TEST(lib__the_drivers_word_on_this_process_is_told)
{
    struct folder f = folder_begin();
    FILE *file = fopen(f.file, "w");
    fputs("device uuid=GPU-1 name=H100 total=80G util=37\nprocess pid=self used=3G\n"
          "device uuid=GPU-2 name=H100 total=80G util=99\nprocess pid=1 used=9G\n",
          file);
    fclose(file);
    setenv("TIDEMARK_NVML", "./tests/libnvml_standin.so", 1);
    setenv("TIDEMARK_STANDIN", f.file, 1);
    tidemark_watcher *w = NULL;
    struct tidemark_now now = {.size = sizeof(now)};
    CHECK(tidemark_open(NULL, &w) == 0);
    make_steps(w, 20, 0);
    CHECK(tidemark_look(w, &now) == 0);
    CHECK_NEAR(now.gpu_bytes, 3 * 0x1p30, 0);
    CHECK_NEAR(now.gpu_used, 0.37, 1e-9);
    pid_t child = fork();
    if (child == 0) {
        tidemark_close(w);
        _exit(0);
    }
    CHECK(wait_status(child) == 0);
    CHECK(tidemark_look(w, &now) == 0 && now.gpu_bytes > 0);
    tidemark_close(w);
    unsetenv("TIDEMARK_NVML");
    unsetenv("TIDEMARK_STANDIN");
    folder_end(&f);
}
