/* attach/trace.c: stops one thread of the target, lets it do something, and restores it. */
#include "attach/trace.h"

#include "attach/region.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CAVE_ALIGNMENT 16u
#define PAGE 4096u

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static int ask(enum __ptrace_request request, pid_t thread, unsigned long data)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, as this call wants it. */
    return ptrace(request, thread, NULL, (void *) data) < 0 ? -errno : 0;
}

/* ---- getting ready ---- */

/* Nothing uses the bytes between the end of a loaded file's code and the end of its last page. */
static uint64_t room_behind(const struct maps_entry *m, const struct elf_image *e)
{
    uint64_t begin = (e->code_end + CAVE_ALIGNMENT - 1) & ~(uint64_t) (CAVE_ALIGNMENT - 1);
    return m->execute && !m->write && m->private && begin > m->start && begin < m->end &&
                   m->end - begin < PAGE && m->end - begin >= ARCH_CAVE_LEN
               ? begin
               : 0;
}

static void find_caves(struct trace *x)
{
    const struct target *t = x->target;
    struct maps_entry m;
    struct elf_image e = {0};
    size_t position = 0;
    while (x->cave_count < TRACE_CAVES && maps_next(t->maps.text, t->maps.len, &position, &m)) {
        if (m.inode == 0)
            continue;
        if (m.offset == 0 && elf_open(&t->memory, m.start, &e) < 0)
            e.code_end = 0;
        struct trace_cave cave = {.address = room_behind(&m, &e)};
        if (!cave.address || target_read(t, cave.address, x->before, sizeof x->before) < 0)
            continue;
        cave.owner = arch_cave_owner(x->before, &cave.page);
        x->caves[x->cave_count++] = cave;
    }
}

int trace_init(struct trace *x, const struct target *t)
{
    char path[64];
    *x = (struct trace){.target = t};
    snprintf(path, sizeof path, "/proc/%d/mem", (int) t->pid);
    x->memory = open(path, O_RDWR | O_CLOEXEC);
    if (x->memory < 0)
        return -errno;
    if (flock(x->memory, LOCK_EX | LOCK_NB) < 0) {
        close(x->memory);
        return -EBUSY;
    }
    find_caves(x);
    return 0;
}

/* ---- stopping ---- */

int trace_seize(struct trace *x, pid_t thread)
{
    x->thread = thread;
    return ask(PTRACE_SEIZE, thread, 0);
}

/* Whether the thread stopped for an event, rather than for a signal about to be delivered. */
static bool is_event(int stop)
{
    return stop >> 8 == PTRACE_EVENT_STOP;
}

static int signal_of(int stop)
{
    return stop & 0x7f;
}

/*
 * Peeks at the stop without consuming it (WNOWAIT): the kernel then still has the signal, and
 * delivers it if we end before passing it on. The end of a thread is consumed.
 */
static int wait_for_stop(pid_t thread, int *ret_stop)
{
    siginfo_t info = {.si_code = 0};
    int r;
    while ((r = waitid(P_PID, (id_t) thread, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL)) < 0 &&
           errno == EINTR)
        ;
    if (r == 0 && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)) {
        *ret_stop = info.si_status;
        return 0;
    }
    (void) waitpid(thread, NULL, WNOHANG | __WALL);
    return -ESRCH;
}

/* Waits for the requested stop; signals that come first are delivered as usual. */
static int wait_for_interrupt(pid_t thread, int *ret_stop)
{
    int r;
    while ((r = wait_for_stop(thread, ret_stop)) == 0 && !is_event(*ret_stop)) {
        r = ask(PTRACE_CONT, thread, (unsigned long) signal_of(*ret_stop));
        if (r < 0)
            break;
    }
    return r;
}

int trace_stop(struct trace *x)
{
    int stop = 0;
    x->stopped_at = now();
    int r = ask(PTRACE_INTERRUPT, x->thread, 0);
    if (r == 0)
        r = wait_for_interrupt(x->thread, &stop);
    if (r < 0)
        return r;
    if (signal_of(stop) != SIGTRAP)
        r = -EBUSY; /* the whole process is stopped */
    else if (!target_is_there(x->target))
        r = -ESRCH;
    else
        r = arch_save(x->thread, &x->state);
    if (r < 0)
        ask(PTRACE_DETACH, x->thread, 0);
    return r;
}

/* A restartable sequence (rseq) must not be interrupted and resumed in its middle. */
static bool is_in_sequence(const struct trace *x)
{
    struct __ptrace_rseq_configuration where;
    uint64_t descriptor;
    struct {
        uint32_t version, flags;
        uint64_t start, len, abort;
    } sequence;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, as this call wants it. */
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, x->thread, (void *) sizeof where, &where) < 0 ||
        where.rseq_abi_pointer == 0)
        return false;
    if (target_read(x->target, where.rseq_abi_pointer + 8, &descriptor, sizeof descriptor) < 0)
        return true;
    if (descriptor == 0)
        return false;
    if (target_read(x->target, descriptor, &sequence, sizeof sequence) < 0)
        return true;
    return arch_program_counter(x->state) - sequence.start < sequence.len;
}

/* A handler's own frames reach no further up than this. */
#define STACK_PAGES 32u

bool trace_is_within(const struct trace *x, uint64_t address, uint64_t len)
{
    uint64_t words[PAGE / sizeof(uint64_t)];
    if (arch_program_counter(x->state) - address < len)
        return true;
    uint64_t at = arch_stack_pointer(x->state) & ~(uint64_t) 7;
    for (unsigned i = 0; i < STACK_PAGES; i++) {
        uint64_t end = (at | (PAGE - 1)) + 1;
        if (target_read(x->target, at, words, (size_t) (end - at)) < 0)
            return false; /* the stack ends here */
        for (size_t k = 0; k < (end - at) / sizeof words[0]; k++)
            if (words[k] - address < len)
                return true;
        at = end;
    }
    return false;
}

/* Whether the thread is returning from a call that a killed tidemark made. */
static bool is_on_its_way_back(const struct trace *x)
{
    for (unsigned i = 0; i < x->cave_count; i++) {
        const struct trace_cave *c = &x->caves[i];
        if (c->owner == x->thread &&
            (trace_is_within(x, c->address, ARCH_CAVE_LEN) ||
             (c->page && (trace_is_within(x, c->page, REGION_LEN) ||
                          arch_stack_pointer(x->state) - c->page <= REGION_LEN))))
            return true;
    }
    return false;
}

bool trace_is_interruptible(struct trace *x)
{
    return arch_where(x->state) != ARCH_FOREIGN && !is_in_sequence(x) && !is_on_its_way_back(x) &&
           arch_choose_signal(x->state, x->target->caught) == 0;
}

/* ---- running ---- */

static bool is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
           signal == SIGTRAP || signal == SIGSYS;
}

/* Whether the thread is where our code reports that it is done: at `after` or `otherwise`. */
static bool is_done(const struct trace *x, int signal, uint64_t after, uint64_t otherwise)
{
    uint64_t at;
    int64_t result;
    return signal == arch_signal(x->state) && arch_position(x->thread, &at, &result) == 0 &&
           (at == after || at == otherwise);
}

static int run_to(struct trace *x, uint64_t after, uint64_t otherwise)
{
    unsigned long signal = 0;
    for (;;) {
        int stop = 0, r = ask(PTRACE_CONT, x->thread, signal);
        if (r == 0)
            r = wait_for_stop(x->thread, &stop);
        if (r < 0)
            return r;
        signal = is_event(stop) ? 0 : (unsigned long) signal_of(stop);
        if (is_fault((int) signal))
            return -EFAULT;
        if (is_done(x, (int) signal, after, otherwise))
            return 0;
    }
}

/* ---- the cave ---- */

static int write_code(struct trace *x, uint64_t address, const uint8_t *code, size_t len)
{
    ssize_t n = pwrite(x->memory, code, len, (off_t) address);
    if (n < 0)
        return -errno;
    return (size_t) n == len ? 0 : -EIO;
}

/*
 * -ENOSPC: there is none. Bytes that a killed tidemark used may be overwritten if their thread is
 * this one, which is not returning from them, or has ended.
 */
static int choose_cave(struct trace *x)
{
    for (unsigned i = 0; i < x->cave_count; i++) {
        const struct trace_cave *c = &x->caves[i];
        if (c->owner != 0 && c->owner != x->thread && target_thread_state(x->target, c->owner) != 0)
            continue;
        int r = target_read(x->target, c->address, x->before, sizeof x->before);
        if (r < 0)
            return r;
        if (c->owner != 0)
            memset(x->before, 0, sizeof x->before);
        x->cave = c->address;
        return 0;
    }
    return -ENOSPC;
}

/* Writes the code for x->call, followed by that for `page`. */
static int fill_cave(struct trace *x, uint64_t page, uint64_t *ret_after)
{
    uint8_t code[ARCH_CAVE_LEN];
    size_t after, len = arch_make_cave(x->state, x->thread, &x->call, page, code, &after);
    *ret_after = x->cave + after;
    return write_code(x, x->cave, code, len);
}

int trace_system_call(struct trace *x, const struct arch_call *call, int64_t *ret)
{
    uint64_t address, after;
    int r = x->cave ? 0 : choose_cave(x);
    if (r < 0)
        return r;
    x->call = *call;
    r = fill_cave(x, 0, &after);
    if (r == 0)
        r = arch_jump(x->thread, x->state, x->cave);
    if (r == 0)
        r = run_to(x, after, after);
    return r < 0 ? r : arch_position(x->thread, &address, ret);
}

int trace_run_page(struct trace *x, uint64_t page, size_t after, int64_t *ret)
{
    uint64_t address = 0, cave_after = 0;
    int64_t result = 0;
    int r = fill_cave(x, page, &cave_after);
    if (r == 0)
        r = run_to(x, page + after, cave_after);
    if (r == 0)
        r = arch_position(x->thread, &address, &result);
    if (r < 0)
        return r;
    if (address == cave_after)
        return (int) result;
    *ret = result;
    return 0;
}

/* ---- letting go ---- */

/*
 * The thread is at a signal stop, where the kernel resumes what was interrupted once the registers
 * are restored. Until that very moment the code it is in returns by itself, so the code is removed
 * last.
 */
double trace_release_thread(struct trace *x)
{
    if (x->cave && arch_restore(x->thread, x->state) == 0)
        write_code(x, x->cave, x->before, sizeof x->before);
    ask(PTRACE_DETACH, x->thread, 0);
    double stopped = now() - x->stopped_at;
    arch_free(x->state);
    x->state = NULL;
    x->cave = 0;
    return stopped;
}
