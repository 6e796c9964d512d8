/* probe/hook/recording.c: torch's recording of its blocks, and its lists of them. All errors of
 * torch are dropped. Calls C functions of torch alone: a signal's handler cannot run in them. */
#include "probe/hook/recording.h"

#include "probe/base/places.h"
#include "probe/trace/blocks.h"
#include "probe/trace/sampling.h"

#include <math.h>
#include <string.h>

/* What a list costs: at first nothing is saved, then it takes this part of the time. */
#define SHARE 200u
#define FREE UINT64_C(50000000)    /* ns in all */
#define PIECE UINT64_C(1000000)    /* ns, of reading a list, at one moment */
#define LEAST UINT64_C(500000000)  /* ns between two lists */
#define RETRY UINT64_C(1000000000) /* ns, where it is not possible now */

#define BLOCKS_MOST 65536 /* torch makes a list of all, in one piece */
#define WORDS_MOST 4096u

static struct {
    bool is_on;
    bool was_on;     /* once: blocks may still have the stacks of that time */
    bool is_over;    /* for good */
    bool is_inside;  /* recording_moment() */
    bool wants_none; /* torch's list takes an argument */
    size_t form;
    uint64_t next, spent; /* ns */
} recording;

/* ---- torch ---- */

bool cuda_is_in_use(py_object *core)
{
    py_object *cuda = python_module("torch.cuda");
    py_object *initialized = cuda ? python_attribute(cuda, "_initialized") : NULL;
    bool in_use = initialized && py.PyObject_IsTrue(initialized) == 1;
    python_drop(initialized);
    py_object *bad = in_use ? py.PyObject_CallMethod(core, "_cuda_isInBadFork", NULL) : NULL;
    in_use = in_use && !(bad && py.PyObject_IsTrue(bad) == 1);
    py.PyErr_Clear();
    python_drop(bad);
    return in_use;
}

/* A new reference; NULL: it failed, or this torch has none. */
static py_object *call(py_object *core, const char *name, py_object *args)
{
    py_object *function = python_attribute(core, name);
    py_object *result = function ? py.PyObject_CallObject(function, args) : NULL;
    py.PyErr_Clear();
    python_drop(function);
    return result;
}

/* -1: not known. */
static int answer(py_object *core, const char *question)
{
    py_object *result = call(core, question, NULL);
    int yes = result ? py.PyObject_IsTrue(result) : -1;
    py.PyErr_Clear();
    python_drop(result);
    return yes;
}

/*
 * How to switch it on: the newest first. The stacks are those of Python, of memory in use alone,
 * and the history has one entry. Each version takes the first `count` arguments of its function.
 */
static const struct form {
    const char *function;
    ptrdiff_t count;
    bool has_pinned;
} forms[] = {
    {"_cuda_record_memory_history", 10, true}, {"_cuda_record_memory_history", 9, true},
    {"_cuda_record_memory_history", 8, false}, {"_cuda_record_memory_history", 7, false},
    {"_cuda_record_memory_history", 6, false}, {"_cuda_record_memory_history", 5, false},
    {"_cuda_record_memory_history", 4, false}, /* torch 2.1 */
    {"_cuda_recordMemoryHistory", 5, false},   /* 2.0 */
    {"_cuda_recordMemoryHistory", 1, false},   /* 1.13 */
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))
#define FORM_2_0 7

static py_object *arguments_of(size_t form, bool is_on)
{
    py_object *yes = py.PyBool_FromLong(1), *no = py.PyBool_FromLong(0), *all;
    py_object *enabled = is_on ? py.PyUnicode_FromString("state") : NULL;
    if (form < FORM_2_0)
        /* enabled, context, stacks, max_entries, clear_history, compile_context,
         * global_record_annotations, skip_actions, record_pinned_host_memory, record_cuda */
        all = py.Py_BuildValue("(OssiOOO[]OO)", enabled ? enabled : py.none, "state", "python", 1,
                               no, no, no, yes, yes);
    else
        /* enabled, record_context, record_context_cpp, max_entries, record_context_of_entries */
        all = py.Py_BuildValue("(OOOiO)", is_on ? yes : no, yes, no, 1, no);
    py_object *args = all ? py.PyTuple_GetSlice(all, 0, forms[form].count) : NULL;
    py_object *const drop[] = {yes, no, enabled, all};
    for (size_t i = 0; i < sizeof(drop) / sizeof(drop[0]); i++)
        python_drop(drop[i]);
    return args;
}

static bool record(py_object *core, size_t form, bool is_on)
{
    py_object *args = arguments_of(form, is_on);
    py_object *result = args ? call(core, forms[form].function, args) : NULL;
    bool done = result != NULL;
    py.PyErr_Clear();
    python_drop(result);
    python_drop(args);
    return done;
}

static bool record_somehow(py_object *core)
{
    for (recording.form = 0; recording.form < FORMS; recording.form++)
        if (record(core, recording.form, true))
            return true;
    return false;
}

/* A new reference. */
static py_object *list_blocks(py_object *core)
{
    py_object *args = py.Py_BuildValue("(O)", py.none);
    for (int i = 0; args && i < 2; i++) {
        py_object *list = call(core, "_cuda_memorySnapshot", recording.wants_none ? args : NULL);
        if (list) {
            py.Py_DecRef(args);
            return list;
        }
        recording.wants_none = !recording.wants_none;
    }
    python_drop(args);
    py.PyErr_Clear();
    return NULL;
}

/* Of all devices; NAN: not known. */
static double count_blocks(py_object *core)
{
    static const char *const keys[] = {"active", "all", "current", NULL};
    py_object *devices = call(core, "_cuda_getDeviceCount", NULL);
    long count = devices ? py.PyLong_AsLong(devices) : 0;
    double sum = 0;
    python_drop(devices);
    py.PyErr_Clear();
    for (long i = 0; i < count && i < WIRE_TRACE_DEVICES; i++) {
        py_object *stats = py.PyObject_CallMethod(core, "_cuda_memoryStats", "i", (int) i);
        sum += stats ? python_number_at(stats, keys) : 0;
        py.PyErr_Clear();
        python_drop(stats);
    }
    return sum;
}

/* ---- a list, block by block ---- */

/* Where the reading is in torch's list. */
static struct {
    py_object *list;     /* owned; NULL: none is being read */
    py_object *segments; /* borrowed; NULL: not begun */
    bool is_pinned;      /* the segments are the host's */
    ptrdiff_t segment, block;
    uint64_t address; /* of the block: old versions give that of the segment alone */
} reading;

static struct places words; /* frames of the list to words of ours: blocks share frames */

static void end_reading(void)
{
    python_drop(reading.list);
    memset(&reading, 0, sizeof(reading));
}

/* Borrowed. */
static py_object *member_of(py_object *dict, const char *key)
{
    return dict && python_is(dict, py.PyDict_Type) ? py.PyDict_GetItemString(dict, key) : NULL;
}

static py_object *item_of(py_object *list, ptrdiff_t index)
{
    bool has = list && python_is(list, py.PyList_Type) && index < py.PyList_Size(list);
    return has ? py.PyList_GetItem(list, index) : NULL;
}

static uint64_t number_of(py_object *dict, const char *key)
{
    py_object *o = member_of(dict, key);
    uint64_t number = o ? py.PyLong_AsUnsignedLongLong(o) : 0;
    if (py.PyErr_Occurred()) {
        py.PyErr_Clear();
        return 0;
    }
    return number;
}

static const char *text_of(py_object *dict, const char *key)
{
    py_object *o = member_of(dict, key);
    const char *text = o ? python_text(o) : NULL;
    return text ? text : "";
}

/* Up to 2.0 it is that of the newest piece of the block's history. */
static py_object *frames_of(py_object *block)
{
    py_object *frames = member_of(block, "frames");
    return frames ? frames : member_of(item_of(member_of(block, "history"), 0), "frames");
}

static uint64_t word_of(py_object *frame)
{
    bool is_new;
    struct place *p = words.slots ? places_add(&words, (uintptr_t) frame, &is_new) : NULL;
    if (p && p->value)
        return p->value;
    uint64_t word = blocks_frame(text_of(frame, "name"), text_of(frame, "filename"),
                                 (uint32_t) number_of(frame, "line"));
    if (p)
        p->value = word;
    return word;
}

static size_t frame_words(py_object *block, uint64_t ret[WIRE_TRACE_DEPTH])
{
    py_object *frames = frames_of(block), *frame;
    size_t depth = 0;
    while (depth < WIRE_TRACE_DEPTH && (frame = item_of(frames, (ptrdiff_t) depth)))
        ret[depth++] = word_of(frame);
    return depth;
}

static bool is_in_use(py_object *block)
{
    return strcmp(text_of(block, "state"), "active_allocated") == 0;
}

static void read_block(py_object *segment, py_object *block)
{
    uint64_t frames[WIRE_TRACE_DEPTH];
    uint64_t size = number_of(block, "size"), address = number_of(block, "address");
    unsigned memory = (unsigned) number_of(segment, "device");
    if (reading.block == 0)
        reading.address = number_of(segment, "address");
    if (is_in_use(block))
        blocks_add(reading.is_pinned ? WIRE_TRACE_DEVICES : memory,
                   address ? address : reading.address, size, frames, frame_words(block, frames));
    reading.address += size;
}

/* Until 1.13 torch's list is that of the segments itself. */
static py_object *segments_in(py_object *list, bool is_pinned)
{
    if (python_is(list, py.PyList_Type))
        return is_pinned ? NULL : list;
    return member_of(list, is_pinned ? "host_segments" : "segments");
}

/* Goes on to the next block; NULL: at the end. */
static py_object *next_block(py_object **ret_segment)
{
    for (;;) {
        *ret_segment = item_of(reading.segments, reading.segment);
        py_object *block = item_of(member_of(*ret_segment, "blocks"), reading.block);
        if (block)
            return block;
        if (*ret_segment) {
            reading.segment++;
        } else {
            if (reading.is_pinned)
                return NULL;
            reading.is_pinned = true;
            reading.segments = segments_in(reading.list, true);
            reading.segment = 0;
        }
        reading.block = 0;
    }
}

/* True: the list is read to its end. */
static bool read_piece(uint64_t until)
{
    py_object *segment, *block;
    while ((block = next_block(&segment))) {
        read_block(segment, block);
        reading.block++;
        if (wire_now() > until)
            return false;
    }
    return true;
}

static void begin_reading(py_object *list)
{
    reading.list = list;
    reading.segments = segments_in(list, false);
    if (!words.slots)
        (void) places_init(&words, WORDS_MOST, true);
    places_clear(&words);
    blocks_begin();
}

/* ---- whose recording it is ---- */

static bool any_has_stack(py_object *list)
{
    py_object *segments = segments_in(list, false), *segment, *block;
    for (ptrdiff_t i = 0; (segment = item_of(segments, i)); i++)
        for (ptrdiff_t k = 0; (block = item_of(member_of(segment, "blocks"), k)); k++)
            if (item_of(frames_of(block), 0))
                return true;
    return false;
}

/* Ours has one entry for each device. */
static bool has_longer_history(py_object *list)
{
    py_object *traces = member_of(list, "device_traces"), *trace;
    for (ptrdiff_t i = 0; (trace = item_of(traces, i)); i++)
        if (item_of(trace, 1))
            return true;
    return false;
}

/* Somebody else's is on. */
static bool is_taken(py_object *core, py_object *list)
{
    int enabled = answer(core, "_cuda_isHistoryEnabled");
    if (enabled >= 0)
        return enabled > 0;
    return has_longer_history(list) || (!recording.was_on && any_has_stack(list));
}

/* Somebody has switched ours off, or on again in another way. */
static bool is_lost(py_object *core, py_object *list)
{
    return answer(core, "_cuda_isHistoryEnabled") == 0 || has_longer_history(list);
}

/* ---- on and off ---- */

static void let_go(void)
{
    end_reading();
    places_release(&words);
    blocks_forget();
    recording.is_on = false;
}

/* For good: whoever has it on from now on is somebody else. */
static void give_up(enum wire_trace_recording why)
{
    let_go();
    recording.is_over = true;
    blocks_set_recording(why);
}

static void switch_off(void)
{
    py_object *core = python_module("torch._C");
    let_go();
    if (core && cuda_is_in_use(core))
        (void) record(core, recording.form, false);
    blocks_set_recording(WIRE_TRACE_NOT_RECORDING);
}

/* A list costs the program its time, and torch the memory for it. False: not now. */
static bool may_list(py_object *core)
{
    if (count_blocks(core) > BLOCKS_MOST) {
        if (recording.is_on)
            switch_off();
        give_up(WIRE_TRACE_TOO_MANY);
        return false;
    }
    return answer(core, "_cuda_isCurrentStreamCapturing") <= 0;
}

static void switch_on(py_object *core)
{
    py_object *list = may_list(core) ? list_blocks(core) : NULL;
    if (recording.is_over)
        return;
    if (!list || !blocks_arm()) {
        python_drop(list);
        recording.next = wire_now() + RETRY;
        return;
    }
    if (is_taken(core, list) || !record_somehow(core)) {
        bool is_missing = recording.form == FORMS;
        python_drop(list);
        give_up(is_missing ? WIRE_TRACE_CANNOT_RECORD : WIRE_TRACE_OTHERS_RECORD);
        return;
    }
    recording.is_on = recording.was_on = true;
    blocks_set_recording(forms[recording.form].has_pinned ? WIRE_TRACE_RECORDS_PINNED
                                                          : WIRE_TRACE_RECORDS);
    begin_reading(list);
}

static void take_list(py_object *core)
{
    py_object *list = may_list(core) ? list_blocks(core) : NULL;
    if (!list)
        return;
    if (is_lost(core, list)) {
        python_drop(list);
        give_up(WIRE_TRACE_OTHERS_RECORD);
        return;
    }
    begin_reading(list);
}

/* ---- moments ---- */

static void go_on(uint64_t now)
{
    py_object *core = python_module("torch._C");
    if (!core || !cuda_is_in_use(core)) {
        recording.next = now + RETRY;
        return;
    }
    if (!recording.is_on)
        switch_on(core);
    else if (!reading.list)
        take_list(core);
    if (!reading.list || !read_piece(wire_now() + PIECE))
        return;
    end_reading();
    blocks_end();
    recording.next = now + LEAST;
}

static void pay(uint64_t before)
{
    uint64_t now = wire_now(), took = now - before;
    recording.spent += took;
    blocks_add_cost(took);
    uint64_t rest = recording.spent > FREE ? SHARE * took : 0;
    if (recording.next < now + rest)
        recording.next = now + rest;
}

static void moment(bool is_wanted)
{
    py_object *type, *value, *traceback;
    uint64_t now = wire_now();
    if (is_wanted && now < recording.next)
        return;
    int64_t left = sampling_pause(); /* torch's list is not the program's */
    recording.is_inside = true;
    py.PyErr_Fetch(&type, &value, &traceback);
    if (is_wanted)
        go_on(now);
    else
        switch_off();
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    pay(now);
    recording.is_inside = false;
    sampling_resume(left);
}

void recording_moment(void)
{
    if (recording.is_over || recording.is_inside)
        return;
    bool is_wanted = blocks_are_wanted();
    if (is_wanted || recording.is_on)
        moment(is_wanted);
}

void recording_end(void)
{
    if (recording.is_on && !recording.is_inside)
        moment(false);
}

void recording_forget(void)
{
    bool was_on = recording.was_on;
    reading.list = NULL; /* the interpreter may not be ready to free it */
    let_go();
    memset(&recording, 0, sizeof(recording));
    recording.was_on = was_on;
}
