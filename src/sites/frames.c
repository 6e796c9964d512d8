/* sites/frames.c: which frame of a stack is the user's, and the stack in one line. */
#include "sites/sites.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What follows the folder that holds packages or the standard library; NULL: neither. */
static const char *in_library(const char *file)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
        const char *found = strstr(file, packages[i]);
        if (found)
            return found + strlen(packages[i]);
    }
    const char *library = strstr(file, "/lib/python3");
    const char *slash = library ? strchr(library + strlen("/lib/python3"), '/') : NULL;
    return slash ? slash + 1 : NULL;
}

/* ---- plumbing ---- */

static bool matches_any(const char *text, const char *const *patterns)
{
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, text, 0) == 0)
            return true;
    return false;
}

static bool is_plumbing_function(const char *function)
{
    static const char *const patterns[] = {
        /* allocators: the C library's, C++'s, those that replace them, torch's */
        "malloc", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign",
        "aligned_alloc", "valloc", "pvalloc", "strdup", "strndup", "__strdup", "mmap", "mmap64",
        "mremap", "sbrk", "brk", "operator new*", "je_*", "tc_*", "mi_*", "tcmalloc::*",
        "c10::alloc_cpu*", "c10::*Allocator::*", "at::detail::empty_*",
        /* containers and calls in between */
        "std::*", "__gnu_cxx::*", "pybind11::*", "c10::impl::*", "c10::Dispatcher::*",
        "c10::KernelFunction::*",
        /* where programs and threads begin */
        "_start", "__libc_start_*", "clone", "clone3", "__clone*", "start_thread",
        "execute_native_thread_routine", "_dl_*",
        /* the interpreter, where it is part of another file */
        "_Py*", "Py[A-Z]*_*", "PyVectorcall*", "cfunction_*", "method_vectorcall*", NULL};
    return matches_any(function, patterns);
}

static bool is_plumbing_module(const char *path)
{
    static const char *const patterns[] = {
        "libc.so*",     "libc-2.*",     "ld-linux*",    "ld-2.*",
        "ld.so*",       "libpthread*",  "libstdc++*",   "libgcc_s*",
        "libjemalloc*", "libtcmalloc*", "libmimalloc*", "libtidemark*",
        "python",       "python3*",     "libpython3*",  NULL};
    return matches_any(base_name(path), patterns);
}

static bool is_python(const struct site_frame *f)
{
    return f->module[0] == '\0';
}

static bool is_tidemark(const struct site_frame *f)
{
    const char *inside = in_library(f->file);
    return inside && strncmp(inside, "tidemark/", strlen("tidemark/")) == 0;
}

/* The interpreter's own modules, and what torch has around the forward() of a module. */
static bool is_python_plumbing(const struct site_frame *f)
{
    static const char *const files[] = {"<frozen *", NULL};
    static const char *const functions[] = {"*_call_impl", NULL};
    return is_tidemark(f) || matches_any(f->file, files) ||
           (in_library(f->file) && matches_any(f->function, functions));
}

bool site_frame_is_plumbing(const struct site_frame *f)
{
    return is_python(f) ? is_python_plumbing(f)
                        : is_plumbing_function(f->function) || is_plumbing_module(f->module);
}

/* ---- the user's own frame ---- */

/* A program or module of the user's. */
static bool is_own_file(const struct site_frame *f)
{
    return is_python(f) && f->file[0] && f->file[0] != '<' && !in_library(f->file);
}

/* Typed in, or in a notebook. Generated code, as of a dataclass, has such a name as well. */
static bool is_own_text(const struct site_frame *f)
{
    static const char *const patterns[] = {"<string>", "<stdin>", "<ipython-input-*",
                                           "<python-input-*", NULL};
    return is_python(f) && matches_any(f->file, patterns);
}

bool site_frame_is_own(const struct site_frame *f)
{
    return is_own_file(f) || is_own_text(f);
}

static bool is_telling_native(const struct site_frame *f)
{
    return !is_python(f) && !site_frame_is_plumbing(f);
}

static bool is_interpreter(const struct site_frame *f)
{
    static const char *const patterns[] = {"python", "python3*", "libpython3*", NULL};
    return matches_any(base_name(f->module), patterns);
}

int site_own_frame(const struct site *s)
{
    static bool (*const kinds[])(const struct site_frame *f) = {is_own_file, is_own_text, is_python,
                                                                is_telling_native, is_interpreter};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (unsigned i = 0; i < s->frame_count; i++)
            if (kinds[k](&s->frames[i]) && !is_tidemark(&s->frames[i]))
                return (int) i;
    return (int) s->frame_count - 1;
}

void sites_find_own(struct sites *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int own = site_own_frame(&s->list[i]);
        s->list[i].own = own < 0 ? NULL : &s->list[i].frames[own];
    }
}

/* ---- one frame as text ---- */

/* "torch.nn." of torch/nn/modules/conv.py, "threading." of threading.py: at most two folders, else
 * the module. */
static void add_package(struct buf *out, const char *inside)
{
    const char *slash = strchr(inside, '/');
    if (!slash)
        buf_add(out, inside, strcspn(inside, "."));
    for (int i = 0; slash && i < 2; i++) {
        buf_adds(out, i ? "." : "");
        buf_add(out, inside, (size_t) (slash - inside));
        inside = slash + 1;
        slash = strchr(inside, '/');
    }
    buf_addc(out, '.');
}

static void add_name(struct buf *out, const struct site_frame *f)
{
    if (f->function[0])
        buf_adds(out, f->function);
    else if (f->module[0])
        buf_addf(out, "%s+0x%llx", base_name(f->module), (unsigned long long) f->offset);
    else
        buf_addc(out, '?');
}

/* "train.py:41 train" */
static void add_own(struct buf *out, const struct site_frame *f)
{
    if (f->file[0])
        buf_adds(out, base_name(f->file));
    if (f->file[0] && f->line > 0)
        buf_addf(out, ":%d", f->line);
    if (f->file[0] && strcmp(f->function, "<module>") == 0)
        return;
    if (f->file[0])
        buf_addc(out, ' ');
    add_name(out, f);
}

static void add_inner(struct buf *out, const struct site_frame *f)
{
    const char *inside = is_python(f) ? in_library(f->file) : NULL;
    if (inside)
        add_package(out, inside);
    add_name(out, f);
}

/* ---- the stack in one line ---- */

#define ARROW " → "
#define ELLIPSIS "…"
#define ARROW_LENGTH 3u

/* The frames from the user's own inwards, one after the other in one buffer. Those without a name
 * are left out where others have one. */
struct part {
    size_t at, bytes, characters;
};

struct route {
    struct buf text;
    struct part *parts;
    size_t count;
};

static size_t characters_of(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char) text[i] & 0xc0) != 0x80;
    return count;
}

/* A function that calls itself counts once. */
static void end_part(struct route *l, size_t at)
{
    const char *text = buf_text(&l->text);
    struct part p = {at, l->text.len - at, characters_of(text + at, l->text.len - at)};
    const struct part *last = l->count ? &l->parts[l->count - 1] : NULL;
    bool is_repeated =
        last && last->bytes == p.bytes && memcmp(text + last->at, text + p.at, p.bytes) == 0;
    if (!is_repeated)
        l->parts[l->count++] = p; /* NOLINT: there is one for each frame */
}

static bool is_telling(const struct site_frame *f, bool named)
{
    return !site_frame_is_plumbing(f) && (f->function[0] || !named);
}

static void collect(struct route *l, const struct site *s, unsigned own)
{
    bool any_named = false;
    for (unsigned i = 0; i < own; i++)
        any_named = any_named || is_telling(&s->frames[i], true);
    add_own(&l->text, &s->frames[own]);
    end_part(l, 0);
    for (unsigned i = own; i-- > 0;) {
        size_t at = l->text.len;
        if (!is_telling(&s->frames[i], any_named))
            continue;
        add_inner(&l->text, &s->frames[i]);
        end_part(l, at);
    }
}

/* Characters of the first `head` parts and the last `tail`. */
static size_t length_of(const struct route *l, size_t head, size_t tail)
{
    bool is_whole = head + tail == l->count;
    size_t pieces = head + tail + !is_whole, length = !is_whole;
    for (size_t i = 0; i < l->count; i++)
        if (i < head || i >= l->count - tail)
            length += l->parts[i].characters;
    return length + ARROW_LENGTH * (pieces - 1);
}

static void add_part(struct buf *out, const struct route *l, size_t i)
{
    buf_adds(out, i ? ARROW : "");
    buf_add(out, buf_text(&l->text) + l->parts[i].at, l->parts[i].bytes);
}

static void add_ends(struct buf *out, const struct route *l, size_t head, size_t tail)
{
    for (size_t i = 0; i < head; i++)
        add_part(out, l, i);
    if (head + tail < l->count)
        buf_adds(out, ARROW ELLIPSIS);
    for (size_t i = l->count - tail; i < l->count; i++)
        add_part(out, l, i);
}

/* Bytes of the first `most` characters. */
static size_t bytes_of(const char *text, size_t bytes, size_t most)
{
    size_t end = 0;
    for (size_t count = 0; end < bytes; end++) {
        count += ((unsigned char) text[end] & 0xc0) != 0x80;
        if (count > most)
            break;
    }
    return end;
}

/* A single part, cut at its end where it is too long. */
static void add_cut(struct buf *out, const char *text, const struct part *p, size_t most)
{
    bool fits = p->characters <= most;
    buf_add(out, text + p->at, fits ? p->bytes : bytes_of(text + p->at, p->bytes, most - 1));
    buf_adds(out, fits ? "" : ELLIPSIS);
}

/* Grows from both ends in turn while it fits. */
static void add_shortened(struct buf *out, const struct route *l, size_t most)
{
    size_t head = 1, tail = l->count > 1;
    while (head + tail < l->count) {
        bool longer_head = length_of(l, head + 1, tail) <= most;
        bool longer_tail = length_of(l, head, tail + 1) <= most;
        if (!longer_head && !longer_tail)
            break;
        bool is_head = longer_head && (head <= tail || !longer_tail);
        *(is_head ? &head : &tail) += 1;
    }
    add_ends(out, l, head, tail);
}

static void add_line(struct buf *out, const struct route *l, size_t most)
{
    size_t ends = l->count > 1;
    if (length_of(l, 1, ends) <= most)
        add_shortened(out, l, most);
    else if (length_of(l, 1, 0) <= most)
        add_ends(out, l, 1, 0);
    else
        add_cut(out, buf_text(&l->text), &l->parts[0], most);
}

void site_describe(const struct site *s, size_t most, struct buf *out)
{
    int own = site_own_frame(s);
    if (own < 0) {
        buf_adds(out, "unknown stack");
        return;
    }
    struct route l = {.text = BUF_INIT, .parts = calloc((size_t) own + 1, sizeof(struct part))};
    if (!l.parts)
        base_out_of_memory();
    collect(&l, s, (unsigned) own);
    add_line(out, &l, most);
    free(l.parts);
    buf_release(&l.text);
}
