/* probe/preload.c: brought into every process of a job, awake only where there is a Python. */
#include "probe/imports.h"
#include "probe/python.h"
#include "probe/ring.h"
#include "probe/torch.h"

#include <pthread.h>
#include <stdlib.h>

static void in_child(void)
{
    ring_forget();
    torch_forget();
}

/* Before main(): nothing of the interpreter's settings is read or changed, so that it starts as it
 * would without us. */
__attribute__((constructor)) static void on_load(void)
{
    if (!getenv(WIRE_DIRECTORY_VARIABLE) || !python_find() || py.Py_IsInitialized())
        return;
    if (imports_watch("torch", torch_hook))
        pthread_atfork(NULL, NULL, in_child);
}
