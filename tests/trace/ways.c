/* tests/trace/ways.c: WAY [PLUGIN]: allocates in one of several ways, and keeps it.
 *
 * ROUNDS blocks of BYTES are kept by a function that is named after the way; as many others are
 * freed at once. The last line is "kept N", N bytes. Exit status 99: memory was not as it should be.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 2000u
#define BYTES 30000u
#define PAUSE 500 /* us a round: the tracer is to be armed before much is kept */
#define WARM_UP 300000

#define NEVER_INLINE __attribute__((noinline))

typedef void *make(size_t size);
typedef void drop(void *block);

static make *make_found;
static drop *drop_found;
static const char *plugin;
static int plugin_mode = RTLD_NOW | RTLD_LOCAL;

static void *filled(void *block)
{
    if (!block)
        _exit(99);
    return memset(block, 1, BYTES);
}

NEVER_INLINE void *keep_plainly(void)
{
    return filled(malloc(BYTES));
}

NEVER_INLINE void *keep_looked_up(void)
{
    return filled(make_found(BYTES));
}

NEVER_INLINE void *keep_array(void)
{
    void *block = reallocarray(NULL, BYTES / 100, 100);
    return filled(reallocarray(block, BYTES / 10, 10));
}

NEVER_INLINE void *keep_text(void)
{
    static char text[BYTES];
    memset(text, 'x', BYTES - 1);
    return filled(strdup(text));
}

/* new and delete, as C++ calls them. */
extern void *operator_new(size_t size) __asm__("_Znwm");
extern void operator_delete(void *block) __asm__("_ZdlPv");

NEVER_INLINE void *keep_by_operator(void)
{
    drop_found = operator_delete;
    return filled(operator_new(BYTES));
}

/* ---- by another file ---- */

static void *plugin_open(make **ret_make, drop **ret_drop)
{
    void *handle = dlopen(plugin, plugin_mode);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(99);
    }
    *ret_make = (make *) dlsym(handle, "plugin_keep");
    *ret_drop = (drop *) dlsym(handle, "plugin_drop");
    return handle;
}

static void *keep_by_plugin(void)
{
    if (!make_found)
        (void) plugin_open(&make_found, &drop_found);
    return make_found(BYTES);
}

/* The file is unloaded each time: the next may be at the same place. */
static void *keep_by_passing_plugin(void)
{
    make *own_make;
    drop *own_drop;
    void *handle = plugin_open(&own_make, &own_drop);
    void *block = own_make(BYTES);
    own_drop(own_make(BYTES));
    dlclose(handle);
    return block;
}

/* ---- the way ---- */

static void look_up(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    make_found = (make *) dlsym(handle, "malloc");
    drop_found = (drop *) dlsym(handle, "free");
    if (!make_found || !drop_found)
        _exit(99);
}

static make *const none;

static void *(*find_way(const char *name))(void)
{
    if (strcmp(name, "libc") == 0)
        look_up("libc.so.6");
    if (strcmp(name, "program") == 0)
        look_up(NULL);
    if (make_found != none)
        return keep_looked_up;
    plugin_mode |= strcmp(name, "deep") == 0 ? RTLD_DEEPBIND : 0;
    if (strcmp(name, "plugin") == 0 || strcmp(name, "deep") == 0)
        return keep_by_plugin;
    if (strcmp(name, "passing") == 0)
        return keep_by_passing_plugin;
    if (strcmp(name, "array") == 0)
        return keep_array;
    if (strcmp(name, "operator") == 0)
        return keep_by_operator;
    return strcmp(name, "text") == 0 ? keep_text : keep_plainly;
}

int main(int argc, char **argv)
{
    static unsigned char *blocks[ROUNDS];
    plugin = argc > 2 ? argv[2] : NULL;
    void *(*keep)(void) = find_way(argc > 1 ? argv[1] : "");
    usleep(WARM_UP);
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *block = keep();
        blocks[i] = keep();
        (drop_found ? drop_found : free)(block);
        usleep(PAUSE);
    }
    for (unsigned i = 0; i < ROUNDS; i++)
        if (blocks[i][0] != 1 || blocks[i][BYTES - 1] != 1)
            return 99;
    printf("kept %u\n", ROUNDS * BYTES);
    return 0;
}
