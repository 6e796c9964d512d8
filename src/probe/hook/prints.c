/* probe/hook/prints.c: interposes write() to hear of printed lines. */
#include "probe/hook/prints.h"

#include "probe/base/python.h"
#include "probe/hook/ring.h"
#include "probe/trace/interpreter.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef ssize_t write_function(int fd, const void *bytes, size_t count);

static write_function *next_write;
static atomic_bool is_watching, is_pending;

/* ---- similar lines ---- */

#define COMPARED 32u                 /* characters of a line outside numbers */
#define WAIT_NS UINT64_C(5000000000) /* wait for a line like the last one, then accept any */
#define ESTABLISHED 3u               /* as many lines of one kind: it repeats */

struct kind {
    uint32_t likeness; /* 0: none yet */
    unsigned count;    /* of its lines heard in a row */
};

static struct kind counted, other; /* the kind that counts; the last other one */
static uint64_t heard_at;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Includes signs, and the letter in 3.2e-05. */
static bool is_of_number(const char *line, size_t count, size_t i)
{
    bool is_exponent = line[i] == 'e' && i > 0 && i + 1 < count && is_digit(line[i - 1]) &&
                       (is_digit(line[i + 1]) || line[i + 1] == '-' || line[i + 1] == '+');
    return is_exponent || (line[i] != '\0' && strchr("0123456789.,:-+% \r\n", line[i]));
}

/* A hash of everything outside numbers, however many digits those have. */
static uint32_t likeness_of(const char *line, size_t count)
{
    uint32_t hash = 2166136261u;
    unsigned compared = 0;
    for (size_t i = 0; i < count && compared < COMPARED; i++) {
        if (is_of_number(line, count, i))
            continue;
        hash = (hash ^ (unsigned char) line[i]) * 16777619u;
        compared++;
    }
    return hash | 1;
}

static void hear(struct kind *k, uint32_t likeness)
{
    if (k->likeness != likeness)
        *k = (struct kind){.likeness = likeness};
    k->count++;
}

/* The first line may be unique, such as a warning: the first kind that repeats counts. */
static bool is_of_the_kind(const char *line, size_t count)
{
    uint32_t own = likeness_of(line, count);
    uint64_t now = wire_now();
    if (counted.likeness && own != counted.likeness) {
        hear(&other, own);
        bool is_first = counted.count < ESTABLISHED && other.count >= ESTABLISHED;
        if (!is_first && now < heard_at + WAIT_NS)
            return false;
    }
    hear(&counted, own);
    other = (struct kind){0};
    heard_at = now;
    return true;
}

/* ---- pending calls ---- */

static int on_pending(void *context)
{
    (void) context;
    atomic_store(&is_pending, false);
    interpreter_look();
    ring_moment(INSPECT_LINE);
    /* Otherwise a signal that arrived meanwhile would wait until after the program's next
     * instruction, which may sleep for an hour. An exception from its handler is the program's;
     * nothing else raises here. */
    return py.PyErr_CheckSignals() < 0 ? -1 : 0;
}

static bool is_in_main_thread(void)
{
    return (pid_t) syscall(SYS_gettid) == getpid();
}

/* A handler of a fatal signal also writes, on a stack of its own. */
static bool is_in_handler(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) < 0 || stack.ss_flags & SS_ONSTACK;
}

static void heard(const char *line, size_t count)
{
    if (!is_in_main_thread() || is_in_handler() || !py.Py_IsInitialized() ||
        !is_of_the_kind(line, count))
        return;
    if (!atomic_exchange(&is_pending, true) && py.Py_AddPendingCall(on_pending, NULL) != 0)
        atomic_store(&is_pending, false);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t count)
{
    ssize_t written =
        next_write ? next_write(fd, bytes, count) : syscall(SYS_write, fd, bytes, count);
    if (written > 0 && (fd == STDOUT_FILENO || fd == STDERR_FILENO) &&
        atomic_load_explicit(&is_watching, memory_order_relaxed) && ring_is_due()) {
        int kept = errno;
        heard(bytes, (size_t) written);
        errno = kept;
    }
    return written;
}

__attribute__((constructor)) static void find_write(void)
{
    void *address = dlsym(RTLD_NEXT, "write");
    memcpy(&next_write, &address, sizeof(address));
}

void lines_watch(void)
{
    atomic_store(&is_watching, true);
}
