/* attach/python.c: finds the interpreter inside a process. Reads only. */
#include "attach/python.h"

#include "attach/arch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OLDEST_MINOR 9
#define NEWEST_MINOR 13

/* ---- the loaded files ---- */

/* The loaded files, one after the other. */
struct images {
    const struct target *t;
    size_t position;
};

/* 1: the next loaded file whose header is in memory; 0: no more. */
static int images_next(struct images *i, struct maps_entry *m, struct elf_image *e)
{
    while (maps_next(i->t->maps.text, i->t->maps.len, &i->position, m))
        if (m->read && m->inode != 0 && m->offset == 0 && elf_open(&i->t->memory, m->start, e) == 0)
            return 1;
    return 0;
}

static int find_anywhere(const struct target *t, const char *file, const char *symbol,
                         struct elf_image *ret_image, uint64_t *ret_address)
{
    struct images i = {t, 0};
    struct maps_entry m;
    while (images_next(&i, &m, ret_image))
        if (maps_is_named(&m, file) && elf_find(ret_image, symbol, ret_address) == 0)
            return 0;
    return -ENOENT;
}

static bool is_loaded(const struct target *t, const char *file)
{
    size_t position = 0;
    struct maps_entry m;
    while (maps_next(t->maps.text, t->maps.len, &position, &m))
        if (maps_is_named(&m, file))
            return true;
    return false;
}

/* ---- the version ---- */

/* A version such as "3.9." and up to three digits, at the end of a constant: true, and *ret has it.
 * */
static bool find_version(const char *text, size_t len, const char *wanted, char ret[32])
{
    size_t wanted_len = strlen(wanted);
    const char *end = text + len, *found = text;
    while ((found = memmem(found, (size_t) (end - found), wanted, wanted_len))) {
        const char *digits = found + wanted_len;
        size_t count = 0;
        while (digits + count < end && count < 3 && digits[count] >= '0' && digits[count] <= '9')
            count++;
        if (count > 0 && digits + count < end && digits[count] == '\0') {
            snprintf(ret, 32, "%s", found);
            return true;
        }
        found = digits;
    }
    return false;
}

/* Before 3.11 only the constants of the file contain the version. */
static void read_version_text(const struct target *t, uint64_t base, struct python *p)
{
    char wanted[16], piece[65536];
    size_t position = 0;
    uint64_t inode = 0;
    struct maps_entry m;
    snprintf(wanted, sizeof wanted, "3.%u.", p->minor);
    while (maps_next(t->maps.text, t->maps.len, &position, &m)) {
        if (m.start == base)
            inode = m.inode;
        if (inode == 0 || m.inode != inode || m.execute || m.write)
            continue;
        for (uint64_t at = m.start; at < m.end; at += sizeof piece - 16) {
            size_t len = m.end - at < sizeof piece ? (size_t) (m.end - at) : sizeof piece;
            if (target_read(t, at, piece, len) < 0)
                break;
            if (find_version(piece, len, wanted, p->version))
                return;
        }
    }
}

static void read_version(const struct target *t, const struct elf_image *e, struct python *p)
{
    uint64_t address, number;
    unsigned major = 3;
    if (elf_find(e, "Py_Version", &address) == 0 &&
        target_read(t, address, &number, sizeof number) == 0) {
        major = (unsigned) (number >> 24 & 0xff);
        p->minor = (unsigned) (number >> 16 & 0xff);
        snprintf(p->version, sizeof p->version, "%u.%u.%u", major, p->minor,
                 (unsigned) (number >> 8 & 0xff));
        return;
    }
    /* Functions that a version introduced. */
    p->minor = elf_find(e, "PyModule_AddObjectRef", &address) == 0 ? 10
               : elf_find(e, "PyFrame_GetBack", &address) == 0     ? 9
                                                                   : 0;
    snprintf(p->version, sizeof p->version, "3.%u", p->minor);
    if (p->minor >= OLDEST_MINOR)
        read_version_text(t, e->base, p);
}

static bool is_free_threaded(const struct elf_image *e)
{
    uint64_t address;
    return elf_find(e, "_Py_DecRefShared", &address) == 0;
}

static int check_version(const struct target *t, const struct elf_image *e, const struct python *p,
                         struct buf *why)
{
    if (p->minor < OLDEST_MINOR)
        buf_addf(why, "could not attach: the Python in process %d (%s) is older than 3.9.",
                 (int) t->pid, t->name);
    else if (is_free_threaded(e))
        buf_addf(why,
                 "could not attach: the Python in process %d (%s) is a free-threaded build of %s, "
                 "which is not supported.",
                 (int) t->pid, t->name, p->version);
    else if (p->minor > NEWEST_MINOR)
        buf_addf(
            why,
            "could not attach: the Python in process %d (%s) is %s. Python 3.14 and later need "
            "sys.remote_exec, which tidemark does not support yet.",
            (int) t->pid, t->name, p->version);
    else
        return 0;
    buf_adds(why, " Start the job with `tidemark run` instead.");
    return -ENOTSUP;
}

/* ---- whether it runs ---- */

/* Reads the variable that the function `name` returns. */
static int read_variable(const struct target *t, const struct elf_image *e, const char *name,
                         void *ret, size_t len)
{
    uint8_t code[32];
    uint64_t function, address;
    struct arch_getter g;
    if (elf_find(e, name, &function) < 0 || target_read(t, function, code, sizeof code) < 0)
        return -ENOTSUP;
    int r = arch_read_getter(code, sizeof code, function, &g);
    if (r < 0)
        return r;
    address = g.address;
    if (g.indirect && (r = target_read(t, g.address, &address, sizeof address)) < 0)
        return r;
    return target_read(t, address + g.displacement, ret, len);
}

static int check_running(const struct target *t, const struct elf_image *e,
                         uint64_t *ret_interpreter, struct buf *why)
{
    int initialized = 0;
    if (read_variable(t, e, "Py_IsInitialized", &initialized, sizeof initialized) < 0 ||
        read_variable(t, e, "PyInterpreterState_Main", ret_interpreter, sizeof(uint64_t)) < 0) {
        buf_addf(why,
                 "could not attach: tidemark does not know this build of Python (process %d, %s). "
                 "Start the job with `tidemark run` instead.",
                 (int) t->pid, t->name);
        return -ENOTSUP;
    }
    if (initialized == 1 && *ret_interpreter != 0)
        return 0;
    buf_addf(
        why,
        "could not attach: the Python in process %d (%s) is not running. It is starting or ending; "
        "try again in a moment.",
        (int) t->pid, t->name);
    return -EAGAIN;
}

/* ---- the lock ---- */

/* The lock's place: up to 3.11 in the interpreter, from 3.12 on in the runtime. */
static const struct layout {
    unsigned minor;
    uint64_t interpreter, runtime;
} layouts[] = {{9, 80, 0}, {10, 80, 0}, {11, 112, 0}, {12, 0, 2024}, {13, 0, 2648}};

#define FIRST_WITH_BYTE_LOCK 13

static void find_lock(const struct elf_image *e, uint64_t interpreter, struct python *p)
{
    uint64_t runtime = 0;
    elf_find(e, "_PyRuntime", &runtime);
    for (unsigned i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct layout *l = &layouts[i];
        if (l->minor == p->minor && l->interpreter)
            p->lock = interpreter + l->interpreter;
        else if (l->minor == p->minor && runtime)
            p->lock = runtime + l->runtime;
    }
}

/* From 3.13 on the lock is a byte, followed by a queue. The pointer before it is the thread that is
 * working on the queue; the two numbers after it are the waiting calls and their maximum. */
static int byte_lock_is_free(const struct target *t, const struct python *p)
{
    struct {
        uint64_t busy_thread;
        uint8_t lock, unused[3];
        int32_t waiting, most;
    } around;
    int r = target_read(t, p->lock - 8, &around, sizeof around);
    if (r < 0)
        return r;
    if (around.lock > 3 || around.waiting < 0 || around.waiting > around.most || around.most < 1 ||
        around.most > 1024)
        return -ENOTSUP;
    return around.lock == 0;
}

/* Up to 3.12 the lock is a pointer to a semaphore (its value and its waiters), which is 1 when
 * free. */
static int semaphore_is_free(const struct target *t, const struct python *p)
{
    uint64_t address;
    uint32_t semaphore[2];
    int32_t calls_to_do;
    if (target_read(t, p->lock, &address, sizeof address) < 0 || address % 8 != 0 ||
        target_read(t, address, semaphore, sizeof semaphore) < 0 ||
        target_read(t, p->lock + 8, &calls_to_do, sizeof calls_to_do) < 0)
        return -ENOTSUP;
    if (semaphore[0] > 1 || semaphore[1] > 1024 || calls_to_do < 0 || calls_to_do > 1024)
        return -ENOTSUP;
    return semaphore[0] == 1;
}

int python_lock_is_free(const struct target *t, const struct python *p)
{
    if (p->lock == 0)
        return -ENOTSUP;
    return p->minor >= FIRST_WITH_BYTE_LOCK ? byte_lock_is_free(t, p) : semaphore_is_free(t, p);
}

/* ---- all of it ---- */

static int find_loader(const struct target *t, struct python *p, struct buf *why)
{
    struct elf_image e;
    if (is_loaded(t, "ld-musl-") || is_loaded(t, "libc.musl-")) {
        buf_addf(
            why,
            "could not attach to process %d (%s): it runs on musl, and tidemark's library needs "
            "glibc. Use an image with glibc.",
            (int) t->pid, t->name);
        return -ENOTSUP;
    }
    /* Before glibc 2.34 these functions are in a separate library. */
    const char *home = find_anywhere(t, "libc.so.6", "dlopen", &e, &p->dlopen) == 0 ||
                               find_anywhere(t, "libc-2.", "dlopen", &e, &p->dlopen) == 0
                           ? "libc"
                           : "libdl";
    if (find_anywhere(t, home, "dlopen", &e, &p->dlopen) < 0 ||
        elf_find(&e, "dlsym", &p->dlsym) < 0 || elf_find(&e, "dlerror", &p->dlerror) < 0 ||
        find_anywhere(t, "libc", "__errno_location", &e, &p->errno_location) < 0) {
        buf_addf(
            why,
            "could not attach to process %d (%s): it has no C library that can load another (a "
            "static program, or an unknown C library). Start the job with `tidemark run` "
            "instead.",
            (int) t->pid, t->name);
        return -ENOTSUP;
    }
    return 0;
}

static bool is_32_bit(const struct target *t)
{
    struct maps_entry m;
    struct elf_image e = {.is_64_bit = 1};
    size_t position = 0;
    return maps_next(t->maps.text, t->maps.len, &position, &m) && m.end < UINT32_MAX &&
           elf_open(&t->memory, m.start, &e) == -ENOEXEC && !e.is_64_bit;
}

static int no_python(const struct target *t, struct buf *why)
{
    if (is_32_bit(t))
        buf_addf(why, "could not attach to process %d (%s): it is a 32-bit program.", (int) t->pid,
                 t->name);
    else
        buf_addf(why,
                 "There is no Python in process %d (%s). If it is a wrapper, give the pid of the "
                 "Python process it started.",
                 (int) t->pid, t->name);
    return -ENOTSUP;
}

int python_find(const struct target *t, struct python *ret, struct buf *why)
{
    struct python p = {0};
    struct elf_image e;
    uint64_t interpreter = 0;
    if (!arch_is_supported()) {
        buf_adds(why, "could not attach: tidemark can attach on x86-64 only.");
        return -ENOTSUP;
    }
    if (find_anywhere(t, "", "Py_AddPendingCall", &e, &p.add_call) < 0)
        return no_python(t, why);
    read_version(t, &e, &p);
    int r = check_version(t, &e, &p, why);
    if (r == 0)
        r = find_loader(t, &p, why);
    if (r == 0)
        r = check_running(t, &e, &interpreter, why);
    if (r < 0)
        return r;
    find_lock(&e, interpreter, &p);
    *ret = p;
    return 0;
}
