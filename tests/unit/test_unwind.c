/* tests/unit/test_unwind.c: our frames against those of glibc's backtrace(), and against nothing
 * where it could not be right either. */
#include "unit.h"

#include "probe/trace/caller.h"
#include "probe/trace/modules.h"
#include "probe/trace/rules.h"
#include "probe/trace/unwind.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MOST 200

#if defined(__x86_64__)

/* ---- one stack, taken twice ---- */

static struct {
    uintptr_t ours[MOST];
    void *theirs[MOST];
    size_t our_count, their_count;
    bool is_complete;
    size_t compared; /* since begin() */
    bool is_different;
} taken;

static uintptr_t stack_end(void)
{
    pthread_attr_t a;
    void *start = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &a) == 0) {
        pthread_attr_getstack(&a, &start, &size);
        pthread_attr_destroy(&a);
    }
    return (uintptr_t) start + size;
}

static void begin(void)
{
    unwind_review();
    taken.compared = 0;
    taken.is_different = false;
}

/* backtrace() begins one frame further inside, and AddressSanitizer puts another one in between. */
static size_t first_of_theirs(void)
{
    size_t i = 0;
    while (i < 3 && i < taken.their_count && (uintptr_t) taken.theirs[i] != taken.ours[0])
        i++;
    return i;
}

NOINLINE static void take(void)
{
    taken.our_count = unwind(stack_end(), taken.ours, MOST, &taken.is_complete);
    int count = backtrace(taken.theirs, MOST);
    taken.their_count = count > 0 ? (size_t) count : 0;
    taken.compared++;
    size_t first = first_of_theirs();
    if (taken.our_count + first != taken.their_count ||
        memcmp(taken.ours, taken.theirs + first, taken.our_count * sizeof *taken.ours) != 0)
        taken.is_different = true;
}

/* How many stacks were taken, each twice: what was learnt must say the same. 0: one was wrong. */
NOINLINE static size_t compared_twice(void (*run)(void))
{
    begin();
    run();
    run();
    return taken.is_different ? 0 : taken.compared;
}

/* ---- frames of all kinds ---- */

NOINLINE static int recurse(int depth)
{
    if (depth == 0)
        take();
    else
        recurse(depth - 1);
    __asm__ volatile("");
    return depth;
}

static void recurse_40(void)
{
    recurse(40);
}

TEST(unwind__follows_a_recursion_to_the_outermost_frame)
{
    CHECK(compared_twice(recurse_40) == 2);
    CHECK(taken.our_count > 42 && taken.is_complete);
}

static int compare(const void *left, const void *right)
{
    take();
    return *(const int *) left - *(const int *) right;
}

static void sort(void)
{
    int numbers[] = {3, 1, 4, 1, 5};
    qsort(numbers, 5, sizeof *numbers, compare);
}

TEST(unwind__goes_through_a_function_of_the_c_library)
{
    CHECK(compared_twice(sort) > 2);
    CHECK(taken.is_complete);
}

static volatile size_t some_bytes = 100;

NOINLINE static void take_beside(char *memory, char *more)
{
    memory[0] = more[0] = 1;
    take();
    __asm__ volatile("" : : "r"(memory), "r"(more) : "memory");
}

/* The frame is aligned to more than the stack, and has no fixed size. */
NOINLINE __attribute__((force_align_arg_pointer)) static void realign(int a, int b, int c, int d,
                                                                      int e, int f, int on_stack)
{
    char aligned[64] __attribute__((aligned(128)));
    char *more = alloca(some_bytes + (size_t) (a + b + c + d + e + f + on_stack));
    take_beside(aligned, more);
    __asm__ volatile("" : : "r"(aligned), "r"(more) : "memory");
}

static void realign_some(void)
{
    realign(1, 2, 3, 4, 5, 6, 7);
}

TEST(unwind__goes_through_frames_that_align_the_stack)
{
    CHECK(compared_twice(realign_some) == 2);
    CHECK(taken.is_complete);
}

static void *run_thread(void *unused)
{
    recurse(3);
    return unused;
}

static void run_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

TEST(unwind__knows_the_outermost_frame_of_a_thread)
{
    CHECK(compared_twice(run_in_thread) == 2);
    CHECK(taken.is_complete && taken.our_count >= 4);
}

/* ---- signals ---- */

static void on_signal(int number)
{
    (void) number;
    take();
}

/* Interrupted at an instruction that no call stands before. */
NOINLINE static void trap(void)
{
    __asm__ volatile("ud2\n");
}

static void skip_trap(int number, siginfo_t *info, void *context)
{
    (void) number, (void) info;
    take();
    ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void raise_signal(void)
{
    struct sigaction before, action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
}

static void run_into_trap(void)
{
    struct sigaction before, action = {.sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, &before);
    trap();
    sigaction(SIGILL, &before, NULL);
}

TEST(unwind__goes_on_with_what_a_signal_interrupted)
{
    CHECK(compared_twice(raise_signal) == 2);
    CHECK(taken.is_complete);
    CHECK(compared_twice(run_into_trap) == 2);
    CHECK(taken.is_complete);
}

static void run_on_other_stack(void)
{
    static char other[1 << 16];
    stack_t before, s = {.ss_sp = other, .ss_size = sizeof other};
    struct sigaction action_before, action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&s, &before);
    sigaction(SIGUSR1, &action, &action_before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &action_before, NULL);
    sigaltstack(&before, NULL);
}

TEST(unwind__reads_no_other_stack_than_the_threads)
{
    begin();
    run_on_other_stack();
    CHECK(taken.compared == 1 && taken.our_count == 0 && !taken.is_complete);
}

/* ---- libraries ---- */

#define LIBRARY_A "tests/libunwound_a.so"
#define LIBRARY_B "tests/libunwound_b.so"

typedef void call_callback(void (*call)(void));

static void *function_of(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

static bool call_through(void *library)
{
    call_callback *call;
    void *symbol = function_of(library, "unwound_call");
    memcpy(&call, &symbol, sizeof call);
    if (call)
        call(take);
    return call != NULL;
}

TEST(unwind__forgets_an_unloaded_library_whose_place_another_takes)
{
    begin();
    for (int i = 0; i < 40; i++) {
        void *library = dlopen(i % 2 ? LIBRARY_A : LIBRARY_B, RTLD_NOW);
        CHECK(call_through(library));
        CHECK(call_through(library));
        dlclose(library);
        unwind_review();
        CHECK(!taken.is_different);
    }
    CHECK(taken.compared == 80 && taken.is_complete);
}

/* The loader's own trampoline finds its caller by rbx, which no ordinary function does. */
TEST(unwind__goes_through_the_loader_when_it_binds_a_function)
{
    void *library = dlopen(LIBRARY_A, RTLD_LAZY);
    void (**callback)(void) = function_of(library, "unwound_callback");
    void *symbol = function_of(library, "unwound_choose");
    void (*choose)(void);
    memcpy(&choose, &symbol, sizeof choose);
    CHECK(callback && choose);
    begin();
    *callback = take;
    choose();
    dlclose(library);
    CHECK(taken.compared == 1 && !taken.is_different && taken.is_complete);
}

TEST(unwind_module__says_where_a_file_lies_and_what_it_is)
{
    struct unwind_module m;
    Dl_info info;
    unwind_review();
    CHECK(dladdr(dlsym(RTLD_NEXT, "gnu_get_libc_version"), &info));
    CHECK(unwind_module((uintptr_t) info.dli_saddr, &m));
    CHECK(m.start == (uintptr_t) info.dli_fbase && m.bias == m.start);
    CHECK(m.end > (uintptr_t) info.dli_saddr && strstr(m.path, "libc"));
    CHECK(m.build_id && m.build_id_length >= 8);
    CHECK(unwind_module((uintptr_t) recurse_40, &m));
    CHECK_TEXT(m.path, "");
    CHECK(!unwind_module((uintptr_t) &m, &m));
}

static bool are_same(const struct module *a, const struct module *b)
{
    return a->bias == b->bias && a->frames_header == b->frames_header &&
           a->bytes.start == b->bytes.start && a->bytes.end == b->bytes.end &&
           a->header_count == b->header_count && strcmp(a->path, b->path) == 0;
}

TEST(modules__are_the_same_by_the_list_as_by_the_loader)
{
    struct module by_loader, by_list;
    unwind_review();
    modules_take_list();
    uintptr_t addresses[] = {(uintptr_t) recurse_40,
                             (uintptr_t) dlsym(RTLD_NEXT, "gnu_get_libc_version")};
    for (size_t i = 0; i < 2; i++) {
        CHECK(modules_find_in_list(addresses[i], &by_list) && by_list.frames_header);
        if (modules_find_by_loader(addresses[i], &by_loader))
            CHECK(are_same(&by_loader, &by_list));
    }
}

TEST(modules__of_the_list_are_not_touched_once_unloaded)
{
    struct module m;
    void *library = dlopen(LIBRARY_A, RTLD_NOW);
    uintptr_t address = (uintptr_t) function_of(library, "unwound_call");
    modules_take_list();
    CHECK(modules_find_in_list(address, &m));
    dlclose(library);
    errno = EXDEV;
    CHECK(!modules_find_in_list(address, &m) && errno == EXDEV);
    library = dlopen(LIBRARY_B, RTLD_NOW);
    CHECK(library && !modules_find_in_list(address, &m));
    dlclose(library);
}

/* ---- code without any information ---- */

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char with_frame_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
/* push %rbp; mov $1,%ebp; call *%rdi; pop %rbp; ret */
static const unsigned char without_one[] = {0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};

static bool call_made_code(const unsigned char *code, size_t size)
{
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    call_callback *call;
    if (page == MAP_FAILED)
        return false;
    memcpy(page, code, size);
    memcpy(&call, &page, sizeof call);
    call(take);
    munmap(page, 4096);
    return true;
}

TEST(unwind__follows_the_frame_pointer_of_code_made_at_run_time)
{
    begin();
    CHECK(call_made_code(with_frame_pointer, sizeof with_frame_pointer));
    CHECK(taken.our_count > 2 && taken.is_complete);
    CHECK(call_made_code(without_one, sizeof without_one));
    CHECK(taken.our_count == 1 && !taken.is_complete);
}

/* ---- bounds ---- */

NOINLINE static size_t unwind_within(uintptr_t end, size_t most, bool *ret_complete)
{
    size_t count = unwind(end, taken.ours, most, ret_complete);
    __asm__ volatile("");
    return count;
}

TEST(unwind__gives_at_most_so_many_frames)
{
    bool is_complete;
    unwind_review();
    size_t all = unwind_within(stack_end(), MOST, &is_complete);
    CHECK(all >= 3 && is_complete);
    CHECK(unwind_within(stack_end(), all, &is_complete) == all && is_complete);
    CHECK(unwind_within(stack_end(), all - 1, &is_complete) == all - 1 && !is_complete);
    CHECK(unwind_within(stack_end(), 0, &is_complete) == 0 && !is_complete);
}

TEST(unwind__reads_nothing_beyond_the_end_of_the_stack)
{
    char here;
    bool is_complete;
    unwind_review();
    CHECK(unwind_within((uintptr_t) &here - 4096, MOST, &is_complete) == 0 && !is_complete);
    CHECK(unwind_within((uintptr_t) &here, MOST, &is_complete) <= 2 && !is_complete);
    CHECK(unwind_within(UINTPTR_MAX, MOST, &is_complete) == 0 && !is_complete);
}

TEST(unwind__leaves_errno_alone)
{
    bool is_complete;
    errno = EXDEV;
    unwind_within(stack_end(), MOST, &is_complete);
    CHECK(errno == EXDEV);
}

/* ---- forks ---- */

static _Atomic bool is_over;

static void *review_until_over(void *unused)
{
    while (!is_over)
        unwind_review();
    return unused;
}

static int see(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void) info, (void) size, (void) unused;
    return 0;
}

static void after_fork_in_parent(void)
{
    unwind_after_fork(false);
}

static void after_fork_in_child(void)
{
    unwind_after_fork(true);
}

/* 0, or the signal that ended it: its alarm, where it hung. */
static int end_of_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(dl_iterate_phdr(see, NULL));
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

TEST(unwind__leaves_no_lock_of_the_loader_locked_in_a_child)
{
    pthread_t list[2];
    unwind_review();
    CHECK(pthread_atfork(unwind_before_fork, after_fork_in_parent, after_fork_in_child) == 0);
    for (unsigned i = 0; i < 2; i++)
        CHECK(pthread_create(&list[i], NULL, review_until_over, NULL) == 0);
    int ended = 0;
    for (unsigned i = 0; i < 200 && ended == 0; i++)
        ended = end_of_child();
    CHECK(ended == 0);
    is_over = true;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(list[i], NULL);
}

/* ---- rules ---- */

TEST(rules__are_found_until_files_are_unloaded)
{
    rule r = (1u << 26) - 6;
    for (unsigned i = 0; i < 40; i++) {
        CHECK(rules_find(0x7fffdeadbeef) == RULE_NOT_LEARNT);
        rules_learn(0x7fffdeadbeef, r, rules_generation());
        CHECK(rules_find(0x7fffdeadbeef) == r);
        CHECK(rules_find(0x7fffdeadbeee) == RULE_NOT_LEARNT);
        rules_forget();
    }
    rules_learn(0x1234, r, rules_generation());
    for (unsigned i = 0; i < 40; i++) {
        rules_forget();
        CHECK(rules_find(0x1234) == RULE_NOT_LEARNT);
    }
    rules_learn(0x1234, r, rules_generation() - 1);
    CHECK(rules_find(0x1234) == RULE_NOT_LEARNT);
}

TEST(rules__of_addresses_outside_user_space_are_not_kept)
{
    rules_learn(UINTPTR_MAX, RULE_OUTERMOST, rules_generation());
    CHECK(rules_find(UINTPTR_MAX) == RULE_NOT_LEARNT);
}

#else

TEST(unwind__finds_nothing_on_other_processors)
{
    uintptr_t frames[8];
    bool is_complete = true;
    CHECK(!unwind_is_possible());
    CHECK(unwind(UINTPTR_MAX, frames, 8, &is_complete) == 0 && !is_complete);
}

#endif
