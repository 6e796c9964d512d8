/* launch/inside.c: lets a command's processes report: ring directory, environment, probe. */
#include "launch/launch.h"
#include "launch/probe_copy.h"
#include "wire/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROBE_FILE "libtidemark_probe.so"
#define TRACING_PROBE_FILE "libtidemark_preload.so"
#define DIRECTORY_NAME "tidemark-"

/* A directory that nobody reads was left by a run, unless it is younger than this. */
#define ABANDONED_SECONDS 60

/* Programs linked with gcc's libasan do not start after a preloaded library without this option. */
#define ASAN_OPTION "verify_asan_link_order=0"

struct inside {
    char *directory;
    char **environment; /* NULL-terminated; entries that are ours come first */
    char *own[4];       /* variables of the environment, owned, NULL-terminated */
    struct buf copy;    /* path of the copy that every user can load; empty: none */
    int copy_lock;      /* held while the run lasts; -1: none */
    struct buf why;
};

/* ---- the probe ---- */

/* The folder of the program's own file. */
static int own_folder(char ret[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    if (n < 0)
        return -errno;
    ret[n] = '\0';
    char *slash = strrchr(ret, '/');
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    return 0;
}

int inside_find_probe(bool traces, struct buf *ret_path, struct buf *ret_why)
{
    const char *file = traces ? TRACING_PROBE_FILE : PROBE_FILE;
    static const char *const places[] = {"", "/../lib/tidemark"};
    char folder[PATH_MAX], path[PATH_MAX + 64], whole[PATH_MAX];
    int r = own_folder(folder);
    for (unsigned i = 0; r == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s%s/%s", folder, places[i], file);
        if (access(path, R_OK) < 0 || !realpath(path, whole))
            continue;
        if (strpbrk(whole, " :\t\n")) {
            buf_addf(ret_why, "%s cannot be preloaded: there is a blank or a colon in its path",
                     whole);
            return -EINVAL;
        }
        buf_adds(ret_path, whole);
        return 0;
    }
    buf_addf(ret_why, "%s is neither beside the program nor in ../lib/tidemark", file);
    return -ENOENT;
}

/* ---- the directory ---- */

/* Opens a directory of our own user, root or not: others' directories are theirs to remove. */
static int open_own(int place, const char *name, struct stat *ret)
{
    int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, ret) == 0 && ret->st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool is_abandoned(int directory, const struct stat *st)
{
    if (time(NULL) - st->st_mtime < ABANDONED_SECONDS)
        return false;
    int fd = openat(directory, WIRE_WAKE_FILE, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && (errno == ENXIO || errno == ENOENT);
}

/* A process opens them as it begins: later it may have given up the right to. */
static void make_orders(const char *directory)
{
    int place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = place < 0 ? -1 : wire_trace_orders_create(place);
    if (fd >= 0)
        close(fd);
    if (place >= 0)
        close(place);
}

/* Takes over the descriptor. */
static void empty(int directory)
{
    struct dirent *entry;
    DIR *folder = fdopendir(directory);
    while (folder && (entry = readdir(folder)) != NULL)
        if (unlinkat(directory, entry->d_name, 0) < 0)
            unlinkat(directory, entry->d_name,
                     AT_REMOVEDIR); /* an empty directory that the job made */
    if (folder)
        closedir(folder);
    else
        close(directory);
}

/* Removes the directories of runs that were killed with everything that could have done so. */
static void sweep(const char *place)
{
    DIR *folder = opendir(place);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        struct stat st;
        if (strncmp(entry->d_name, DIRECTORY_NAME, strlen(DIRECTORY_NAME)) != 0)
            continue;
        int fd = open_own(dirfd(folder), entry->d_name, &st);
        if (fd >= 0 && is_abandoned(fd, &st)) {
            empty(fd);
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
        } else if (fd >= 0) {
            close(fd);
        }
    }
    if (folder)
        closedir(folder);
}

/* In memory if possible: rings are written at every step. */
static char *make_directory(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *const places[] = {"/dev/shm", runtime && runtime[0] == '/' ? runtime : "/tmp",
                                  "/tmp"};
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char *path;
        if (asprintf(&path, "%s/" DIRECTORY_NAME "XXXXXX", places[i]) < 0)
            base_out_of_memory();
        if (mkdtemp(path)) {
            sweep(places[i]);
            return path;
        }
        free(path);
    }
    return NULL;
}

void inside_remove(const char *directory, const char *probe_copy)
{
    struct stat st;
    int fd = open_own(AT_FDCWD, directory, &st);
    if (fd >= 0) {
        empty(fd);
        rmdir(directory);
    }
    if (probe_copy)
        probe_copy_remove(probe_copy);
}

/* ---- the environment ---- */

/* Whether `list`, separated by blanks and colons, contains `word`. */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *s = strstr(list, word); s; s = strstr(s + 1, word)) {
        bool begins = s == list || strchr(" :", s[-1]);
        if (begins && (s[len] == '\0' || strchr(" :", s[len])))
            return true;
    }
    return false;
}

static void own_variable(struct inside *s, const char *name, const char *value)
{
    unsigned i = 0;
    while (s->own[i])
        i++;
    if (asprintf(&s->own[i], "%s=%s", name, value) < 0)
        base_out_of_memory();
}

/* Appends to the user's own value, which comes first. */
static void append_to_variable(struct inside *s, const char *name, const char *word)
{
    const char *now = getenv(name);
    struct buf value = BUF_INIT;
    if (now && now[0])
        buf_adds(&value, now);
    if (!has_word(buf_text(&value), word))
        buf_addf(&value, "%s%s", value.len > 0 ? ":" : "", word);
    own_variable(s, name, buf_text(&value));
    buf_release(&value);
}

static bool is_own(const struct inside *s, const char *entry)
{
    for (unsigned i = 0; s->own[i]; i++) {
        const char *end = strchr(s->own[i], '=');
        if (strncmp(entry, s->own[i], (size_t) (end - s->own[i]) + 1) == 0)
            return true;
    }
    return false;
}

static void fill_environment(struct inside *s)
{
    size_t count = 0, own = 0;
    while (environ[count])
        count++;
    s->environment = calloc(count + sizeof(s->own) / sizeof(s->own[0]), sizeof(char *));
    if (!s->environment)
        base_out_of_memory();
    for (; s->own[own]; own++)
        s->environment[own] = s->own[own];
    for (size_t i = 0; i < count; i++)
        if (!is_own(s, environ[i]))
            s->environment[own++] = environ[i];
}

/* ---- both ---- */

/* Only root can start processes of other users. If there is no place for a copy, the loader
 * prints an error in those; our user's processes are watched all the same. */
static void open_to_all(struct inside *s, struct buf *path)
{
    struct buf copy = BUF_INIT;
    if (geteuid() != 0 || probe_is_readable_by_all(buf_text(path)))
        return;
    int r = probe_copy_make(buf_text(path), &copy, &s->copy_lock);
    if (r > 0)
        buf_adds(&s->copy, buf_text(&copy));
    if (r >= 0) {
        buf_clear(path);
        buf_adds(path, buf_text(&copy));
    }
    buf_release(&copy);
}

/* A missing probe is not reported: steps are read from the output then. */
static void preload_probe(bool traces, struct inside *s)
{
    struct buf path = BUF_INIT;
    int r = inside_find_probe(traces, &path, &s->why);
    if (r == 0) {
        open_to_all(s, &path);
        append_to_variable(s, "LD_PRELOAD", buf_text(&path));
        append_to_variable(s, "ASAN_OPTIONS", ASAN_OPTION);
    } else if (r == -ENOENT) {
        buf_clear(&s->why);
    }
    buf_release(&path);
}

int inside_new(bool traces, struct inside **ret)
{
    struct inside *s = calloc(1, sizeof(*s));
    if (!s)
        base_out_of_memory();
    s->directory = make_directory();
    if (!s->directory) {
        int error = errno;
        free(s);
        return -error;
    }
    s->copy_lock = -1;
    own_variable(s, WIRE_DIRECTORY_VARIABLE, s->directory);
    preload_probe(traces, s);
    if (traces)
        make_orders(s->directory);
    fill_environment(s);
    *ret = s;
    return 0;
}

struct inside *inside_free(struct inside *s)
{
    if (!s)
        return NULL;
    inside_remove(s->directory, inside_probe_copy(s));
    if (s->copy_lock >= 0)
        close(s->copy_lock);
    for (unsigned i = 0; s->own[i]; i++)
        free(s->own[i]);
    free(s->environment);
    free(s->directory);
    buf_release(&s->why);
    buf_release(&s->copy);
    free(s);
    return NULL;
}

const char *inside_directory(const struct inside *s)
{
    return s->directory;
}

const char *inside_probe_copy(const struct inside *s)
{
    return s->copy.len > 0 ? buf_text(&s->copy) : NULL;
}

char *const *inside_environment(const struct inside *s)
{
    return s->environment;
}

const char *inside_why(const struct inside *s)
{
    return s->why.len > 0 ? buf_text(&s->why) : NULL;
}
