/*
 * probe/hook/imports.c: waiting for an import.
 *
 * An audit hook is told of every import, but also of much else: each id() would be slower while
 * one is set. So it is there only while it is needed. It is added before the interpreter is
 * initialised, where that is allowed; the first import finds it and puts a function of ours in
 * place of _imp.create_dynamic(), which loads modules written in C, and the hook is taken out of
 * the interpreter's list. When a module in C is loaded and the wanted module is among those being
 * imported, the hook is put back until all is done.
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
static bool (*look_at)(void);
static bool done;

/* ---- the hook in the interpreter's list ---- */

/* As every CPython since 3.8 keeps them. */
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

/* The one word that adding a hook has changed: the head of the list, and it leads to ours. */
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

/* Somebody who walks the list at this moment can still go on from ours. */
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

/* True: from now on it is enough to be told of modules in C. */
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
        done = look_at();
    } else if (modules_in_c == NOT_TRIED) {
        modules_in_c = watch_modules_in_c() ? WATCHES : CANNOT;
    }
    if (done || (modules_in_c == WATCHES && !python_module(wanted)))
        take_hook_out();
}

/*
 * The GIL is held. An exception that is on its way stays so. At its end the interpreter frees the
 * list with the allocator it has by then, which a debugging one (-X dev) is not: ours was made
 * before there was any. It says so first, and then ours is not there.
 */
static int on_event(const char *event, py_object *args, void *context)
{
    static bool busy; /* what we do makes events, too */
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

bool imports_watch(const char *module, bool (*look)(void))
{
    wanted = module;
    look_at = look;
    return add_hook();
}
