/* probe/hook/batches.c: moments for data workers, which make no steps and print nothing. */
#include "probe/hook/batches.h"

#include "probe/base/python.h"
#include "probe/hook/ring.h"

#define FETCHERS 2u

static struct python_replaced fetchers[FETCHERS];
static enum { NOT_ASKED, IS_WORKER, IS_NONE } kind;

void batches_forget(void)
{
    kind = NOT_ASKED;
}

/* torch describes every worker to itself before its first batch. */
static bool is_worker(void)
{
    if (kind == NOT_ASKED) {
        py_object *module = python_module("torch.utils.data._utils.worker");
        py_object *info = module ? python_attribute(module, "_worker_info") : NULL;
        kind = info && info != py.none ? IS_WORKER : IS_NONE;
        python_drop(info);
    }
    return kind == IS_WORKER;
}

/* fetch(fetcher, index): the previous batch has been handed over, and nothing of the next exists
 * yet. */
static py_object *on_fetch(py_object *original, py_object *args, py_object *named)
{
    if (is_worker())
        ring_batch();
    return py.PyObject_Call(original, args, named);
}

static struct py_method fetch_method = {"fetch", (py_function *) (void (*)(void)) on_fetch,
                                        PY_VARARGS | PY_KEYWORDS, NULL};

void batches_hook(void)
{
    static const char *const types[FETCHERS] = {"_MapDatasetFetcher", "_IterableDatasetFetcher"};
    py_object *module = python_module("torch.utils.data._utils.fetch");
    for (unsigned i = 0; module && i < FETCHERS; i++) {
        py_object *type = fetchers[i].type ? NULL : python_attribute(module, types[i]);
        if (type)
            python_replace_method(type, &fetch_method, &fetchers[i]);
        python_drop(type);
    }
}
