/* probe/base/child.c: a fork that the program does not notice. */
#include "probe/base/child.h"

#include "probe/base/places.h"
#include "probe/base/python.h"
#include "wire/wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- memory for the interpreter in the child ---- */

#define ARENA_BYTES ((size_t) 256 << 20) /* of address space; unused pages take no memory */
#define ALIGNED 16u

static char *arena;
static size_t arena_used;

/* The size is stored before the block. NULL: the arena is full. */
static void *arena_take(size_t size)
{
    size_t bytes = (size + ALIGNED - 1) / ALIGNED * ALIGNED + ALIGNED;
    if (!arena || size > ARENA_BYTES / 2 || bytes > ARENA_BYTES - arena_used)
        return NULL;
    char *block = arena + arena_used + ALIGNED;
    memcpy(block - ALIGNED, &size, sizeof(size));
    arena_used += bytes;
    return block;
}

static void *give(void *context, size_t size)
{
    (void) context;
    return arena_take(size ? size : 1);
}

static void *give_zeroed(void *context, size_t count, size_t size)
{
    return give(context, count * size); /* mapped memory is zero, and no block is given twice */
}

static bool is_of_arena(const void *block)
{
    return arena && (const char *) block >= arena && (const char *) block < arena + ARENA_BYTES;
}

/* The size of a block from the parent is unknown, so such a block is never enlarged. */
static void *give_more(void *context, void *block, size_t size)
{
    if (block && !is_of_arena(block))
        return NULL;
    void *larger = give(context, size);
    size_t before = 0;
    if (block)
        memcpy(&before, (char *) block - ALIGNED, sizeof(before));
    if (larger && block)
        memcpy(larger, block, before < size ? before : size);
    return larger;
}

static void take_back(void *context, void *block)
{
    (void) context;
    (void) block;
}

struct allocator { /* PyMemAllocatorEx */
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *block, size_t size);
    void (*free)(void *context, void *block);
};

#define DOMAINS 3 /* raw, memory, objects */
#define OBJECTS 2

static void (*set_allocator)(int domain, struct allocator *a);
static void (*get_allocator)(int domain, struct allocator *ret);

static bool find_allocators(void)
{
    void *set = dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    void *get = dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    memcpy(&set_allocator, &set, sizeof(set));
    memcpy(&get_allocator, &get, sizeof(get));
    return set && get;
}

static struct allocator own = {NULL, give, give_zeroed, give_more, take_back};
static struct allocator of_objects; /* the program's */

static void use_own_memory(void)
{
    arena = places_map(ARENA_BYTES);
    get_allocator(OBJECTS, &of_objects);
    for (int domain = 0; domain < DOMAINS; domain++)
        set_allocator(domain, &own);
}

void child_ask_allocator(void (*ask)(void *context), void *context)
{
    set_allocator(OBJECTS, &of_objects);
    ask(context);
    set_allocator(OBJECTS, &own);
}

/* ---- the child ---- */

/* Signals that end a process end the child. All others stay blocked: they are meant for the
 * program, whose handlers would also run here if the signal goes to the whole process group. */
static void die_by_default(void)
{
    static const int signals[] = {SIGALRM, SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
                                  SIGSEGV, SIGBUS,  SIGABRT, SIGFPE, SIGILL};
    sigset_t others;
    sigfillset(&others);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        signal(signals[i], SIG_DFL);
        sigdelset(&others, signals[i]);
    }
    pthread_sigmask(SIG_SETMASK, &others, NULL);
}

static void be_killed_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = write(fd, "1000", 4);
        (void) n;
        close(fd);
    }
}

void child_end_within(unsigned seconds)
{
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = (time_t) seconds}}, NULL);
}

#define FILES_MOST 65536

/* Otherwise the child would keep pipes and locks of the program open after the program has ended.
 */
static void close_files(void)
{
    struct rlimit files = {.rlim_cur = FILES_MOST};
    if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0)
        return;
    getrlimit(RLIMIT_NOFILE, &files); /* before Linux 5.9 */
    for (int fd = 0; fd < FILES_MOST && (rlim_t) fd < files.rlim_cur; fd++)
        close(fd);
}

#define NICENESS 5

/* Past the C library, as in pages.h: memray notes the names of threads. */
static void set(int what, uintptr_t value)
{
    (void) syscall(SYS_prctl, what, value, 0L, 0L, 0L);
}

static void settle_in(unsigned seconds)
{
    set(PR_SET_NAME, (uintptr_t) WIRE_CENSUS_PROCESS);
    die_by_default();
    child_end_within(seconds);
    be_killed_first();
    set(PR_SET_DUMPABLE, 0); /* last, because it changes the owner of the files in /proc/self */
    close_files();
    setpriority(PRIO_PROCESS, 0, NICENESS);
    use_own_memory();
}

pid_t child_start(void (*work)(void *context), void *context, unsigned seconds)
{
    if (!set_allocator && !find_allocators())
        return -ENOSYS;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the program runs in the child */
    long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        settle_in(seconds);
        work(context);
        _exit(0);
    }
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? (pid_t) -error : (pid_t) pid;
}

bool child_has_ended(pid_t pid, bool wait, uint64_t *ret_cpu_ns, bool *ret_was_well)
{
    struct rusage used;
    int status = 0;
    pid_t r;
    do
        r = wait4(pid, &status, (int) (__WCLONE | (wait ? 0u : (unsigned) WNOHANG)), &used);
    while (r < 0 && errno == EINTR);
    if (r == 0)
        return false;
    *ret_was_well = r == pid && WIFEXITED(status);
    if (r == pid)
        *ret_cpu_ns = (uint64_t) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
                      (uint64_t) (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
    return true;
}
