/* core/losses.c: the loss values known on the host. */
#include "core.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int losses_init(struct losses *l, Py_ssize_t size, Py_ssize_t group)
{
    double *values = calloc((size_t) size, sizeof(*values));
    if (!values)
        return -ENOMEM;
    *l = (struct losses){.values = values, .size = size, .group = group, .last = NAN};
    return 0;
}

void losses_release(struct losses *l)
{
    free(l->values);
    *l = (struct losses){.last = NAN};
}

static void push(struct losses *l, double value)
{
    l->values[l->next] = value;
    if (++l->next == l->size)
        l->next = 0;
    if (l->count < l->size)
        l->count++;
}

void losses_flush(struct losses *l)
{
    if (l->summed == 0)
        return;
    push(l, l->sum / (double) l->summed);
    l->sum = 0;
    l->summed = 0;
}

void losses_add(struct losses *l, double value)
{
    losses_flush(l);
    push(l, value);
    l->last = value;
}

void losses_collect(struct losses *l, double value)
{
    l->sum += value;
    l->last = value;
    if (++l->summed >= l->group)
        losses_flush(l);
}

PyObject *losses_list(const struct losses *l)
{
    PyObject *list = PyList_New(l->count);
    Py_ssize_t at = (l->next - l->count + l->size) % l->size;
    for (Py_ssize_t i = 0; list && i < l->count; i++) {
        PyObject *value = PyFloat_FromDouble(l->values[at]);
        if (!value || PyList_SetItem(list, i, value) < 0)
            Py_CLEAR(list);
        at = (at + 1) % l->size;
    }
    return list;
}
