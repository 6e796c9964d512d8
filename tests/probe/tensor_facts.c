/* tests/probe/tensor_facts.c: the probe's reading of tensors, as a library for tensors.py. */
#include "probe/census/tensors.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* NULL: learned; otherwise the reason for the failure. */
const char *facts_learn(double *ret_ns)
{
    if (!python_find())
        return "there is no Python";
    double begin = now();
    bool learnt = tensors_learn();
    *ret_ns = now() - begin;
    return learnt ? NULL : tensors_why();
}

/* Returns a number that depends on every read, so that none is optimised away. */
static size_t read_once(py_object *const *objects, size_t count)
{
    struct tensor_facts f;
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += tensors_read(objects[i], &f) ? f.storage_bytes + 1 : 0;
    return sum;
}

/* Nanoseconds per object, the best of some rounds. */
double facts_time(py_object *const *objects, size_t count)
{
    double best = 1e18;
    for (int i = 0; i < 20; i++) {
        double begin = now();
        volatile size_t sum = read_once(objects, count);
        (void) sum;
        double each = (now() - begin) / (double) count;
        best = each < best ? each : best;
    }
    return best;
}
