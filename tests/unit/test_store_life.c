/* tests/unit/test_store_life.c: a run file that is being written, killed, read-only or out of
 * room. */
#include "store/store.h"

#include "store_files.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* Writes one sample a second from `from` on, each with its commit, up to the first commit that
 * fails. */
static int write_seconds(struct store *s, int64_t series, int from, int to)
{
    int r = 0;
    for (int t = from; t < to && r == 0; t++) {
        store_add_sample(s, series, t, 1000 + t);
        r = store_commit(s, t);
    }
    return r;
}

TEST(store__is_read_while_it_is_written)
{
    struct folder f = folder_begin();
    struct store *w = create_plain(&f);
    int64_t series = add_series(w, "host.rss");
    CHECK(write_seconds(w, series, 0, 10) == 0);
    struct store *r = open_plain(&f);
    CHECK(r && !store_is_finished(r));
    CHECK(series_total(r, series).rows == 10 && store_last_seconds(r) == 9);
    CHECK(write_seconds(w, series, 10, 25) == 0);
    CHECK(series_total(r, series).rows == 25 && store_last_seconds(r) == 24);
    store_add_sample(w, series, 25, 1);
    CHECK(series_total(r, series).rows == 25);
    store_set_answer(w, "{}", NULL);
    CHECK(store_close(w, 26) == 0);
    CHECK(series_total(r, series).rows == 26 && store_is_finished(r));
    store_free(r);
    r = open_plain(&f);
    CHECK(r && series_total(r, series).rows == 26);
    store_free(r);
    folder_end(&f);
}

TEST(store__keeps_its_log_short_beside_an_idle_reader)
{
    struct folder f = folder_begin();
    struct store *w = create_plain(&f);
    int64_t series[50];
    for (int i = 0; i < 50; i++)
        series[i] = add_series(w, "host.rss");
    struct store *r = open_plain(&f);
    CHECK(r);
    for (int t = 0; t < 3000; t++) {
        for (int i = 0; i < 50; i++)
            store_add_sample(w, series[i], t, 1e9 + t * i);
        CHECK(store_commit(w, t) == 0);
        CHECK(t % 100 != 0 || series_total(r, series[0]).count == t + 1);
        CHECK(file_bytes(&f, "-wal") < 5e6);
    }
    store_free(r);
    CHECK(store_close(w, 3000) == 0);
    folder_end(&f);
}

/* Reports its progress after each commit, and continues until it is killed. */
static void write_for_ever(const struct folder *f, int said)
{
    struct store *s = create_plain(f);
    int64_t series = add_series(s, "host.rss");
    for (int t = 0; t < 1000000; t++) {
        store_add_sample(s, series, t, t);
        if (store_commit(s, t) < 0 || write(said, &t, sizeof t) != (ssize_t) sizeof t)
            break;
    }
    _exit(1);
}

TEST(store__survives_its_writer)
{
    struct folder f = folder_begin();
    int ends[2], told = -1, status;
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        write_for_ever(&f, ends[1]);
    }
    close(ends[1]);
    while (told < 2000)
        CHECK(read(ends[0], &told, sizeof told) == (ssize_t) sizeof told);
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    while (read(ends[0], &told, sizeof told) == (ssize_t) sizeof told)
        continue;
    close(ends[0]);
    struct store *s = open_plain(&f);
    CHECK(s && !store_is_finished(s));
    CHECK(store_last_seconds(s) >= told && store_last_seconds(s) <= told + 1);
    struct total t = series_total(s, 1);
    CHECK(t.count == store_last_seconds(s) + 1 && t.disordered == 0);
    store_free(s);
    folder_end(&f);
}

/* ---- the file without its log ---- */

/* How far a copy of the file alone goes, without the files beside it. NAN: not a run file. */
static double last_of_copy(const struct folder *f)
{
    char command[320];
    struct folder copy = folder_begin();
    snprintf(command, sizeof command, "cp '%s' '%s'", f->file, copy.file);
    if (system(command) != 0) /* NOLINT: names of our own */
        abort();
    struct store *s = open_plain(&copy);
    double last = s ? store_last_seconds(s) : (double) NAN;
    store_free(s);
    folder_end(&copy);
    return last;
}

TEST(store__copied_without_its_log_lacks_a_minute_at_most)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    CHECK(write_seconds(s, series, 0, 4) == 0);
    CHECK(last_of_copy(&f) >= 2);
    for (int t = 4; t < 2000; t++) {
        CHECK(write_seconds(s, series, t, t + 1) == 0);
        if (t % 97 == 0)
            CHECK(last_of_copy(&f) >= t - 60);
    }
    CHECK(file_bytes(&f, "-wal") < 1e6);
    store_free(s);
    folder_end(&f);
}

/* An active reader keeps its view of the data, and nobody waits. */
TEST(store__checkpoints_beside_a_reader)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    CHECK(write_seconds(s, series, 0, 10) == 0);
    struct store *r = open_plain(&f);
    CHECK(r && store_last_seconds(r) == 9);
    CHECK(write_seconds(s, series, 10, 200) == 0);
    CHECK(store_last_seconds(r) == 199);
    CHECK(last_of_copy(&f) >= 139);
    store_free(r);
    CHECK(store_close(s, 200) == 0);
    CHECK(file_bytes(&f, "-wal") == -1 && file_bytes(&f, "-shm") == -1);
    CHECK(last_of_copy(&f) == 199);
    folder_end(&f);
}

TEST(store__freed_without_an_answer_is_not_finished)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    CHECK(write_seconds(s, series, 0, 5) == 0);
    store_set_answer(s, "never committed", NULL);
    CHECK(!store_free(s));
    s = open_plain(&f);
    CHECK(s && !store_is_finished(s) && series_total(s, series).rows == 5);
    store_free(s);
    folder_end(&f);
}

/* ---- where nothing can be written ---- */

static int has_five(const struct folder *f)
{
    struct store *s = open_plain(f);
    int found = s && series_total(s, 1).rows == 5;
    store_free(s);
    return !found;
}

static int wants_its_log(const struct folder *f)
{
    struct store_error error = {""};
    struct store *s = NULL;
    int r = store_open(f->file, &s, &error);
    return !(r < 0 && strstr(error.text, "copy both"));
}

/* Makes the folder and the files in it read-only. */
static void make_read_only(const struct folder *f)
{
    static const char *suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", f->file, suffixes[i]);
        if (chmod(path, 0444) < 0 && errno != ENOENT)
            abort();
    }
    if (chmod(f->path, 0555) < 0)
        abort();
}

TEST(store__is_read_from_a_folder_that_is_read_only)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    CHECK(write_seconds(s, add_series(s, "host.rss"), 0, 5) == 0);
    CHECK(store_close(s, 5) == 0);
    make_read_only(&f);
    CHECK(as_nobody(has_five, &f) == 0);
    CHECK(chmod(f.path, 0700) == 0);
    folder_end(&f);
}

/* Leaves the file as a killed writer does. */
static void kill_after_five(const struct folder *f)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct store *s = create_plain(f);
        _exit(write_seconds(s, add_series(s, "host.rss"), 0, 5) < 0);
    }
    if (waitpid(pid, NULL, 0) != pid)
        abort();
}

TEST(store__is_read_where_a_killed_writer_left_its_log_and_nothing_can_be_written)
{
    struct folder f = folder_begin();
    kill_after_five(&f);
    CHECK(file_bytes(&f, "-wal") > 0);
    make_read_only(&f);
    CHECK(as_nobody(has_five, &f) == 0);
    CHECK(chmod(f.path, 0700) == 0);
    folder_end(&f);
}

TEST(store__says_that_it_needs_its_log)
{
    struct folder f = folder_begin();
    char shm[128];
    kill_after_five(&f);
    snprintf(shm, sizeof shm, "%s-shm", f.file);
    CHECK(unlink(shm) == 0);
    make_read_only(&f);
    CHECK(as_nobody(wants_its_log, &f) == 0);
    CHECK(chmod(f.path, 0700) == 0);
    folder_end(&f);
}

/* ---- out of room ---- */

/* Adds 200 samples per second until a commit fails. Returns that second; -1: none failed. */
static int fill(struct store *s, const int64_t series[200], int from, int to)
{
    for (int t = from; t < to; t++) {
        for (int i = 0; i < 200; i++)
            store_add_sample(s, series[i], t, 1e9 + 1237.0 * i * t);
        if (store_commit(s, t) < 0)
            return t;
    }
    return -1;
}

static void add_200(struct store *s, int64_t series[200])
{
    for (int i = 0; i < 200; i++)
        series[i] = add_series(s, "host.rss");
}

/* The whole sequence, on a small file system of its own. */
static void run_out_of_room(const struct folder *f)
{
    struct store *s = create_plain(f);
    CHECK(s);
    int64_t series[200], late;
    add_200(s, series);
    int full = fill(s, series, 0, 2000);
    CHECK(full > 5);
    CHECK(store_commit(s, full) == -ENOSPC);
    struct store *r = open_plain(f);
    CHECK(r && series_total(r, series[7]).last_seconds == full - 1);
    store_free(r);
    /* The edges of the gap, and what was added within it, are present afterwards. */
    late = add_series(s, "host.anon");
    CHECK(late == 201);
    for (int t = full; t < full + 300; t++) {
        store_add_sample(s, late, t, 5);
        CHECK(store_commit(s, t) == -ENOSPC);
    }
    CHECK(mount("tidemark", f->path, "tmpfs", MS_REMOUNT, "size=64m") == 0);
    CHECK(store_commit(s, full + 311) == 0);
    CHECK(fill(s, series, full + 312, full + 330) == -1);
    store_set_answer(s, "{}", NULL);
    CHECK(store_close(s, full + 330) == 0);
    r = open_plain(f);
    CHECK(r && store_is_finished(r));
    struct total t = series_total(r, series[7]);
    CHECK(t.last_seconds == full + 329 && t.disordered == 0);
    CHECK(t.count == full + 1 + 18);
    CHECK(series_total(r, late).count == 300);
    store_free(r);
}

TEST(store__goes_on_when_a_full_disk_has_room_again)
{
    struct folder f = folder_begin();
    if (mount("tidemark", f.path, "tmpfs", 0, "size=1m") < 0) {
        printf("  skipped: a file system cannot be mounted here: %s\n", strerror(errno));
        folder_end(&f);
        return;
    }
    run_out_of_room(&f);
    CHECK(umount2(f.path, MNT_DETACH) == 0);
    folder_end(&f);
}

/* Limits files to `bytes` bytes; returns the previous limit. */
static struct rlimit limit_files(rlim_t bytes)
{
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &before) < 0)
        abort();
    limit = (struct rlimit){bytes, before.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        abort();
    return before;
}

/* Starts a reading transaction, so what is written after it must stay in the log. */
static sqlite3 *begin_reading(const struct folder *f)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(f->file, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN; SELECT count(*) FROM sample", NULL, NULL, NULL) != SQLITE_OK)
        abort();
    return db;
}

TEST(store__makes_room_by_emptying_its_log)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series[200];
    CHECK(s);
    add_200(s, series);
    CHECK(store_commit(s, 0) == 0);
    sqlite3 *reader = begin_reading(&f);
    struct rlimit before = limit_files(300000);
    int full = fill(s, series, 0, 2000);
    sqlite3_close(reader);
    int still = store_commit(s, full + 9), again = store_commit(s, full + 10);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(full > 5 && still == -ENOSPC && again == 0);
    CHECK(store_close(s, full + 11) == 0);
    struct store *r = open_plain(&f);
    CHECK(r && series_total(r, series[7]).count == full + 1);
    store_free(r);
    folder_end(&f);
}

TEST(store__leaves_no_file_that_it_could_not_begin)
{
    struct folder f = folder_begin();
    struct store_run run = plain_run();
    struct store *s = NULL;
    struct rlimit before = limit_files(5000);
    int r = store_create(f.file, &run, &s);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(r == -ENOSPC && !s);
    CHECK(file_bytes(&f, "") < 0 && file_bytes(&f, "-wal") < 0 && file_bytes(&f, "-shm") < 0);
    folder_end(&f);
}

TEST(store__never_lets_marks_crowd_out_a_process)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    CHECK(s);
    for (int t = 0; t < 40000; t++)
        store_add_mark(s, t, t, NAN);
    CHECK(store_add_process(s, &(struct store_process){.pid = 5}) == 1);
    CHECK(store_close(s, 40000) == 0);
    folder_end(&f);
}

TEST(store__needs_no_lock_while_nothing_waits)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    CHECK(write_seconds(s, series, 0, 5) == 0);
    sqlite3 *db;
    CHECK(sqlite3_open(f.file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(store_commit(s, 5) == 0);
    store_add_sample(s, series, 6, 1);
    CHECK(store_commit(s, 6) == -EBUSY);
    CHECK(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    CHECK(store_close(s, 7) == 0);
    folder_end(&f);
}

TEST(store__waits_for_somebody_elses_lock)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    sqlite3 *db;
    CHECK(sqlite3_open(f.file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(write_seconds(s, series, 0, 1) == -EBUSY);
    CHECK(write_seconds(s, series, 1, 2) == -EBUSY);
    CHECK(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    CHECK(write_seconds(s, series, 2, 5) == 0);
    CHECK(store_close(s, 5) == 0);
    CHECK(has_five(&f) == 0);
    folder_end(&f);
}
