/* tests/fuzz/fuzz_store.c: a run file with changed bytes. The first two bytes of the input cut the
 * file; each three after them are a position (two) and a value (one). The file is opened, read and
 * judged, or refused with a message. */
#include "replay/replay.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A folder of its own and the one file in it. */
struct place {
    char folder[40], path[60];
};

/* The run file that every input changes. */
struct original {
    uint8_t bytes[1 << 16];
    size_t len;
};

static struct place make_place(void)
{
    struct place p = {.folder = "/tmp/tidemark-fuzz-XXXXXX"};
    if (!mkdtemp(p.folder))
        abort();
    snprintf(p.path, sizeof p.path, "%s/run.tide", p.folder);
    return p;
}

/* Also removes what SQLite may leave beside a file that claims to have a log. */
static void remove_place(const struct place *p)
{
    static const char *suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char path[70];
        snprintf(path, sizeof path, "%s%s", p->path, suffixes[i]);
        (void) unlink(path);
    }
    if (rmdir(p->folder) < 0)
        abort();
}

/* One series over a long time: blocks of several widths in a small file. */
static void write_run(const char *path)
{
    struct store_run run = {.title = "train", .started = 1, .limit_bytes = NAN};
    struct store *s;
    if (store_create(path, &run, &s) < 0)
        abort();
    int64_t p = store_add_process(s, &(struct store_process){.pid = 1, .role = "trainer"});
    int64_t x = store_add_series(s, &(struct store_series){.process = p, .kind = "host.anon"});
    for (int t = 0; t < 3000; t += 10) {
        store_add_sample(s, x, t, t);
        store_add_mark(s, t, t, NAN);
        if (store_commit(s, t) < 0)
            abort();
    }
    store_add_event(s, 5, "note", "text");
    store_set_heap_points(s, p,
                          (struct store_heap_point[]){
                              {1, 9, 5, 1, 9, 3, 1}, {2, 9, 5, 1, 9, 3, 1}, {3, 9, 6, 1, 9, 3, 2}},
                          3);
    store_set_census(
        s, p,
        &(struct store_census){true, 0,
                               WIRE_CENSUS_FIRST_LINE
                               "\ncensus\t4\t2999000000000\t9\t1\t4\n"
                               "growing\t1\tcontainer\t600\t0\t\t"
                               "100000000000:1 900000000000:9 1900000000000:19 2900000000000:29\n"
                               "what\t1\tlist\tlist\nitem\t1\ttensor\tT\tint8\t0\t[]\tcpu\n"
                               "holder\t1\t1\tlocal\tx\tf\t/x.py\t3\naddition\t1\t4\n"});
    store_set_sites(s, p, "tidemark sites 1\nsampling\t0\t2999\t1024\t9\t1\t0\t\n");
    store_set_answer(s, "{}", "{}");
    if (store_close(s, 3000) < 0)
        abort();
}

static void make_original(struct original *o)
{
    struct place p = make_place();
    write_run(p.path);
    FILE *file = fopen(p.path, "rb");
    o->len = file ? fread(o->bytes, 1, sizeof o->bytes, file) : 0;
    if (o->len == 0 || o->len == sizeof o->bytes || fclose(file) != 0)
        abort();
    remove_place(&p);
}

/* Applies the changes in `data` to the original. */
static size_t change(const struct original *o, const uint8_t *data, size_t size, uint8_t *bytes)
{
    memcpy(bytes, o->bytes, o->len);
    size_t len = o->len;
    if (size >= 2 && (data[0] || data[1]))
        len = (size_t) (data[0] << 8 | data[1]) % o->len;
    for (size_t i = 2; i + 2 < size; i += 3)
        bytes[(size_t) (data[i] << 8 | data[i + 1]) % o->len] = data[i + 2];
    return len;
}

static int on_process(void *c, int64_t id, const struct store_process *p)
{
    (void) c;
    (void) id;
    return p ? 0 : -1;
}

static int on_series(void *c, int64_t id, const struct store_series *x)
{
    (void) c;
    (void) id;
    if (!x->kind)
        abort();
    return 0;
}

static int on_sample(void *c, const struct store_sample *x)
{
    (void) c;
    return x ? 0 : -1;
}

static int on_mark(void *c, double seconds, double step, double epoch)
{
    (void) c;
    return seconds + step + epoch > 1e300 ? -1 : 0;
}

static int on_event(void *c, double seconds, const char *what, const char *text)
{
    (void) c;
    (void) seconds;
    if (!what || !text)
        abort();
    return 0;
}

static int on_look(void *c, int64_t process, const struct store_heap_point *x)
{
    (void) c;
    return x->seconds + (double) process > 1e300 ? -1 : 0;
}

static int on_census(void *c, int64_t process, const struct store_census *x)
{
    (void) c;
    (void) process;
    if (!x->text)
        abort();
    return 0;
}

static int on_sites(void *c, int64_t process, const char *text)
{
    (void) c;
    (void) process;
    if (!text)
        abort();
    return 0;
}

static void judge(struct store *s)
{
    struct recording_options options = {0};
    struct recording *r;
    struct view v;
    if (recording_new(s, &r) < 0)
        return;
    if (recording_judge(r, &options, &v) == 0)
        view_release(&v);
    recording_free(r);
}

static void read_all(struct store *s)
{
    const char *json, *report;
    if (!store_run(s))
        abort();
    (void) store_is_finished(s);
    (void) store_last_seconds(s);
    (void) store_answer(s, &json, &report);
    (void) store_each_process(s, on_process, NULL);
    (void) store_each_series(s, on_series, NULL);
    (void) store_each_sample(s, 1, on_sample, NULL);
    (void) store_each_mark(s, on_mark, NULL);
    (void) store_each_event(s, on_event, NULL);
    (void) store_each_heap_point(s, on_look, NULL);
    (void) store_each_census(s, on_census, NULL);
    (void) store_each_sites(s, on_sites, NULL);
    judge(s);
    store_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct original original;
    static uint8_t bytes[sizeof original.bytes];
    if (original.len == 0)
        make_original(&original);
    struct place p = make_place();
    size_t len = change(&original, data, size, bytes);
    FILE *file = fopen(p.path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
    struct store_error error = {""};
    struct store *s;
    (void) store_is_one(p.path);
    if (store_open(p.path, &s, &error) == 0)
        read_all(s);
    else if (!error.text[0])
        abort();
    remove_place(&p);
    return 0;
}
