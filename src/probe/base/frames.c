/* probe/base/frames.c: variables of running functions, read from the interpreter's own frames. */
#include "probe/base/frames.h"
#include "probe/base/pages.h"

#include "probe/base/code.h"
#include "probe/base/heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MOST 4096u /* of one thread */
#define THREADS_MOST 4096u
#define TEXT_BYTES (1u << 20)
#define SLOTS_MOST 65536 /* of one frame */

/* ---- layouts ---- */

/* Offsets in bytes. Up to 3.10 a frame is a frame object; since 3.11 a frame object only points to
 * its frame. */
struct layout {
    int minor;
    short thread_frame; /* in the thread state: the innermost frame, or a pointer to `link` */
    short link;         /* where that pointer leads, the offset of the frame; -1: it is the frame */
    short code, previous, instruction, slots;
    short owner, stack_top;        /* 0: not in this version */
    short is_entry;                /* a byte; 0: told by `owner` of the previous frame */
    short object_frame;            /* in a frame object: the frame; 0: it is the frame */
    short generator_frame;         /* in a generator: the frame; up to 3.10 a pointer to it */
    short running;                 /* in a frame object, a byte; 0: not needed */
    signed char running_value;     /* its value while the function runs */
    short stack_size;              /* this and the following: in a code object */
    short names, kinds;            /* one name and kind per slot; 0: three tuples */
    short variables, outer, cells; /* the three tuples */
    short code_begin;              /* 0: `instruction` is an index */
    short instruction_bytes;       /* bytes per instruction */
};

static const struct layout layouts[] = {
    {.minor = 9,
     .thread_frame = 24,
     .link = -1,
     .code = 32,
     .previous = 24,
     .instruction = 104,
     .slots = 360,
     .generator_frame = 16,
     .running = 116,
     .running_value = 1,
     .stack_size = 32,
     .variables = 72,
     .outer = 80,
     .cells = 88,
     .instruction_bytes = 1},
    {.minor = 10,
     .thread_frame = 24,
     .link = -1,
     .code = 32,
     .previous = 24,
     .instruction = 96,
     .slots = 352,
     .generator_frame = 16,
     .running = 108,
     .running_value = 0,
     .stack_size = 32,
     .variables = 72,
     .outer = 80,
     .cells = 88,
     .instruction_bytes = 2},
    {.minor = 11,
     .thread_frame = 56,
     .link = 8,
     .code = 32,
     .previous = 48,
     .instruction = 56,
     .slots = 72,
     .owner = 69,
     .stack_top = 64,
     .is_entry = 68,
     .object_frame = 24,
     .generator_frame = 80,
     .stack_size = 68,
     .names = 96,
     .kinds = 104,
     .code_begin = 184},
    {.minor = 12,
     .thread_frame = 56,
     .link = 0,
     .code = 0,
     .previous = 8,
     .instruction = 56,
     .slots = 72,
     .owner = 70,
     .stack_top = 64,
     .object_frame = 24,
     .generator_frame = 72,
     .stack_size = 64,
     .names = 96,
     .kinds = 104,
     .code_begin = 192},
    {.minor = 13,
     .thread_frame = 72,
     .link = -1,
     .code = 0,
     .previous = 8,
     .instruction = 56,
     .slots = 72,
     .owner = 70,
     .stack_top = 64,
     .object_frame = 24,
     .generator_frame = 72,
     .stack_size = 64,
     .names = 96,
     .kinds = 104,
     .code_begin = 200},
};

#define THREAD_INTERPRETER 16 /* PyThreadState.interp */
#define CODE_UNITS 16         /* since 3.11, in a code object: ob_size, ... */
#define FIRST_TRACEABLE (-16) /* ... and before `code_begin`: the unit that begins the function */
#define CELL_CONTENTS 16      /* PyCellObject.ob_ref */
#define BYTES_BEGIN 32        /* PyBytesObject.ob_sval */
#define OWNER_C_STACK 3       /* the interpreter's C frames between Python frames */
#define GENERATOR_STATE (-5)  /* since 3.11, before a generator's frame */
#define STATE_CLEARED 4       /* the generator has ended and its frame is invalid */
#define KIND_CELL 0x40
#define KIND_OUTER 0x80

static const struct layout *known;

static void *pointer_at(const void *base, short offset)
{
    void *value;
    memcpy(&value, (const char *) base + offset, sizeof(value));
    return value;
}

static int number_at(const void *base, short offset)
{
    int value;
    memcpy(&value, (const char *) base + offset, sizeof(value));
    return value;
}

/* ---- one frame ---- */

static bool is_of_c_stack(const void *frame)
{
    return known->owner && ((const char *) frame)[known->owner] >= OWNER_C_STACK;
}

/* Since 3.12, the interpreter runs a few instructions of its own after an __init__(). */
static bool is_of_interpreter(const py_object *code)
{
    return known->code_begin && number_at(code, (short) (known->code_begin + FIRST_TRACEABLE)) >=
                                    number_at(code, CODE_UNITS);
}

static bool is_of_python(const void *frame)
{
    if (is_of_c_stack(frame))
        return false;
    const py_object *code = pointer_at(frame, known->code);
    return code && heap_type(code) == py.PyCode_Type && !is_of_interpreter(code);
}

/* The offset in the code in bytes. Negative: the function has not begun. */
static int frame_instruction(const void *frame)
{
    if (!known->code_begin)
        return number_at(frame, known->instruction) * known->instruction_bytes;
    const char *at = pointer_at(frame, known->instruction);
    const char *begin = (const char *) pointer_at(frame, known->code) + known->code_begin;
    return at >= begin && at - begin < INT32_MAX ? (int) (at - begin) : -1;
}

static int frame_line(const void *frame)
{
    int instruction = frame_instruction(frame);
    if (known->code_begin && instruction < 0)
        return 0;
    return py.PyCode_Addr2Line(pointer_at(frame, known->code), instruction);
}

static void *thread_frame(const void *thread)
{
    void *frame = pointer_at(thread, known->thread_frame);
    return frame && known->link >= 0 ? pointer_at(frame, known->link) : frame;
}

static bool is_tuple(const py_object *o)
{
    return o && heap_type(o) == py.PyTuple_Type;
}

/* The names of the slots of a frame with this code. */
struct slots {
    py_object *names[3]; /* tuples, in the order of the slots; since 3.11 only one */
    const char *kinds;   /* NULL: up to 3.10 */
    int count, stack;
};

static bool slots_by_kind(py_object *code, struct slots *s)
{
    const py_object *kinds = pointer_at(code, known->kinds);
    s->names[0] = pointer_at(code, known->names);
    if (!is_tuple(s->names[0]) || !kinds || heap_type(kinds) != py.PyBytes_Type ||
        number_at(kinds, 2 * sizeof(void *)) != py.PyTuple_Size(s->names[0]))
        return false;
    s->kinds = (const char *) kinds + BYTES_BEGIN;
    s->count = (int) py.PyTuple_Size(s->names[0]);
    return true;
}

static bool slots_by_tuples(py_object *code, struct slots *s)
{
    short offsets[3] = {known->variables, known->cells, known->outer};
    for (int i = 0; i < 3; i++) {
        s->names[i] = pointer_at(code, offsets[i]);
        if (!is_tuple(s->names[i]))
            return false;
        s->count += (int) py.PyTuple_Size(s->names[i]);
    }
    return true;
}

static bool slots_of(py_object *code, struct slots *ret)
{
    *ret = (struct slots){.stack = number_at(code, known->stack_size)};
    bool found = known->kinds ? slots_by_kind(code, ret) : slots_by_tuples(code, ret);
    return found && ret->count <= SLOTS_MOST && ret->stack >= 0 && ret->stack <= SLOTS_MOST;
}

struct slot {
    py_object *held;  /* in the slot: perhaps a cell */
    py_object *value; /* the value of the variable */
    const char *name;
    bool is_outer;
};

static py_object *slot_object(const void *frame, int index)
{
    py_object *o;
    memcpy(&o, (const char *) frame + known->slots + (size_t) index * sizeof(o), sizeof(o));
    return o;
}

static void slot_at(const void *frame, const struct slots *all, int index, struct slot *ret)
{
    int tuple = 0, within = index;
    while (!all->kinds && within >= py.PyTuple_Size(all->names[tuple]))
        within -= (int) py.PyTuple_Size(all->names[tuple++]);
    bool is_outer = all->kinds ? all->kinds[index] & KIND_OUTER : tuple == 2;
    bool is_cell = is_outer || (all->kinds ? all->kinds[index] & KIND_CELL : tuple == 1);
    const char *name = code_text(py.PyTuple_GetItem(all->names[tuple], within));
    if (name && name[0] == '.')
        name = NULL; /* the iterator of a comprehension */
    py_object *held = slot_object(frame, index);
    is_cell = is_cell && held && heap_type(held) == py.PyCell_Type;
    *ret = (struct slot){.held = held,
                         .value = is_cell ? pointer_at(held, CELL_CONTENTS) : held,
                         .name = name ? name : "",
                         .is_outer = is_outer};
}

/* ---- verification ---- */

/* Does the frame we read match what the interpreter says about its innermost frame? */
static bool agrees(py_object *object, const void *frame)
{
    struct slots slots;
    const void *own = known->object_frame ? pointer_at(object, known->object_frame) : object;
    if (own != frame || !is_of_python(frame))
        return false;
    py_object *code = python_attribute(object, "f_code");
    py_object *line = python_attribute(object, "f_lineno");
    bool same = code == pointer_at(frame, known->code) && slots_of(code, &slots) && line &&
                heap_type(line) == py.PyLong_Type && py.PyLong_AsLong(line) == frame_line(frame);
    python_drop(code);
    python_drop(line);
    return same;
}

static void *innermost(void *thread)
{
    void *frame = thread_frame(thread);
    while (frame && !is_of_python(frame))
        frame = pointer_at(frame, known->previous);
    return frame;
}

static const struct layout *layout_of_this(void)
{
    int minor = python_minor_version();
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}

bool frames_learn(void)
{
    static enum { UNKNOWN, LEARNT, IMPOSSIBLE } state = UNKNOWN;
    if (state != UNKNOWN)
        return state == LEARNT;
    if (!python_find() || !(known = layout_of_this())) {
        state = IMPOSSIBLE;
        return false;
    }
    py_object *object = py.PyEval_GetFrame();
    if (!object)
        return false; /* no Python function runs: try again later */
    state = agrees(object, innermost(py.PyThreadState_Get())) ? LEARNT : IMPOSSIBLE;
    return state == LEARNT;
}

/* ---- one stack ---- */

void frames_begin(const void *thread, struct frame_walk *ret)
{
    *ret = (struct frame_walk){.next = thread_frame(thread), .left = FRAMES_MOST};
}

/* Up to 3.10 each function has a loop of its own. */
static bool is_entry(const void *frame, const void *previous)
{
    if (known->is_entry)
        return ((const char *) frame)[known->is_entry];
    return !known->owner || !previous || is_of_c_stack(previous);
}

bool frames_next(struct frame_walk *w, struct frame_place *ret)
{
    while (w->next && w->left > 0) {
        const void *frame = w->next;
        w->left--;
        w->next = pointer_at(frame, known->previous);
        if (is_of_python(frame)) {
            *ret = (struct frame_place){.code = pointer_at(frame, known->code),
                                        .instruction = frame_instruction(frame),
                                        .is_entry = is_entry(frame, w->next)};
            return true;
        }
    }
    return false;
}

/* ---- all frames ---- */

struct texts {
    char *bytes; /* TEXT_BYTES long */
    size_t used;
};

/* "": no room left. */
static const char *keep(struct texts *t, const char *text)
{
    size_t length = strlen(text) + 1;
    if (!t->bytes || length > TEXT_BYTES - t->used)
        return "";
    char *copy = t->bytes + t->used;
    memcpy(copy, text, length);
    t->used += length;
    return copy;
}

static void texts_clear(struct texts *t)
{
    if (!t->bytes)
        t->bytes = pages_map(NULL, TEXT_BYTES, MAP_PRIVATE);
    t->used = 0;
}

struct walk {
    struct frame_root *roots, frame; /* frame: a template without value and variable */
    size_t count, most;
    struct texts *texts;
    bool of_ours; /* visit tidemark's own functions only */
};

static struct frame_root *add(struct walk *w, py_object *value, const char *variable)
{
    if (!value || w->count == w->most)
        return NULL;
    struct frame_root *r = &w->roots[w->count++];
    *r = w->frame;
    r->value = value;
    r->variable = keep(w->texts, variable);
    return r;
}

static void walk_variables(struct walk *w, const void *frame, const struct slots *slots)
{
    struct slot slot;
    for (int i = 0; i < slots->count; i++) {
        slot_at(frame, slots, i, &slot);
        struct frame_root *added = add(w, slot.value, slot.name);
        if (added) {
            added->is_outer = slot.is_outer;
            added->is_certain = true;
        }
    }
}

/* The number of values that are certainly on the stack of a function. While the function calls C
 * code, the interpreter does not store the height. But the result and the iterator of a
 * comprehension stay lowest until it is done. */
static int stack_for_sure(const struct walk *w, const void *frame, const struct slots *slots)
{
    static const char *const comprehensions[] = {"<listcomp>", "<setcomp>", "<dictcomp>"};
    int top = known->stack_top ? number_at(frame, known->stack_top) - slots->count : -1;
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(w->frame.function), own = strlen(comprehensions[i]);
        if (top < 2 && length >= own &&
            strcmp(w->frame.function + length - own, comprehensions[i]) == 0)
            top = 2;
    }
    return top;
}

static void walk_stack(struct walk *w, const void *frame, const struct slots *slots)
{
    int sure = stack_for_sure(w, frame, slots);
    for (int i = 0; i < slots->stack; i++) {
        struct frame_root *added = add(w, slot_object(frame, slots->count + i), "");
        if (added)
            added->is_certain = i < sure;
    }
}

typedef void walk_part(struct walk *w, const void *frame, const struct slots *slots);

static void walk_frame(struct walk *w, const void *frame, walk_part *part)
{
    struct slots slots;
    py_object *code = pointer_at(frame, known->code);
    const char *file = code_file(code);
    if ((code_owner(file) == CODE_OURS) != w->of_ours || !slots_of(code, &slots))
        return;
    w->frame.function = keep(w->texts, code_function(code));
    w->frame.file = keep(w->texts, file);
    w->frame.line = frame_line(frame);
    part(w, frame, &slots);
}

static void walk_thread(struct walk *w, void *thread, walk_part *part)
{
    w->frame.depth = 0;
    void *frame = thread_frame(thread);
    for (unsigned i = 0; frame && i < FRAMES_MOST; i++) {
        if (is_of_python(frame)) {
            walk_frame(w, frame, part);
            w->frame.depth++;
        }
        frame = pointer_at(frame, known->previous);
    }
}

unsigned frames_depth(void)
{
    unsigned depth = 0;
    void *frame = frames_learn() ? thread_frame(py.PyThreadState_Get()) : NULL;
    for (unsigned i = 0; frame && i < FRAMES_MOST; i++) {
        depth += is_of_python(frame);
        frame = pointer_at(frame, known->previous);
    }
    return depth;
}

static size_t walk_threads(struct walk *w, walk_part *part)
{
    if (!frames_learn())
        return 0;
    texts_clear(w->texts);
    code_learn();
    void *thread =
        py.PyInterpreterState_ThreadHead(pointer_at(py.PyThreadState_Get(), THREAD_INTERPRETER));
    for (unsigned i = 0; thread && i < THREADS_MOST; i++) {
        void *next = py.PyThreadState_Next(thread);
        w->frame.is_main_thread = !next; /* the first thread is last in the list */
        walk_thread(w, thread, part);
        thread = next;
    }
    return w->count;
}

size_t frames_roots(struct frame_root *roots, size_t most)
{
    static struct texts texts;
    return walk_threads(&(struct walk){.roots = roots, .most = most, .texts = &texts},
                        walk_variables);
}

size_t frames_temporaries(struct frame_root *roots, size_t most)
{
    static struct texts texts;
    return walk_threads(&(struct walk){.roots = roots, .most = most, .texts = &texts}, walk_stack);
}

static void walk_both(struct walk *w, const void *frame, const struct slots *slots)
{
    walk_variables(w, frame, slots);
    walk_stack(w, frame, slots);
}

size_t frames_ours(struct frame_root *roots, size_t most)
{
    static struct texts texts;
    return walk_threads(
        &(struct walk){.roots = roots, .most = most, .texts = &texts, .of_ours = true}, walk_both);
}

/* ---- suspended frames ---- */

bool frames_is_generator(const py_object *type)
{
    return type == py.PyGen_Type || type == py.PyCoro_Type || type == py.PyAsyncGen_Type;
}

static const void *frame_in(const py_object *o)
{
    const py_object *type = heap_type(o);
    if (type == py.PyFrame_Type)
        return known->object_frame ? pointer_at(o, known->object_frame) : o;
    if (!frames_is_generator(type))
        return NULL;
    if (!known->object_frame)
        return pointer_at(o, known->generator_frame);
    const char *frame = (const char *) o + known->generator_frame;
    return (signed char) frame[GENERATOR_STATE] < STATE_CLEARED ? frame : NULL;
}

bool frames_waiting(py_object *o, const py_object *value, struct frame_root *ret)
{
    struct slots slots;
    const void *frame = frames_learn() ? frame_in(o) : NULL;
    if (!frame || !is_of_python(frame))
        return false;
    py_object *code = pointer_at(frame, known->code);
    if (!slots_of(code, &slots))
        return false;
    *ret = (struct frame_root){.variable = "",
                               .function = code_function(code),
                               .file = code_file(code),
                               .line = frame_line(frame)};
    for (int i = 0; i < slots.count && !ret->value; i++) {
        struct slot slot;
        slot_at(frame, &slots, i, &slot);
        if (slot.value == value || slot.held == value) {
            ret->value = slot.value;
            ret->variable = slot.name;
        }
    }
    return true;
}

bool frames_is_running(const py_object *o)
{
    return frames_learn() && known->running && heap_type(o) == py.PyFrame_Type &&
           ((const signed char *) o)[known->running] == known->running_value;
}
