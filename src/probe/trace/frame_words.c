/* probe/trace/frame_words.c: frames as words of the process's file. */
#include "probe/trace/frame_words.h"

#include "probe/trace/own_pages.h"
#include "probe/trace/unwind.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define PROBES 64u /* slots of a table that are tried */
#define NAME 256u
#define FILE_NAME 512u

static uint32_t spread(uint64_t key)
{
    return (uint32_t) (key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* ---- loaded files ---- */

/* "PATH", absolute as far as the loader's own name allows it. */
static void put_path(char ret[WIRE_TRACE_PATH], const char *path)
{
    size_t length = strlen(path), before = 0;
    if (length == 0) {
        ssize_t n = readlink("/proc/self/exe", ret, WIRE_TRACE_PATH - 1);
        ret[n > 0 ? n : 0] = '\0';
        return;
    }
    if (path[0] != '/' && getcwd(ret, WIRE_TRACE_PATH - 1)) {
        before = strlen(ret);
        ret[before++] = '/';
    }
    if (before + length >= WIRE_TRACE_PATH)
        length = before = 0;
    memcpy(ret + before, path, length);
    ret[before + length] = '\0';
}

static void fill_module(struct wire_trace_layout *f, struct wire_trace_module *slot,
                        const struct unwind_module *m)
{
    size_t id = m->build_id_length;
    slot->end = m->end;
    slot->bias = m->bias;
    slot->build_id_length = (uint8_t) (id < WIRE_TRACE_BUILD_ID ? id : WIRE_TRACE_BUILD_ID);
    if (m->build_id)
        memcpy(slot->build_id, m->build_id, slot->build_id_length);
    put_path(slot->path, m->path);
    atomic_fetch_add(&f->module_count, 1);
    atomic_store_explicit(&slot->ready, 1, memory_order_release);
}

/* Another file may have been loaded where this one was. While another thread fills the slot, the
 * start has to do. */
static bool is_same(const struct wire_trace_module *slot, const struct unwind_module *m)
{
    if (!atomic_load_explicit(&slot->ready, memory_order_acquire))
        return true;
    return slot->end == m->end && slot->bias == m->bias &&
           (!m->build_id || memcmp(slot->build_id, m->build_id, slot->build_id_length) == 0);
}

/* WIRE_TRACE_MODULES: no room. */
static uint32_t module_of(struct wire_trace_layout *f, const struct unwind_module *m)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (spread(m->start) + i) % WIRE_TRACE_MODULES;
        struct wire_trace_module *slot = &f->modules[at];
        uint64_t there = atomic_load_explicit(&slot->start, memory_order_acquire);
        if (there == 0 && atomic_compare_exchange_strong(&slot->start, &there, m->start)) {
            fill_module(f, slot, m);
            return at;
        }
        if (there == m->start && is_same(slot, m))
            return at;
    }
    return WIRE_TRACE_MODULES;
}

uint64_t frame_word_native(struct wire_trace_layout *f, uintptr_t address)
{
    struct unwind_module m;
    uint64_t call = (uint64_t) address - 1;
    uint32_t module = unwind_module(address, &m) ? module_of(f, &m) : WIRE_TRACE_MODULES;
    if (module < WIRE_TRACE_MODULES)
        call -= m.bias;
    return (uint64_t) module << WIRE_TRACE_MODULE_SHIFT | (call & WIRE_TRACE_OFFSET_MASK);
}

/* ---- Python functions ---- */

/* Offsets of texts by their hash: most functions share their file with others. The upper half is of
 * the hash. */
#define TEXTS 1024u
OWN_PAGES static _Atomic uint64_t texts[TEXTS];
static const struct wire_trace_layout *_Atomic texts_of;

struct range frame_words_pages(void)
{
    return OWN_PAGES_OF(texts);
}

static void forget_texts(const struct wire_trace_layout *f)
{
    if (atomic_load(&texts_of) == f)
        return;
    for (uint32_t i = 0; i < TEXTS; i++)
        atomic_store(&texts[i], 0);
    atomic_store(&texts_of, f);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (uint8_t) *text) * UINT64_C(0x100000001b3);
    return hash;
}

/* 0: no room. */
static uint32_t add_text(struct wire_trace_layout *f, const char *text)
{
    uint32_t size = (uint32_t) strlen(text) + 1, at = atomic_load(&f->text_used);
    do
        if (at > WIRE_TRACE_TEXT - size)
            return 0;
    while (!atomic_compare_exchange_weak(&f->text_used, &at, at + size));
    memcpy(f->text + at, text, size);
    return at;
}

static uint32_t place_text(struct wire_trace_layout *f, const char *text)
{
    if (!text[0])
        return 0;
    uint64_t hash = hash_text(text);
    _Atomic uint64_t *slot = &texts[hash % TEXTS];
    uint64_t there = atomic_load(slot);
    uint32_t at = (uint32_t) there;
    if (there >> 32 == hash >> 32 && at && strcmp(f->text + at, text) == 0)
        return at;
    at = add_text(f, text);
    if (at)
        atomic_store(slot, hash >> 32 << 32 | at);
    return at;
}

/* A function, by its code object or by texts. */
struct function {
    const void *code; /* NULL: texts */
    const char *name, *file;
};

static void name_by_code(struct wire_trace_layout *f, struct wire_trace_function *slot,
                         const void *code)
{
    char text[FILE_NAME];
    text[0] = '\0';
    python_stack_name(code, text, NAME);
    slot->name = place_text(f, text);
    text[0] = '\0';
    python_stack_file(code, text, sizeof(text));
    slot->file = place_text(f, text);
    slot->first_line = (uint32_t) python_stack_first_line(code);
}

static uint32_t place_cut(struct wire_trace_layout *f, const char *text, size_t most)
{
    char cut[FILE_NAME];
    size_t length = strnlen(text, most - 1);
    while (length > 0 && text[length] && (text[length] & 0xc0) == 0x80)
        length--; /* between characters */
    memcpy(cut, text, length);
    cut[length] = '\0';
    return place_text(f, cut);
}

static void fill_function(struct wire_trace_layout *f, struct wire_trace_function *slot,
                          const struct function *of)
{
    forget_texts(f);
    if (of->code) {
        name_by_code(f, slot, of->code);
    } else {
        slot->name = place_cut(f, of->name, NAME);
        slot->file = place_cut(f, of->file, FILE_NAME);
    }
    atomic_store_explicit(&slot->ready, 1, memory_order_release);
}

static uint32_t function_of(struct wire_trace_layout *f, uint64_t key, const struct function *of)
{
    key += key == 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (spread(key) + i) % WIRE_TRACE_FUNCTIONS;
        struct wire_trace_function *slot = &f->functions[at];
        uint64_t there = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (there == 0 && atomic_compare_exchange_strong(&slot->key, &there, key)) {
            fill_function(f, slot, of);
            return at;
        }
        if (there == key)
            return at;
    }
    return WIRE_TRACE_FUNCTIONS;
}

static uint64_t python_word(uint32_t function, uint32_t line)
{
    return WIRE_TRACE_PYTHON_FRAME | (uint64_t) function << WIRE_TRACE_FUNCTION_SHIFT | line;
}

uint64_t frame_word_python(struct wire_trace_layout *f, const struct python_stack_frame *frame)
{
    const struct function of = {.code = frame->code};
    return python_word(function_of(f, python_stack_key(frame->code), &of), (uint32_t) frame->line);
}

uint64_t frame_word_named(struct wire_trace_layout *f, const char *name, const char *file,
                          uint32_t line)
{
    const struct function of = {.name = name, .file = file};
    uint64_t key = hash_text(name) * UINT64_C(0x9e3779b97f4a7c15) ^ hash_text(file);
    return python_word(function_of(f, key, &of), line);
}
