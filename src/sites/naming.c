/* sites/naming.c: names the frames of stacks. Trusts no index of the trace file. */
#include "sites/naming.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define INLINED_MOST 8u               /* functions at one address */
#define NAMED_MOST ((size_t) 1 << 18) /* of all addresses */
#define UNKNOWN_MODULE "?"            /* a native frame always has a module */

/* A native address, and its functions among all that were named. */
struct native {
    uint64_t word;
    size_t first, count;
};

struct naming {
    const struct look_tables *tables;
    struct site_texts *texts;
    struct native *natives; /* by word: by module, then by offset */
    size_t native_count;
    struct site_frame *named;
    size_t named_count, named_room;
};

/* ---- words ---- */

static bool is_python(uint64_t word)
{
    return (word & WIRE_TRACE_PYTHON_FRAME) != 0;
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x = ((const struct native *) a)->word, y = ((const struct native *) b)->word;
    return (x > y) - (x < y);
}

/* Stacks may share words, in a damaged file all of them: each word is taken once. */
static void collect_stack(struct naming *n, uint32_t stack, bool *is_taken)
{
    const uint64_t *words = NULL;
    size_t count = look_frames(n->tables, stack, &words);
    for (size_t i = 0; i < count; i++) {
        bool *taken = &is_taken[words + i - n->tables->frames];
        if (!is_python(words[i]) && !*taken)
            n->natives[n->native_count++] = (struct native){.word = words[i]};
        *taken = true;
    }
}

static void drop_repeated(struct naming *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->native_count; i++)
        if (kept == 0 || n->natives[kept - 1].word != n->natives[i].word)
            n->natives[kept++] = n->natives[i];
    n->native_count = kept;
}

static void collect(struct naming *n, const struct site_looks *l)
{
    size_t room = n->tables->frame_count + 1;
    bool *is_taken = calloc(room, sizeof(*is_taken));
    n->natives = calloc(room, sizeof(*n->natives));
    if (!is_taken || !n->natives)
        base_out_of_memory();
    for (uint32_t i = 0; i < WIRE_TRACE_STACKS; i++)
        if (l->rows[i])
            collect_stack(n, i, is_taken);
    free(is_taken);
    qsort(n->natives, n->native_count, sizeof(*n->natives), compare_words);
    drop_repeated(n);
}

/* ---- native frames ---- */

/* NULL: not known. */
static const struct wire_trace_module *module_of(const struct naming *n, uint64_t word)
{
    uint64_t i = word >> WIRE_TRACE_MODULE_SHIFT;
    if (i >= WIRE_TRACE_MODULES || !n->tables->modules[i].ready)
        return NULL;
    const struct wire_trace_module *m = &n->tables->modules[i];
    return m->path[0] && memchr(m->path, '\0', sizeof(m->path)) ? m : NULL;
}

static struct site_frame *new_named(struct naming *n)
{
    if (n->named_count == n->named_room) {
        n->named_room = n->named_room ? 2 * n->named_room : 256;
        n->named = realloc(n->named, n->named_room * sizeof(*n->named));
        if (!n->named)
            base_out_of_memory();
    }
    return &n->named[n->named_count++];
}

static const char *keep(struct naming *n, const char *text)
{
    return text ? site_texts_keep(n->texts, text, strlen(text)) : "";
}

static void name_native(struct naming *n, struct native *a, site_namer *name, void *context)
{
    const struct wire_trace_module *m = module_of(n, a->word);
    uint64_t offset = a->word & WIRE_TRACE_OFFSET_MASK;
    struct site_frame found[INLINED_MOST] = {0};
    if (m && name && n->named_count < NAMED_MOST) {
        uint8_t id_length = m->build_id_length;
        struct site_address address = {m->path, m->build_id,
                                       id_length <= WIRE_TRACE_BUILD_ID ? id_length : 0, offset};
        a->count = name(context, &address, found, INLINED_MOST);
    }
    a->first = n->named_count;
    const char *module = keep(n, m ? m->path : UNKNOWN_MODULE);
    for (size_t i = 0; i < a->count; i++)
        *new_named(n) = (struct site_frame){
            .function = keep(n, found[i].function),
            .file = keep(n, found[i].file),
            .line = found[i].line,
            .module = module,
            .offset = offset,
            .is_inlined = found[i].is_inlined,
        };
    if (a->count == 0)
        *new_named(n) = (struct site_frame){"", "", 0, module, offset, false};
    a->count += a->count == 0;
}

/* ---- Python's frames ---- */

static const char *text_at(const struct naming *n, uint32_t offset)
{
    const struct look_tables *t = n->tables;
    if (offset == 0 || offset >= t->text_size)
        return "";
    return site_texts_keep(n->texts, t->text + offset, t->text_size - offset);
}

static struct site_frame python_frame(const struct naming *n, uint64_t word)
{
    struct site_frame frame = {.function = "", .file = "", .module = ""};
    uint64_t i = (word & ~WIRE_TRACE_PYTHON_FRAME) >> WIRE_TRACE_FUNCTION_SHIFT;
    uint32_t line = (uint32_t) word;
    if (i < WIRE_TRACE_FUNCTIONS && n->tables->functions[i].ready) {
        const struct wire_trace_function *f = &n->tables->functions[i];
        frame.function = text_at(n, f->name);
        frame.file = text_at(n, f->file);
        line = line ? line : f->first_line;
    }
    frame.line = line <= INT_MAX ? (int) line : 0;
    return frame;
}

/* ---- the whole ---- */

struct naming *naming_new(const struct site_looks *l, struct site_texts *texts, site_namer *name,
                          void *context)
{
    struct naming *n = calloc(1, sizeof(*n));
    if (!n)
        base_out_of_memory();
    n->tables = &l->tables;
    n->texts = texts;
    collect(n, l);
    for (size_t i = 0; i < n->native_count; i++)
        name_native(n, &n->natives[i], name, context);
    return n;
}

struct naming *naming_free(struct naming *n)
{
    if (!n)
        return NULL;
    free(n->natives);
    free(n->named);
    free(n);
    return NULL;
}

/* Of a native address at most `most` functions: the outermost ones, for these are sure to be
 * there. */
static unsigned native_frames(const struct naming *n, uint64_t word, size_t most,
                              struct site_frame *ret)
{
    struct native key = {.word = word};
    const struct native *a = bsearch(&key, n->natives, n->native_count, sizeof(key), compare_words);
    size_t count = a->count < most ? a->count : most;
    memcpy(ret, n->named + a->first + (a->count - count), count * sizeof(*ret));
    return (unsigned) count;
}

unsigned naming_frames(const struct naming *n, uint32_t stack,
                       struct site_frame ret[SITES_MOST_FRAMES])
{
    _Static_assert(WIRE_TRACE_DEPTH <= SITES_MOST_FRAMES, "every word has room for a frame");
    const uint64_t *words = NULL;
    unsigned count = 0;
    size_t depth = look_frames(n->tables, stack, &words);
    for (size_t i = 0; i < depth; i++) {
        size_t most = SITES_MOST_FRAMES - count - (depth - i - 1);
        if (is_python(words[i]))
            ret[count++] = python_frame(n, words[i]);
        else
            count += native_frames(n, words[i], most, &ret[count]);
    }
    return count;
}
