/* probe/base/pieces.c: finds the lists inside an io.StringIO by the list of a new one. */
#include "probe/base/pieces.h"

#include <string.h>

#define NEWEST 16u /* objects from the end of the collector's list */
#define WORD sizeof(void *)

static struct {
    const py_object *type;
    size_t at; /* offset of two pointers, to the lists of long and of short pieces; 0: not known */
} known;

/* ---- learning ---- */

struct search {
    const py_object *file;
    size_t size, at; /* at: 0 until the list is found */
    unsigned left;
};

static bool find_own_list(py_object *o, void *context)
{
    struct search *s = context;
    py_object *held;
    for (size_t at = 2 * WORD; heap_type(o) == py.PyList_Type && at + WORD <= s->size; at += WORD) {
        memcpy(&held, (const char *) s->file + at, sizeof(held));
        if (held == o)
            s->at = at;
    }
    return s->at == 0 && --s->left > 0;
}

/* The list of long pieces comes first, and is created on demand. */
void pieces_learn(py_object *type, size_t size)
{
    py_object *one = py.PyObject_CallObject(type, NULL);
    struct search s = {.file = one, .size = size, .left = NEWEST};
    py_object *first = NULL;
    if (one)
        heap_visit_back(find_own_list, &s);
    if (s.at > 2 * WORD) {
        memcpy(&first, (const char *) one + s.at - WORD, sizeof(first));
        known.type = type;
        known.at = first ? 0 : s.at - WORD;
    }
    py.PyErr_Clear();
    python_drop(one);
}

/* ---- reading ---- */

/* Both are NULL after the file has been read or closed. */
static void read_lists(const py_object *file, py_object *ret[2])
{
    ret[0] = ret[1] = NULL;
    if (known.at && heap_type(file) == known.type)
        memcpy(ret, (const char *) file + known.at, 2 * sizeof(*ret));
}

void pieces_visit(const py_object *file, heap_edge_visitor *visit, void *context)
{
    py_object *lists[2];
    read_lists(file, lists);
    if ((!lists[0] || visit(lists[0], context) == 0) && lists[1])
        visit(lists[1], context);
}

bool pieces_has(const py_object *file, const py_object *list)
{
    py_object *lists[2];
    read_lists(file, lists);
    return list && (lists[0] == list || lists[1] == list);
}
