/* tests/unit/test_store_damage.c: files that are not run files, or no longer, are refused with a
 * message. */
#include "store/store.h"

#include "random.h"
#include "store_files.h"
#include "unit.h"

#include <errno.h>
#include <sqlite3.h>

static int refused(const char *path, char text[240])
{
    struct store_error error = {""};
    struct store *s = NULL;
    int r = store_open(path, &s, &error);
    memcpy(text, error.text, sizeof error.text);
    store_free(s);
    return r;
}

#define CHECK_REFUSED(path, code, words)                                                           \
    do {                                                                                           \
        char text[240];                                                                            \
        CHECK(refused(path, text) == (code));                                                      \
        CHECK_TEXT(text, words);                                                                   \
    } while (0)

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != 0)
        abort();
    sqlite3_close(db);
}

TEST(store__says_what_is_no_file)
{
    struct folder f = folder_begin();
    CHECK_REFUSED(f.file, -ENOENT, "cannot be opened: No such file or directory");
    CHECK_REFUSED(f.path, -EISDIR, "a directory, not a run file");
    CHECK_REFUSED("/dev/null", -EINVAL, "not a run file: not a regular file");
    folder_end(&f);
}

TEST(store__says_what_is_no_run_file)
{
    struct folder f = folder_begin();
    write_file(f.file, "", 0);
    CHECK_REFUSED(f.file, -EINVAL, "not a run file: it is empty");
    write_file(f.file, "step,loss\n1,2\n", 14);
    CHECK_REFUSED(f.file, -EINVAL, "not a run file: not an SQLite database");
    CHECK(unlink(f.file) == 0);
    change(f.file, "CREATE TABLE sample (a)");
    CHECK_REFUSED(f.file, -EINVAL, "not a run file: an SQLite database of another program");
    folder_end(&f);
}

TEST(store__refuses_a_newer_schema)
{
    struct folder f = folder_begin();
    CHECK(store_close(create_plain(&f), 1) == 0);
    change(f.file, "PRAGMA user_version = 2");
    CHECK_REFUSED(f.file, -EPROTO,
                  "written by a newer tidemark (schema 2; this one reads up to 1)");
    folder_end(&f);
}

TEST(store__says_that_tables_are_missing)
{
    struct folder f = folder_begin();
    CHECK(store_close(create_plain(&f), 1) == 0);
    change(f.file, "DROP VIEW reading; DROP TABLE mark; CREATE VIEW mark AS SELECT 1 AS seconds");
    CHECK_REFUSED(f.file, -EBADMSG, "damaged: some tables are missing");
    folder_end(&f);
}

static int is_forbidden(const struct folder *f)
{
    char text[240];
    int r = refused(f->file, text);
    return !(r == -EACCES && strcmp(text, "cannot be opened: Permission denied") == 0);
}

TEST(store__says_that_it_may_not_read)
{
    struct folder f = folder_begin();
    CHECK(store_close(create_plain(&f), 1) == 0);
    CHECK(chmod(f.path, 0755) == 0 && chmod(f.file, 0) == 0);
    CHECK(as_nobody(is_forbidden, &f) == 0);
    folder_end(&f);
}

/* Writes a run with something in every table. */
static void write_rich(const struct folder *f)
{
    struct store *s = create_plain(f);
    int64_t series[5];
    for (int i = 0; i < 5; i++) {
        int64_t p =
            store_add_process(s, &(struct store_process){.pid = i + 1, .command = "python"});
        series[i] = store_add_series(s, &(struct store_series){.process = p, .kind = "host.rss"});
    }
    for (int t = 0; t < 1500; t++) {
        for (int i = 0; i < 5; i++)
            store_add_sample(s, series[i], t, 1e9 + 1000.0 * t * i);
        store_add_mark(s, t, t, NAN);
        store_add_event(s, t, "note", "something");
        if (t % 4 == 0 && store_commit(s, t) < 0)
            abort();
    }
    store_set_sites(s, 1, "tidemark sites 1\n");
    store_set_answer(s, "{}", "{}");
    if (store_close(s, 1500) < 0)
        abort();
}

static int nothing_process(void *c, int64_t id, const struct store_process *p)
{
    (void) c;
    (void) id;
    return p->role && p->role[0] == '\1';
}

static int nothing_series(void *c, int64_t id, const struct store_series *x)
{
    (void) c;
    (void) id;
    return x->kind[0] == '\1';
}

static int nothing_mark(void *c, double seconds, double step, double epoch)
{
    (void) c;
    return seconds + step == epoch;
}

static int nothing_event(void *c, double seconds, const char *what, const char *text)
{
    (void) c;
    return what[0] == '\1' && text[0] == '\1' && seconds > 0;
}

static int nothing_look(void *c, int64_t process, const struct store_heap_point *x)
{
    (void) c;
    return x->anon == (double) process && x->seconds == x->data;
}

static int nothing_census(void *c, int64_t process, const struct store_census *x)
{
    (void) c;
    return x->text[0] == '\1' && process > 0;
}

static int nothing_sites(void *c, int64_t process, const char *text)
{
    (void) c;
    return text[0] == '\1' && process > 0;
}

/* Reads everything in the file. */
static void read_all(const struct folder *f)
{
    const char *json, *report;
    struct store *s = open_plain(f);
    if (!s)
        return;
    (void) store_is_finished(s);
    (void) store_answer(s, &json, &report);
    (void) store_last_seconds(s);
    (void) store_each_process(s, nothing_process, NULL);
    (void) store_each_series(s, nothing_series, NULL);
    (void) series_total(s, 1);
    (void) store_each_mark(s, nothing_mark, NULL);
    (void) store_each_event(s, nothing_event, NULL);
    (void) store_each_heap_point(s, nothing_look, NULL);
    (void) store_each_census(s, nothing_census, NULL);
    (void) store_each_sites(s, nothing_sites, NULL);
    store_free(s);
}

static char *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "r");
    char *bytes = malloc(1 << 20);
    if (!file || !bytes)
        abort();
    *ret_len = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

TEST(store__survives_a_file_that_ends_anywhere)
{
    struct folder f = folder_begin();
    write_rich(&f);
    size_t len;
    char *bytes = read_file(f.file, &len);
    CHECK(len > 40000);
    for (size_t cut = 1; cut < len; cut += cut < 200 ? 7 : 1777) {
        write_file(f.file, bytes, cut);
        read_all(&f);
    }
    free(bytes);
    folder_end(&f);
}

TEST(store__survives_bits_that_fell_over)
{
    struct folder f = folder_begin();
    write_rich(&f);
    size_t len;
    char *bytes = read_file(f.file, &len);
    struct random r = {7};
    for (int round = 0; round < 300; round++) {
        char *copy = malloc(len);
        CHECK(copy);
        memcpy(copy, bytes, len);
        /* Half of the changes are in the header and the schema, where they do most harm. */
        for (int i = 0; i < 1 + round % 20; i++) {
            size_t range = random_bits(&r) % 2 ? len : 4096;
            copy[random_bits(&r) % range] ^= (char) (1 << random_bits(&r) % 8);
        }
        write_file(f.file, copy, len);
        read_all(&f);
        free(copy);
    }
    free(bytes);
    folder_end(&f);
}

TEST(store__says_that_pages_are_damaged)
{
    struct folder f = folder_begin();
    write_rich(&f);
    size_t len;
    char *bytes = read_file(f.file, &len), text[240];
    memset(bytes + 100, 0x55, 3000);
    write_file(f.file, bytes, len);
    CHECK(refused(f.file, text) == -EBADMSG);
    CHECK_TEXT(text, "damaged: the database cannot be read");
    free(bytes);
    folder_end(&f);
}
