/* proc/cgroup.c: the memory cgroup of a process: its usage and its limits. */
#include "proc/cgroup_files.h"
#include "proc/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits above this many levels are not read. */
#define CGROUP_MAX_DEPTH 32

struct cgroup {
    enum cgroup_version version;
    char *path;
    int dir;        /* stays with this cgroup, even if another takes its name */
    unsigned depth; /* folders above it that belong to the hierarchy and are visible */
    struct buf text;
};

struct cgroup *cgroup_free(struct cgroup *c)
{
    if (c) {
        if (c->dir >= 0)
            close(c->dir);
        free(c->path);
        buf_release(&c->text);
    }
    free(c);
    return NULL;
}

enum cgroup_version cgroup_version(const struct cgroup *c)
{
    return c->version;
}

const char *cgroup_path(const struct cgroup *c)
{
    return c->path;
}

/* ---- finding it ---- */

/* Texts needed until the folder is open. */
struct place {
    enum cgroup_version version;
    struct buf path, point, root;
};

static int read_place(int proc, pid_t pid, struct buf *text, struct place *ret)
{
    char name[32];
    snprintf(name, sizeof name, "%d/cgroup", (int) pid);
    int r = file_read_at(proc, name, text);
    if (r == 0)
        r = cgroup_of_process_parse(buf_text(text), text->len, &ret->version, &ret->path);
    if (r < 0)
        return r == -EINVAL ? -ENOENT : r;
    /* Our own mounts are the ones we can open. Both files show paths as our namespace sees them. */
    r = file_read_list_at(proc, "self/mountinfo", text);
    if (r < 0)
        return r;
    return cgroup_mount_parse(buf_text(text), text->len, ret->version, &ret->point, &ret->root);
}

/*
 * The part of `path` below the mount. A container's mount shows only what is below its own cgroup,
 * so `root` is a prefix of `path`. NULL: the mount does not show it.
 */
static const char *below_mount(const char *path, const char *root)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    const char *rest = path + len;
    return strstr(rest, "/..") ? NULL : rest;
}

static unsigned count_folders(const char *path)
{
    unsigned count = 0;
    for (const char *s = path; *s; s++)
        count += *s == '/' && s[1] != '/' && s[1] != '\0';
    return count < CGROUP_MAX_DEPTH ? count : CGROUP_MAX_DEPTH;
}

/* Opens the folder if it is a cgroup that counts memory. */
static int open_folder(struct cgroup *c, const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    const char *usage = c->version == CGROUP_V1 ? "memory.usage_in_bytes" : "memory.current";
    if (faccessat(dir, usage, F_OK, 0) < 0) {
        close(dir);
        return -ENOENT;
    }
    c->dir = dir;
    return 0;
}

/*
 * The nearest folder that counts memory, from the cgroup itself up to the mount point. In v2 a leaf
 * need not count memory, and a container may see its own cgroup at the mount point under another
 * name.
 */
static int open_place(struct cgroup *c, const char *sys_root, const struct place *place)
{
    const char *rest = below_mount(buf_text(&place->path), buf_text(&place->root));
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s%s", sys_root, buf_text(&place->point));
    size_t top = path.len;
    buf_adds(&path, rest ? rest : "");
    int r = open_folder(c, path.text);
    while (r == -ENOENT && path.len > top) {
        path.len = (size_t) (strrchr(path.text, '/') - path.text);
        path.text[path.len] = '\0';
        r = open_folder(c, path.text);
    }
    c->depth = count_folders(path.text + top);
    buf_release(&path);
    return r;
}

static int find_and_open(struct cgroup *c, int proc, const char *sys_root, pid_t pid)
{
    struct place place = {CGROUP_NONE, BUF_INIT, BUF_INIT, BUF_INIT};
    int r = read_place(proc, pid, &c->text, &place);
    c->version = place.version;
    if (r == 0)
        r = open_place(c, sys_root, &place);
    if (r == 0) {
        c->path = strdup(buf_text(&place.path));
        if (!c->path)
            r = -ENOMEM;
    }
    buf_release(&place.path);
    buf_release(&place.point);
    buf_release(&place.root);
    return r;
}

int cgroup_open(const char *proc_root, const char *sys_root, pid_t pid, struct cgroup **ret)
{
    struct cgroup *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->dir = -1;
    int proc = open(proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = proc < 0 ? -errno : find_and_open(c, proc, sys_root, pid);
    if (proc >= 0)
        close(proc);
    if (r < 0) {
        cgroup_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

/* ---- reading it ---- */

/* One number; absent where the file is not there or says "max". */
static double read_number(struct cgroup *c, const char *name)
{
    double value;
    if (file_read_at(c->dir, name, &c->text) < 0 ||
        cgroup_number_parse(buf_text(&c->text), c->text.len, &value) < 0)
        return NAN;
    return value;
}

/* The smallest limit of the cgroup and its ancestors, as far up as the mount shows them. */
static double read_limit(struct cgroup *c, const char *name)
{
    char path[3 * CGROUP_MAX_DEPTH + 64];
    double least = NAN;
    size_t up = 0;
    for (unsigned level = 0; level <= c->depth; level++) {
        snprintf(path + up, sizeof path - up, "%s", name);
        least = fmin(least, read_number(c, path));
        memcpy(path + up, "../", 3);
        up += 3;
    }
    return least;
}

typedef int (*cgroup_parser)(const char *text, size_t len, struct cgroup_memory *ret);

/* c->text is empty where the file is not there. */
static void read_table(struct cgroup *c, const char *name, cgroup_parser parse,
                       struct cgroup_memory *ret)
{
    if (file_read_at(c->dir, name, &c->text) < 0)
        buf_clear(&c->text);
    parse(buf_text(&c->text), c->text.len, ret);
}

/* a - b, at least 0; absent if either is absent. */
static double difference(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a - b, 0);
}

static void read_v2(struct cgroup *c, struct cgroup_memory *m)
{
    m->current = read_number(c, "memory.current");
    m->limit = read_limit(c, "memory.max");
    m->swap_current = read_number(c, "memory.swap.current");
    m->swap_limit = read_limit(c, "memory.swap.max");
    read_table(c, "memory.stat", cgroup_stat_parse, m);
    read_table(c, "memory.events", cgroup_events_parse, m);
    read_table(c, "memory.pressure", cgroup_pressure_parse, m);
}

/* v1 counts memory and swap together. The limits in memory.stat include those above the mount. */
static void read_v1(struct cgroup *c, struct cgroup_memory *m)
{
    m->current = read_number(c, "memory.usage_in_bytes");
    m->limit = read_limit(c, "memory.limit_in_bytes");
    double both = read_limit(c, "memory.memsw.limit_in_bytes");
    read_table(c, "memory.stat", cgroup_stat_parse, m);
    struct cgroup_v1_limits above;
    if (cgroup_v1_limits_parse(buf_text(&c->text), c->text.len, &above) == 0) {
        m->limit = fmin(m->limit, above.memory);
        both = fmin(both, above.with_swap);
    }
    m->swap_limit = difference(both, m->limit);
    m->swap_current = difference(read_number(c, "memory.memsw.usage_in_bytes"), m->current);
    m->kernel = read_number(c, "memory.kmem.usage_in_bytes");
    read_table(c, "memory.oom_control", cgroup_events_parse, m);
}

int cgroup_read(struct cgroup *c, struct cgroup_memory *ret)
{
    struct cgroup_memory m = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
                              NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (c->version == CGROUP_V1)
        read_v1(c, &m);
    else
        read_v2(c, &m);
    if (isnan(m.current) && isnan(m.anon))
        return -ENODEV;
    m.working_set = difference(m.current, m.inactive_file);
    *ret = m;
    return 0;
}
