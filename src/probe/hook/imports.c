/*
 * probe/hook/imports.c: waits for an import.
 *
 * An audit hook hears of every import, but also of much else: with one set, every id() is slower.
 * So the hook is present only while it is needed. It is added before the interpreter is
 * initialised, where CPython allows that. On the first import it replaces _imp.create_dynamic(),
 * which loads C modules, by a function of ours, and removes itself from the interpreter's list.
 * When a C module is loaded while the wanted module is being imported, that function puts the hook
 * back until all is done.
 */
#include "probe/hook/imports.h"

#include "probe/base/libc.h"
#include "probe/base/python.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *wanted;
static bool (*hook_wanted)(void);
static bool done;

/* ---- the hook in the interpreter's list ---- */

/* The layout in every CPython since 3.8. */
struct hook_entry {
    struct hook_entry *next;
    py_audit_hook *call;
    void *context;
};

static struct hook_entry **list; /* its head, inside the interpreter; NULL: not found */
static struct hook_entry *ours;

static int on_event(const char *event, py_object *args, void *context);

static bool find_runtime(uintptr_t **ret_words, size_t *ret_count)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (!runtime || !libc_symbol(runtime, &info, &symbol) || !symbol)
        return false;
    *ret_words = runtime;
    *ret_count = symbol->st_size / sizeof(uintptr_t);
    return info.dli_saddr == runtime;
}

/* Adding a hook must have changed exactly one word: the head of the list, which now leads to ours.
 */
static void find_list(uintptr_t *words, const uintptr_t *before, size_t count)
{
    size_t changed = 0, where = 0;
    for (size_t i = 0; i < count; i++)
        if (words[i] != before[i]) {
            where = i;
            changed++;
        }
    if (changed != 1 || before[where] != 0)
        return;
    struct hook_entry *entry;
    memcpy(&entry, &words[where], sizeof(entry));
    if (entry->next || entry->call != on_event || entry->context != &wanted)
        return;
    list = (struct hook_entry **) &words[where];
    ours = entry;
}

static bool add_hook(void)
{
    uintptr_t *words = NULL, *before = NULL;
    size_t count = 0;
    if (find_runtime(&words, &count) && (before = malloc(count * sizeof(*before))))
        memcpy(before, words, count * sizeof(*before));
    bool added = py.PySys_AddAuditHook(on_event, &wanted) == 0;
    if (added && before)
        find_list(words, before, count);
    free(before);
    return added;
}

static bool is_in_list(void)
{
    for (const struct hook_entry *e = *list; e; e = e->next)
        if (e == ours)
            return true;
    return false;
}

/* Whoever is walking the list now can still continue from our entry. */
static void take_hook_out(void)
{
    for (struct hook_entry **e = list; list && *e; e = &(*e)->next)
        if (*e == ours) {
            *e = ours->next;
            return;
        }
}

static void put_hook_back(void)
{
    if (!list || is_in_list())
        return;
    ours->next = *list;
    *list = ours;
}

/* ---- imports ---- */

static py_object *original_create;

/* create_dynamic(spec, ...) */
static py_object *on_create(py_object *self, py_object *args)
{
    (void) self;
    if (!done && python_module(wanted))
        put_hook_back();
    return py.PyObject_CallObject(original_create, args);
}

static struct py_method create_function = {"create_dynamic", on_create, PY_VARARGS, NULL};

/* True: from now on, hearing of C modules is enough. */
static bool watch_modules_in_c(void)
{
    py_object *module = list ? python_module("_imp") : NULL;
    original_create = module ? python_attribute(module, create_function.name) : NULL;
    py_object *function = original_create ? python_function(&create_function, NULL) : NULL;
    bool set = function && py.PyObject_SetAttrString(module, create_function.name, function) == 0;
    py.PyErr_Clear();
    python_drop(function);
    return set;
}

static void on_import(void)
{
    static enum { NOT_TRIED, WATCHES, CANNOT } modules_in_c;
    if (python_module(wanted)) {
        done = hook_wanted();
    } else if (modules_in_c == NOT_TRIED) {
        modules_in_c = watch_modules_in_c() ? WATCHES : CANNOT;
    }
    if (done || (modules_in_c == WATCHES && !python_module(wanted)))
        take_hook_out();
}

/*
 * The GIL is held, and a current exception is kept. At its end the interpreter frees the list with
 * the allocator it has by then. A debugging allocator (-X dev) would reject our entry, which was
 * made before. The interpreter announces that first, and the entry is removed.
 */
static int on_event(const char *event, py_object *args, void *context)
{
    static bool busy; /* our own calls cause events too */
    (void) args, (void) context;
    if (strcmp(event, "cpython._PySys_ClearAuditHooks") == 0)
        take_hook_out();
    if (done || busy || strcmp(event, "import") != 0)
        return 0;
    busy = true;
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    on_import();
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    busy = false;
    return 0;
}

bool imports_watch(const char *module, bool (*hook)(void))
{
    wanted = module;
    hook_wanted = hook;
    return add_hook();
}
