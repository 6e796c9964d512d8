/* probe/trace/python_stack.c: Python functions on the calling thread's stack. */
#include "probe/trace/python_stack.h"

#include "probe/base/code.h"
#include "probe/base/frames.h"
#include "probe/base/heap.h"
#include "probe/trace/own_pages.h"
#include "probe/trace/python_lines.h"
#include "probe/trace/python_loop.h"
#include "probe/trace/python_text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- code objects ---- */

#define CODE_UNITS 16   /* PyCodeObject.ob_size, since 3.11 */
#define BYTES_LENGTH 16 /* PyBytesObject.ob_size */
#define BYTES_BEGIN 32  /* PyBytesObject.ob_sval */

/* Offsets, by the interpreter's own descriptions of the members. */
static struct {
    int minor;
    ptrdiff_t name, file, first_line, lines; /* in a code object */
    ptrdiff_t thread_id;                     /* in a thread state */
} known;

static _Atomic bool is_learnt;

static const void *pointer_at(const void *base, ptrdiff_t offset)
{
    const void *value;
    memcpy(&value, (const char *) base + offset, sizeof(value));
    return value;
}

static uint64_t word_at(const void *base, ptrdiff_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *) base + offset, sizeof(value));
    return value;
}

int python_stack_first_line(const void *code)
{
    int line;
    memcpy(&line, (const char *) code + known.first_line, sizeof(line));
    return line;
}

static struct python_lines lines_of(const void *code)
{
    const char *bytes = pointer_at(code, known.lines);
    return (struct python_lines){.minor = known.minor,
                                 .first_line = python_stack_first_line(code),
                                 .bytes = (const uint8_t *) bytes + BYTES_BEGIN,
                                 .length = word_at(bytes, BYTES_LENGTH)};
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

/* Products are independent of each other, which is quicker than mixing one word after another. */
#define FIRST_FACTOR UINT64_C(0xbf58476d1ce4e5b9)
#define NEXT_FACTOR UINT64_C(0x94d049bb133111ea) /* even: all factors are odd */
#define WORDS_MOST 16

/* All of a short line table; of a long one, words that are spread over it. */
static uint64_t contents(const struct python_lines *t)
{
    uint64_t factor = FIRST_FACTOR, sum = 0, last = 0;
    if (t->length < sizeof(last)) {
        memcpy(&last, t->bytes, t->length);
        return last * factor;
    }
    size_t end = t->length - sizeof(last);
    size_t step = end <= (WORDS_MOST - 1) * sizeof(last) ? sizeof(last) : end / (WORDS_MOST - 1);
    for (size_t at = 0; at < end; at += step, factor += NEXT_FACTOR)
        sum += word_at(t->bytes, (ptrdiff_t) at) * factor;
    return sum + word_at(t->bytes, (ptrdiff_t) end) * factor;
}

/* A code object may be freed and another be made at its address, with parts at the addresses of the
 * former's parts. So the contents of the line table count as well. */
static uint64_t identity(const void *code)
{
    struct python_lines t = lines_of(code);
    return contents(&t) + (uint64_t) (uintptr_t) code * UINT64_C(0xff51afd7ed558ccd) +
           (uint64_t) (uintptr_t) t.bytes * UINT64_C(0xc4ceb9fe1a85ec53) +
           ((uint64_t) t.first_line << 32 ^ t.length) * UINT64_C(0xd6e8feb86659fd93) +
           word_at(code, known.name) * UINT64_C(0xc2b2ae3d27d4eb4f) +
           word_at(code, known.file) * UINT64_C(0x165667b19e3779f9);
}

uint64_t python_stack_key(const void *code)
{
    uint64_t name = python_text_hint(pointer_at(code, known.name));
    uint64_t file = python_text_hint(pointer_at(code, known.file));
    uint64_t key = mix(identity(code) + mix(name + mix(file)));
    return key ? key : 1;
}

#define NAME_MOST 1024

void python_stack_name(const void *code, char *ret, size_t most)
{
    char name[NAME_MOST];
    python_text_copy(pointer_at(code, known.name), name, sizeof(name));
    const char *within = code_within_function(name);
    size_t length = strlen(within);
    if (most == 0)
        return;
    if (length >= most)
        for (length = most - 1; length > 0 && (within[length] & 0xc0) == 0x80; length--)
            ; /* not within a character */
    memcpy(ret, within, length);
    ret[length] = '\0';
}

void python_stack_file(const void *code, char *ret, size_t most)
{
    python_text_copy(pointer_at(code, known.file), ret, most);
}

/* ---- lines ---- */

/* Each word: the upper bits of what is hashed, and the line. One word, so that threads need no
 * lock. 32 KB. */
#define CACHE_WORDS 4096u /* a power of two */
#define LINE_BITS 24
#define LINE_MASK ((UINT64_C(1) << LINE_BITS) - 1)

OWN_PAGES static _Atomic uint64_t cache[CACHE_WORDS];

struct range python_stack_pages(void)
{
    return OWN_PAGES_OF(cache);
}

static int line_at(const void *code, int instruction)
{
    uint64_t hash = mix(identity(code) + (uint64_t) instruction * UINT64_C(0x9fb21c651e98df25));
    _Atomic uint64_t *word = &cache[hash % CACHE_WORDS];
    uint64_t cached = atomic_load_explicit(word, memory_order_relaxed);
    if ((cached ^ hash) >> LINE_BITS == 0)
        return (int) (cached & LINE_MASK);
    struct python_lines t = lines_of(code);
    int line = python_lines_find(&t, instruction);
    if ((uint64_t) line <= LINE_MASK)
        atomic_store_explicit(word, (hash & ~LINE_MASK) | (uint64_t) line, memory_order_relaxed);
    return line;
}

/* ---- stacks ---- */

/* A thread keeps the state that Python made for it until the interpreter's end. */
static const void *own_thread(void)
{
    if (!atomic_load_explicit(&is_learnt, memory_order_acquire) || !py.Py_IsInitialized())
        return NULL;
    const void *thread = py.PyGILState_GetThisThreadState();
    bool is_own = thread && word_at(thread, known.thread_id) == (uint64_t) pthread_self();
    return is_own ? thread : NULL;
}

size_t python_stack(struct python_stack_frame *ret, size_t most)
{
    struct frame_walk walk;
    struct frame_place place;
    size_t count = 0;
    const void *thread = own_thread();
    if (!thread)
        return 0;
    frames_begin(thread, &walk);
    for (; count < most && frames_next(&walk, &place); count++)
        ret[count] = (struct python_stack_frame){.code = place.code,
                                                 .line = line_at(place.code, place.instruction),
                                                 .is_entry = place.is_entry};
    return count;
}

bool python_stack_is_loop(uintptr_t return_address)
{
    return python_loop_made(return_address);
}

/* ---- verification ---- */

#define STATE_WORDS 32
#define FRAMES_CHECKED 16
#define INSTRUCTIONS_CHECKED 2048

/* The thread's identity is among the first fields of its state. */
static bool learn_thread(const void *thread)
{
    for (ptrdiff_t i = 0; i < STATE_WORDS; i++)
        if (word_at(thread, 8 * i) == (uint64_t) pthread_self()) {
            known.thread_id = 8 * i;
            return true;
        }
    return false;
}

static bool learn_code(void)
{
    known.minor = python_minor_version();
    const char *name = known.minor < 11 ? "co_name" : "co_qualname";
    const char *lines = known.minor < 10 ? "co_lnotab" : "co_linetable";
    known.name = python_member_offset(py.PyCode_Type, name);
    known.file = python_member_offset(py.PyCode_Type, "co_filename");
    known.first_line = python_member_offset(py.PyCode_Type, "co_firstlineno");
    known.lines = python_member_offset(py.PyCode_Type, lines);
    return known.name > 0 && known.file > 0 && known.first_line > 0 && known.lines > 0;
}

/* Their length in bytes. Only since 3.11 it matters to PyCode_Addr2Line(), and is in the object. */
static int instructions_of(const py_object *code)
{
    return known.minor < 11 ? INSTRUCTIONS_CHECKED : 2 * (int) word_at(code, CODE_UNITS);
}

static bool agrees_on_lines(py_object *code)
{
    const py_object *table = pointer_at(code, known.lines);
    if (!table || heap_type(table) != py.PyBytes_Type)
        return false;
    struct python_lines t = lines_of(code);
    for (int at = 0; at < instructions_of(code) && at < INSTRUCTIONS_CHECKED; at += 2) {
        int line = py.PyCode_Addr2Line(code, at);
        if (python_lines_find(&t, at) != (line > 0 ? line : 0))
            return false;
    }
    return true;
}

/* "": it has no UTF-8, because it contains a surrogate. */
static bool is_same(const char *copy, const char *text)
{
    return !text[0] || strncmp(copy, text, NAME_MOST - 1) == 0;
}

static bool agrees_on_texts(py_object *code)
{
    char name[NAME_MOST], file[NAME_MOST];
    python_stack_name(code, name, sizeof(name));
    python_stack_file(code, file, sizeof(file));
    return is_same(name, code_function(code)) && is_same(file, code_file(code)) &&
           python_stack_first_line(code) == code_first_line(code);
}

static bool agrees_on_functions(const void *thread)
{
    struct frame_walk walk;
    struct frame_place place;
    frames_begin(thread, &walk);
    for (int i = 0; i < FRAMES_CHECKED && frames_next(&walk, &place); i++) {
        py_object *code = (py_object *) place.code;
        if (!agrees_on_lines(code) || !agrees_on_texts(code))
            return false;
    }
    return true;
}

static bool learn(const void *thread)
{
    return thread == py.PyGILState_GetThisThreadState() && learn_thread(thread) && learn_code() &&
           python_text_learn() && agrees_on_functions(thread);
}

bool python_stack_learn(void)
{
    static bool is_impossible;
    if (atomic_load(&is_learnt) || is_impossible)
        return !is_impossible;
    if (!frames_learn())
        return false; /* perhaps no Python function runs: it can be tried again */
    if (!learn(py.PyThreadState_Get())) {
        is_impossible = true;
        return false;
    }
    python_loop_learn();
    atomic_store_explicit(&is_learnt, true, memory_order_release);
    return true;
}
