/* probe/preload.c: brought into every process of a job, awake only where there is a Python. */
#include "probe/python.h"
#include "probe/ring.h"
#include "probe/torch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bool nothing_left_to_hook;

static void in_child(void)
{
    ring_forget();
    torch_forget();
}

static bool is_of_torch(py_object *module_name)
{
    const char *name = module_name ? python_text(module_name) : NULL;
    return name && strncmp(name, "torch", 5) == 0 && (name[5] == '\0' || name[5] == '.');
}

/*
 * The interpreter says what it is about to import, with the GIL held. While torch imports its own
 * parts, one after the other, those that are complete are hooked.
 */
static int on_event(const char *event, py_object *args, void *context)
{
    static bool busy; /* what we do makes events, too */
    (void) context;
    if (nothing_left_to_hook || busy || strcmp(event, "import") != 0)
        return 0;
    busy = true;
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    if (is_of_torch(py.PyTuple_GetItem(args, 0)))
        nothing_left_to_hook = torch_hook();
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
    busy = false;
    return 0;
}

/* Before main(): the interpreter takes hooks before it is there, and nothing is read of its own
 * settings, so that it starts as it would without us. */
__attribute__((constructor)) static void on_load(void)
{
    if (!getenv(WIRE_DIRECTORY_VARIABLE) || !python_find() || py.Py_IsInitialized())
        return;
    if (py.PySys_AddAuditHook(on_event, NULL) == 0)
        pthread_atfork(NULL, NULL, in_child);
}
