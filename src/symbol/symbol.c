/* symbol/symbol.c: what is known of a process's native addresses, and where it is read. */
#include "symbol/symbol.h"

#include "symbol/answer.h"
#include "symbol/caged_reader.h"
#include "symbol/offsets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_AT_ONCE 4096u /* addresses */
#define MOST_FILE_BYTES ((int64_t) 64 << 30)
#define DEBUG_FOLDER "/usr/lib/debug"

/* Addresses that were resolved together, also those without a name. */
struct batch {
    uint64_t *offsets; /* in ascending order */
    size_t count;
    struct answer answer;
    struct batch *next;
};

#define DEBUG_PATHS 3u

struct module {
    char *path;
    int error;       /* of its file; 0: none */
    unsigned passes; /* so many are tried: a reader died in the next one */
    bool is_searched;
    struct buf debug_paths[DEBUG_PATHS]; /* where its debug information may be */
    unsigned debug_path_count;
    struct batch *batches;
    struct module *next;
};

struct symbols {
    struct deputy *deputy;
    struct module *modules;
};

/* ---- lifetime ---- */

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p)
        base_out_of_memory();
    return p;
}

int symbols_new(pid_t pid, struct symbols **ret)
{
    struct deputy *deputy;
    int r = deputy_new(pid, &deputy, NULL);
    if (r < 0)
        return r;
    struct symbols *s = allocate(1, sizeof *s);
    s->deputy = deputy;
    *ret = s;
    return 0;
}

static struct batch *batch_free(struct batch *b)
{
    free(b->offsets);
    answer_release(&b->answer);
    free(b);
    return NULL;
}

static void clear_debug_paths(struct module *m)
{
    for (unsigned i = 0; i < DEBUG_PATHS; i++)
        buf_release(&m->debug_paths[i]);
    m->debug_path_count = 0;
}

static void module_free(struct module *m)
{
    for (struct batch *b = m->batches, *next; b; b = next) {
        next = b->next;
        batch_free(b);
    }
    clear_debug_paths(m);
    free(m->path);
    free(m);
}

struct symbols *symbols_free(struct symbols *s)
{
    if (!s)
        return NULL;
    for (struct module *m = s->modules, *next; m; m = next) {
        next = m->next;
        module_free(m);
    }
    deputy_free(s->deputy);
    free(s);
    return NULL;
}

/* ---- what is known ---- */

static struct module *find_module(const struct symbols *s, const char *path)
{
    struct module *m = s->modules;
    while (m && strcmp(m->path, path) != 0)
        m = m->next;
    return m;
}

static struct module *get_module(struct symbols *s, const char *path)
{
    struct module *m = find_module(s, path);
    if (m)
        return m;
    m = allocate(1, sizeof *m);
    m->path = strdup(path);
    if (!m->path)
        base_out_of_memory();
    m->passes = CAGED_PASSES;
    m->next = s->modules;
    s->modules = m;
    return m;
}

static const struct answer_entry *find_entry(const struct module *m, uint64_t offset,
                                             const struct batch **ret)
{
    for (const struct batch *b = m->batches; b; b = b->next) {
        size_t i = offsets_first_from(b->offsets, b->count, offset);
        if (i < b->count && b->offsets[i] == offset) {
            *ret = b;
            return &b->answer.entries[i];
        }
    }
    return NULL;
}

size_t symbols_find(const struct symbols *s, const char *path, uint64_t offset,
                    const struct symbol_frame **ret)
{
    const struct batch *b;
    const struct module *m = find_module(s, path);
    const struct answer_entry *e = m ? find_entry(m, offset, &b) : NULL;
    if (!e || e->count == 0)
        return 0;
    *ret = b->answer.frames + e->first;
    return e->count;
}

/* ---- files with debug information ---- */

static struct buf *add_debug_path(struct module *m)
{
    return &m->debug_paths[m->debug_path_count++];
}

static void look_by_build_id(struct module *m, const struct symbol_module *file)
{
    if (file->build_id_length < 2)
        return;
    struct buf *path = add_debug_path(m);
    buf_addf(path, DEBUG_FOLDER "/.build-id/%02x/", file->build_id[0]);
    for (size_t i = 1; i < file->build_id_length; i++)
        buf_addf(path, "%02x", file->build_id[i]);
    buf_adds(path, ".debug");
}

/* In the folders that gdb searches as well. False: there is nothing to search for. */
static bool look_by_link(struct module *m, const char *link)
{
    const char *name = strrchr(m->path, '/');
    if (!*link || strchr(link, '/') || strcmp(link, ".") == 0 || strcmp(link, "..") == 0 || !name)
        return false;
    int folder = (int) (name - m->path);
    clear_debug_paths(m);
    buf_addf(add_debug_path(m), DEBUG_FOLDER "%.*s/%s", folder, m->path, link);
    buf_addf(add_debug_path(m), "%.*s/.debug/%s", folder, m->path, link);
    if (strcmp(name + 1, link) != 0)
        buf_addf(add_debug_path(m), "%.*s/%s", folder, m->path, link);
    return true;
}

/* Opens the first of them; its size may not be 0. -errno. */
static int open_file(const struct symbols *s, const char *const *paths, unsigned count,
                     size_t *ret_size)
{
    struct stat st;
    int fd = deputy_open_path(s->deputy, paths, count);
    if (fd < 0)
        return fd;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && (st.st_size <= 0 || st.st_size > MOST_FILE_BYTES))
        r = st.st_size > 0 ? -EFBIG : -ENOEXEC;
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_size = (size_t) st.st_size;
    return fd;
}

static int open_debug(const struct symbols *s, struct module *m, size_t *ret_size)
{
    const char *paths[DEBUG_PATHS];
    if (m->debug_path_count == 0)
        return -ENOENT;
    for (unsigned i = 0; i < m->debug_path_count; i++)
        paths[i] = buf_text(&m->debug_paths[i]);
    int fd = open_file(s, paths, m->debug_path_count, ret_size);
    if (fd < 0)
        clear_debug_paths(m);
    return fd;
}

/* ---- reading ---- */

/* The reader may still be writing, if it could not be killed: everything is copied first. */
static int take_pass(const struct caged_output *out, size_t size, unsigned pass, size_t count,
                     struct answer *ret)
{
    uint64_t first = out->first[pass], length = out->length[pass];
    if (first > size || length > size - first)
        return -EPROTO;
    void *copy = allocate(length + 1, 1);
    memcpy(copy, out->bytes + first, length);
    int r = answer_parse(copy, length, count, ret);
    free(copy);
    return r;
}

static void copy_link(const struct caged_output *out, char ret[CAGED_MOST_LINK])
{
    memcpy(ret, out->debug_link, CAGED_MOST_LINK);
    ret[CAGED_MOST_LINK - 1] = '\0';
}

/* `ret_link`: of the file that would say more. */
static int read_once(const struct symbols *s, struct module *m, const struct caged_input *in,
                     struct answer *ret, char ret_link[CAGED_MOST_LINK])
{
    struct caged_output *out = NULL;
    size_t size = 0;
    int r = caged_run(s->deputy, in, &out, &size);
    if (!out)
        return r;
    unsigned passes = atomic_load(&out->passes);
    bool has_died = r == -EIO || r == -ETIMEDOUT;
    if ((r == 0 || has_died) && passes > 0 && passes <= CAGED_PASSES) {
        copy_link(out, ret_link);
        m->passes = has_died ? passes : m->passes;
        r = take_pass(out, size, passes - 1, in->count, ret);
    }
    caged_free(out, size);
    return r;
}

/* Once more, with the file that it names. What was read before stays if that fails. */
static void read_linked(const struct symbols *s, struct module *m, struct caged_input *in,
                        const char *link, struct answer *a)
{
    struct answer better;
    char none[CAGED_MOST_LINK];
    in->debug = look_by_link(m, link) ? open_debug(s, m, &in->debug_size) : -ENOENT;
    if (in->debug < 0)
        return;
    if (read_once(s, m, in, &better, none) == 0) {
        answer_release(a);
        *a = better;
    }
}

static int read_open(const struct symbols *s, struct module *m, const struct symbol_module *file,
                     struct caged_input *in, struct answer *ret)
{
    char link[CAGED_MOST_LINK] = "";
    if (!m->is_searched)
        look_by_build_id(m, file);
    in->debug = open_debug(s, m, &in->debug_size);
    int r = read_once(s, m, in, ret, link);
    if (r == 0 && in->debug < 0 && !m->is_searched)
        read_linked(s, m, in, link, ret);
    m->is_searched = true;
    if (in->debug >= 0)
        close(in->debug);
    return r;
}

static int read_names(const struct symbols *s, struct module *m, const struct symbol_module *file,
                      const struct batch *b, struct answer *ret)
{
    struct caged_input in = {
        .build_id = file->build_id,
        .build_id_length = file->build_id_length,
        .offsets = b->offsets,
        .count = b->count,
        .passes = m->passes,
    };
    const char *path = m->path;
    in.file = open_file(s, &path, 1, &in.file_size);
    if (in.file < 0)
        return in.file;
    int r = read_open(s, m, file, &in, ret);
    close(in.file);
    return r;
}

/* ---- resolving ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Those that are not known yet, in ascending order, each once. */
static size_t pick(const struct module *m, const uint64_t *offsets, size_t count, uint64_t *ret)
{
    const struct batch *known;
    size_t picked = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!find_entry(m, offsets[i], &known))
            ret[picked++] = offsets[i];
    qsort(ret, picked, sizeof *ret, compare);
    for (size_t i = 0; i < picked; i++)
        if (kept == 0 || ret[kept - 1] != ret[i])
            ret[kept++] = ret[i];
    return kept;
}

static int resolve(const struct symbols *s, struct module *m, const struct symbol_module *file,
                   const uint64_t *offsets, size_t count)
{
    struct batch *b = allocate(1, sizeof *b);
    b->offsets = allocate(count, sizeof *offsets);
    b->count = count;
    memcpy(b->offsets, offsets, count * sizeof *offsets);
    int r = read_names(s, m, file, b, &b->answer);
    if (r < 0) {
        batch_free(b);
        if (!error_lacks_files(-r))
            m->error = r;
        return r;
    }
    b->next = m->batches;
    m->batches = b;
    return 0;
}

int symbols_resolve(struct symbols *s, const struct symbol_module *m, const uint64_t *offsets,
                    size_t count)
{
    struct module *module = get_module(s, m->path);
    uint64_t *wanted = allocate(count + 1, sizeof *wanted);
    size_t left = pick(module, offsets, count, wanted);
    int r = 0;
    for (size_t at = 0; at < left && r == 0; at += MOST_AT_ONCE) {
        size_t some = left - at < MOST_AT_ONCE ? left - at : MOST_AT_ONCE;
        r = module->error ? module->error : resolve(s, module, m, wanted + at, some);
    }
    free(wanted);
    return r;
}
