/* tests/unit/test_serve_runs.c: the list of runs, and files below a folder. */
#include "serve/place.h"
#include "serve/runs.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text with NULs, as a reader writes it. */
#define TAKE(runs, text, is_complete) runs_take(runs, text, sizeof(text) - 1, is_complete)

static struct runs empty(void)
{
    struct runs r;
    if (runs_init(&r, "/", "x/") < 0)
        r = (struct runs){.count = 0};
    return r;
}

static char listed[4096];

static const char *json(struct runs *r)
{
    struct buf out = BUF_INIT;
    runs_json(r, &out);
    snprintf(listed, sizeof(listed), "%s", buf_text(&out));
    buf_release(&out);
    return listed;
}

TEST(runs__lists_what_a_scan_found_newest_first)
{
    struct runs r = empty();
    TAKE(&r,
         "F\0old\0F\0new\0F\0odd one\0B\0old\0s1\0S\0old\0s1\0001.5\0{\"o\": 1}\0\0"
         "B\0new\0s2\0S\0new\0s2\0002.5\0{\"n\": 1}\0\0E\0",
         true);
    CHECK_TEXT(json(&r),
               "{\"page\": \"runs\", \"format\": 1, \"title\": \"x/\", \"runs\": ["
               "{\"n\": 1},{\"o\": 1},{\"href\": \"runs/odd%20one/\", \"name\": \"odd one\"}]}");
    CHECK(runs_find(&r, "new") && !runs_find(&r, "none") && !runs_find(&r, ""));
    CHECK_TEXT(runs_find(&r, "new")->stamp, "s2");
    runs_release(&r);
}

TEST(runs__forgets_what_is_gone)
{
    struct runs r = empty();
    TAKE(&r, "F\0a\0F\0b\0E\0", true);
    CHECK(r.count == 2);
    TAKE(&r, "F\0b\0N\0too large\0E\0", true);
    CHECK(r.count == 1 && runs_find(&r, "b"));
    CHECK_TEXT(r.note, "too large");
    TAKE(&r, "E\0", true);
    CHECK(r.count == 0 && !r.note);
    runs_release(&r);
}

TEST(runs__blames_the_file_at_which_a_scan_died)
{
    struct runs r = empty();
    TAKE(&r, "F\0a\0F\0b\0E\0", true);
    TAKE(&r, "F\0a\0F\0b\0B\0a\0s1\0S\0a\0s1\0\0{}\0\0B\0b\0s2\0", false);
    CHECK(r.count == 2);
    CHECK(!runs_find(&r, "a")->problem);
    CHECK(strstr(runs_find(&r, "b")->problem, "damaged"));
    CHECK_TEXT(runs_find(&r, "b")->stamp, "s2");
    runs_release(&r);
}

TEST(runs__takes_no_half_record)
{
    struct runs r = empty();
    TAKE(&r, "F\0a\0S\0a\0s1\0001\0{}", false);
    CHECK(r.count == 1 && !runs_find(&r, "a")->summary);
    TAKE(&r, "F", false);
    TAKE(&r, "", false);
    TAKE(&r, "Q\0x\0", false);
    CHECK(r.count == 1);
    runs_release(&r);
}

TEST(runs__names_files_of_one_name_apart)
{
    struct runs r;
    CHECK(runs_init(&r, NULL, "x") == 0);
    CHECK(runs_add(&r, "/bin/sh") == 0 && runs_add(&r, "/bin/sh") == 0);
    CHECK(runs_add(&r, "/nonexistent/x") == -ENOENT);
    CHECK(r.count == 2 && strcmp(r.items[0].name, r.items[1].name) != 0);
    CHECK_TEXT(r.items[0].file, r.items[1].file);
    runs_release(&r);
}

/* ---- places ---- */

static char root[] = "serve-XXXXXX";

static void make_files(void)
{
    FILE *f;
    if (!mkdtemp(root) || chdir(root) < 0)
        return;
    mkdir("in", 0700);
    f = fopen("in/a.tide", "w");
    if (f)
        fclose(f);
    if (symlink("in", "folder") < 0 || symlink("in/a.tide", "link.tide") < 0 ||
        mkfifo("pipe.tide", 0600) < 0 || mkdir("dir.tide", 0700) < 0)
        return;
}

static void remove_files(void)
{
    unlink("in/a.tide");
    unlink("folder");
    unlink("link.tide");
    unlink("pipe.tide");
    rmdir("dir.tide");
    rmdir("in");
    if (chdir("..") == 0)
        rmdir(root);
}

/* place_enter() changes the folder: back to where we were. */
static int enter(const char *from, const char *name, struct place *ret)
{
    int r = place_enter(from, name, ret);
    return chdir(from) < 0 ? -EIO : r;
}

static void count_name(void *context, const char *name)
{
    unsigned *right = context;
    *right += strcmp(name, "in/a.tide") == 0 ? 1 : 100;
}

TEST(place__follows_no_link)
{
    char from[4096];
    struct place p;
    struct buf note = BUF_INIT;
    unsigned right = 0;
    make_files();
    int there = getcwd(from, sizeof(from)) ? enter(from, "in/a.tide", &p) : -EIO;
    int folder = enter(from, "folder/a.tide", &p), link = enter(from, "link.tide", &p);
    int pipe = enter(from, "pipe.tide", &p), dir = enter(from, "dir.tide", &p);
    int up = enter(from, "in//a.tide", &p), none = enter(from, "in/b.tide", &p);
    int all = place_each(from, count_name, &right, &note);
    remove_files();
    CHECK(there == 0 && p.is_live && p.stamp[0]);
    CHECK(folder == -ENOTDIR && link == -ELOOP && pipe == -EINVAL && dir == -EINVAL);
    CHECK(up == -ENOENT && none == -ENOENT);
    CHECK(all == 0 && right == 1 && note.len == 0);
    CHECK(place_each("/nonexistent", count_name, &right, &note) == -ENOENT);
}
