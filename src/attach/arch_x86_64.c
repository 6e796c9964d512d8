/* attach/arch_x86_64.c: registers and code for x86-64. */
#if defined(__x86_64__)
#include "attach/arch.h"
#include "attach/region.h"

#include <assert.h>
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

bool arch_is_supported(void)
{
    return true;
}

/* ---- the state of a stopped thread ---- */

struct arch_state {
    struct user_regs_struct registers;
    uint64_t mask; /* of signals */
    int signal;    /* sent by our code */
    size_t extended_len;
    uint8_t extended[REGION_SAVED_LEN];
};

/* The value of rax after a system call that the kernel will resume. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
#define SYSCALL_INSTRUCTION_LEN 2
#define CODE_SEGMENT_64 0x33
/* A waiting function's own variables are no further away than this. */
#define OWN_STACK 65536

static int get_set(enum __ptrace_request request, pid_t thread, unsigned long which, void *data,
                   size_t *len)
{
    struct iovec io = {data, *len};
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, as this call wants it. */
    if (ptrace(request, thread, (void *) which, &io) < 0)
        return -errno;
    *len = io.iov_len;
    return 0;
}

static int set_registers(pid_t thread, const struct user_regs_struct *registers)
{
    struct user_regs_struct copy = *registers;
    size_t len = sizeof copy;
    return get_set(PTRACE_SETREGSET, thread, NT_PRSTATUS, &copy, &len);
}

static int set_mask(pid_t thread, uint64_t mask)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, as this call wants it. */
    return ptrace(PTRACE_SETSIGMASK, thread, (void *) sizeof mask, &mask) < 0 ? -errno : 0;
}

static int save_into(pid_t thread, struct arch_state *s)
{
    size_t len = sizeof s->registers;
    int r = get_set(PTRACE_GETREGSET, thread, NT_PRSTATUS, &s->registers, &len);
    if (r < 0)
        return r;
    s->extended_len = sizeof s->extended;
    r = get_set(PTRACE_GETREGSET, thread, NT_X86_XSTATE, s->extended, &s->extended_len);
    if (r < 0)
        return r;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number, as this call wants it. */
    return ptrace(PTRACE_GETSIGMASK, thread, (void *) sizeof s->mask, &s->mask) < 0 ? -errno : 0;
}

int arch_save(pid_t thread, struct arch_state **ret_state)
{
    struct arch_state *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    int r = save_into(thread, s);
    if (r < 0)
        free(s);
    else
        *ret_state = s;
    return r;
}

void arch_free(struct arch_state *s)
{
    free(s);
}

static bool is_interrupted(const struct arch_state *s)
{
    int64_t result = (int64_t) s->registers.rax;
    return (int64_t) s->registers.orig_rax >= 0 &&
           (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
            result == -ERESTART_RESTARTBLOCK);
}

enum arch_where arch_where(const struct arch_state *s)
{
    if (s->registers.cs != CODE_SEGMENT_64)
        return ARCH_FOREIGN;
    return is_interrupted(s) ? ARCH_BLOCKED : ARCH_RUNNING;
}

uint64_t arch_program_counter(const struct arch_state *s)
{
    return s->registers.rip;
}

uint64_t arch_stack_pointer(const struct arch_state *s)
{
    return s->registers.rsp;
}

bool arch_waits_on_own_stack(const struct arch_state *s)
{
    uint64_t address = s->registers.rdi;
    return is_interrupted(s) && s->registers.orig_rax == SYS_futex && address >= s->registers.rsp &&
           address - s->registers.rsp < OWN_STACK;
}

static uint64_t bit_of(int signal)
{
    return (uint64_t) 1 << (signal - 1);
}

int arch_choose_signal(struct arch_state *s, uint64_t caught)
{
    static const int ignored[] = {SIGURG, SIGWINCH, SIGCHLD};
    for (unsigned i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (!((caught | s->mask) & bit_of(ignored[i]))) {
            s->signal = ignored[i];
            return 0;
        }
    return -EAGAIN;
}

int arch_signal(const struct arch_state *s)
{
    return s->signal;
}

/* The registers come first: if the caller ends before the mask is set, the code there restores an
 * unchanged mask. */
int arch_jump(pid_t thread, const struct arch_state *s, uint64_t address)
{
    struct user_regs_struct registers = s->registers;
    registers.rip = address;
    registers.orig_rax = (unsigned long long) -1; /* no system call to resume */
    int r = set_registers(thread, &registers);
    return r < 0 ? r : set_mask(thread, ~bit_of(s->signal));
}

/* The mask comes first: if the caller ends after that, the code the thread is in does the rest. */
int arch_restore(pid_t thread, const struct arch_state *s)
{
    size_t len = s->extended_len;
    int r = get_set(PTRACE_SETREGSET, thread, NT_X86_XSTATE, (void *) s->extended, &len);
    if (r == 0)
        r = set_mask(thread, s->mask);
    return r < 0 ? r : set_registers(thread, &s->registers);
}

int arch_position(pid_t thread, uint64_t *ret_address, int64_t *ret_result)
{
    struct user_regs_struct registers = {0};
    size_t len = sizeof registers;
    int r = get_set(PTRACE_GETREGSET, thread, NT_PRSTATUS, &registers, &len);
    if (r < 0)
        return r;
    *ret_address = registers.rip;
    *ret_result = (int64_t) registers.r12;
    return 0;
}

size_t arch_saved_len(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
        !__get_cpuid_count(0xd, 0, &a, &b, &c, &d))
        return 0;
    return b;
}

/* ---- code that returns by itself ---- */

/* Where the thread continues, and its rax, if nobody stops the code. An interrupted system call is
 * restarted, as the kernel would. */
static void way_back(const struct arch_state *s, uint64_t *ret_rip, uint64_t *ret_rax)
{
    *ret_rip = s->registers.rip;
    *ret_rax = s->registers.rax;
    if (!is_interrupted(s))
        return;
    *ret_rip -= SYSCALL_INSTRUCTION_LEN;
    *ret_rax = (int64_t) s->registers.rax == -ERESTART_RESTARTBLOCK ? SYS_restart_syscall
                                                                    : s->registers.orig_rax;
}

/* The values that follow the code, in the same bytes. */
struct cave_values {
    uint64_t magic, thread, rip, rax, mask;
    uint64_t signal, page, number, arguments[6];
};

struct page_values {
    uint64_t rip, rax, mask, signal;
    uint64_t stack, saved, function, stub, data;
};

#define CAVE_MAGIC 0x6b72616d65646974u /* "tidemark" */

static_assert(offsetof(struct region_data, state) == 8, "the stub knows it");
static_assert(offsetof(struct region_data, cancelled) == 12, "the stub knows it");
static_assert(offsetof(struct region_data, own_pid) == 16, "the stub knows it");
static_assert(offsetof(struct region_data, answer) == 20, "the stub knows it");
static_assert(offsetof(struct region_data, errno_location) == 24, "the stub knows it");
static_assert(offsetof(struct region_data, dlopen) == 32, "the stub knows it");
static_assert(offsetof(struct region_data, dlsym) == 40, "the stub knows it");
static_assert(offsetof(struct region_data, dlerror) == 48, "the stub knows it");
static_assert(offsetof(struct region_data, error) == 56, "the stub knows it");
static_assert(offsetof(struct region_data, entry) == 568, "the stub knows it");
static_assert(offsetof(struct region_data, library) == 696, "the stub knows it");
static_assert(offsetof(struct region_data, argument) == 4792, "the stub knows it");
static_assert(sizeof(struct region_data) <= REGION_DATA_LEN, "it has its room");
static_assert(REGION_STARTED == 1 && REGION_DONE == 2 && REGION_FAILED == 3 &&
                  REGION_CANCELLED == 4,
              "the stub knows it");

/* clang-format off */
#define SAVE_REGISTERS \
    "lea -128(%rsp), %rsp\n" /* skip the red zone of the stopped function */ \
    "pushfq\n" \
    "push %rax\n push %rcx\n push %rdx\n push %rsi\n push %rdi\n push %r8\n push %r9\n" \
    "push %r10\n push %r11\n push %r12\n push %rbx\n push %rbp\n"

#define RESTORE_REGISTERS \
    "pop %rbp\n pop %rbx\n pop %r12\n pop %r11\n pop %r10\n" \
    "pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n"

#define RESTORE_FLAGS_AND_STACK \
    "popfq\n" \
    "lea 128(%rsp), %rsp\n"

/* tgkill(getpid(), gettid(), signal): where the tracer stops the thread. */
#define SAY_DONE(values) \
    "mov $39, %eax\n syscall\n mov %eax, %ebx\n" \
    "mov $186, %eax\n syscall\n mov %eax, %esi\n mov %ebx, %edi\n" \
    "mov " values "_signal(%rip), %rdx\n" \
    "mov $234, %eax\n syscall\n"

/* rt_sigprocmask(SIG_SETMASK, mask, NULL, 8), and back. */
#define LEAD_BACK(values) \
    "mov $14, %eax\n mov $2, %edi\n lea " values "_mask(%rip), %rsi\n xor %edx, %edx\n" \
    "mov $8, %r10d\n syscall\n" \
    RESTORE_REGISTERS \
    "mov " values "_rax(%rip), %rax\n" \
    RESTORE_FLAGS_AND_STACK \
    "jmp *" values "_rip(%rip)\n"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "attach_cave:\n"
    SAVE_REGISTERS
    "mov attach_cave_number(%rip), %rax\n"
    "mov attach_cave_arguments(%rip), %rdi\n"
    "mov attach_cave_arguments+8(%rip), %rsi\n"
    "mov attach_cave_arguments+16(%rip), %rdx\n"
    "mov attach_cave_arguments+24(%rip), %r10\n"
    "mov attach_cave_arguments+32(%rip), %r8\n"
    "mov attach_cave_arguments+40(%rip), %r9\n"
    "syscall\n"
    "1: mov %rax, %r12\n"
    SAY_DONE("attach_cave")
    "attach_cave_after:\n"
    "mov attach_cave_page(%rip), %rdi\n"
    "test %rdi, %rdi\n je 2f\n"
    "mov $10, %eax\n mov $4096, %esi\n mov $5, %edx\n syscall\n" /* mprotect(page, read and execute) */
    "test %rax, %rax\n jne 1b\n"
    RESTORE_REGISTERS
    RESTORE_FLAGS_AND_STACK
    "jmp *attach_cave_page(%rip)\n"
    "2:\n"
    LEAD_BACK("attach_cave")
    ".balign 8\n"
    "attach_cave_values: .quad 0, 0\n"
    "attach_cave_rip: .quad 0\n"
    "attach_cave_rax: .quad 0\n"
    "attach_cave_mask: .quad 0\n"
    "attach_cave_signal: .quad 0\n"
    "attach_cave_page: .quad 0\n"
    "attach_cave_number: .quad 0\n"
    "attach_cave_arguments: .quad 0, 0, 0, 0, 0, 0\n"
    "attach_cave_end:\n"

    ".balign 16\n"
    "attach_page:\n"
    SAVE_REGISTERS
    "mov %rsp, %rbp\n"
    "cld\n"
    "mov attach_page_stack(%rip), %rsp\n"
    "mov attach_page_saved(%rip), %rbx\n"
    "mov $-1, %eax\n mov $-1, %edx\n xsave64 (%rbx)\n"
    "mov attach_page_stub(%rip), %rdi\n"
    "mov attach_page_data(%rip), %rsi\n"
    "call *attach_page_function(%rip)\n"
    "movslq %eax, %r12\n"
    SAY_DONE("attach_page")
    "attach_page_after:\n"
    "mov attach_page_saved(%rip), %rbx\n"
    "mov $-1, %eax\n mov $-1, %edx\n xrstor64 (%rbx)\n"
    "mov %rbp, %rsp\n"
    LEAD_BACK("attach_page")

    /* int stub(struct region_data *data): always returns 0, since anything else is an error in the
     * target. Runs on the main thread, at a bytecode boundary, with the GIL; the tracer may be
     * gone. */
    ".balign 16\n"
    "attach_page_call:\n"
    "push %rbx\n push %r12\n push %r13\n"
    "mov %rdi, %rbx\n"
    "mov $39, %eax\n syscall\n"
    "cmp %eax, 16(%rbx)\n jne 9f\n" /* a forked child inherits the queue */
    "mov $1, %eax\n xchg %eax, 8(%rbx)\n"
    "test %eax, %eax\n jne 9f\n"
    "cmpl $0, 12(%rbx)\n jne 3f\n"
    "call *24(%rbx)\n mov %rax, %r12\n mov (%rax), %r13d\n" /* errno belongs to the program */
    "lea 696(%rbx), %rdi\n mov $2, %esi\n call *32(%rbx)\n" /* dlopen(library, RTLD_NOW) */
    "test %rax, %rax\n je 1f\n"
    "mov %rax, %rdi\n lea 568(%rbx), %rsi\n call *40(%rbx)\n" /* dlsym(it, entry) */
    "test %rax, %rax\n je 1f\n"
    "lea 4792(%rbx), %rdi\n call *%rax\n"
    "mov %eax, 20(%rbx)\n"
    "mov %r13d, (%r12)\n"
    "movl $2, 8(%rbx)\n"
    "jmp 9f\n"
    "1: call *48(%rbx)\n" /* dlerror() */
    "test %rax, %rax\n je 2f\n"
    "lea 56(%rbx), %rdi\n mov $511, %ecx\n"
    "4: movb (%rax), %dl\n movb %dl, (%rdi)\n test %dl, %dl\n je 2f\n"
    "inc %rax\n inc %rdi\n dec %ecx\n jne 4b\n"
    "2: mov %r13d, (%r12)\n"
    "movl $3, 8(%rbx)\n"
    "jmp 9f\n"
    "3: movl $4, 8(%rbx)\n"
    "9: xor %eax, %eax\n"
    "pop %r13\n pop %r12\n pop %rbx\n"
    "ret\n"
    ".balign 8\n"
    "attach_page_values:\n"
    "attach_page_rip: .quad 0\n"
    "attach_page_rax: .quad 0\n"
    "attach_page_mask: .quad 0\n"
    "attach_page_signal: .quad 0\n"
    "attach_page_stack: .quad 0\n"
    "attach_page_saved: .quad 0\n"
    "attach_page_function: .quad 0\n"
    "attach_page_stub: .quad 0\n"
    "attach_page_data: .quad 0\n"
    "attach_page_end:\n"
    ".popsection\n");
/* clang-format on */

extern const uint8_t attach_cave[], attach_cave_after[], attach_cave_values[], attach_cave_end[];
extern const uint8_t attach_page[], attach_page_after[], attach_page_call[], attach_page_values[],
    attach_page_end[];

static size_t len_between(const uint8_t *begin, const uint8_t *end)
{
    return (size_t) ((uintptr_t) end - (uintptr_t) begin);
}

size_t arch_make_cave(const struct arch_state *s, pid_t thread, const struct arch_call *call,
                      uint64_t page, uint8_t ret_code[ARCH_CAVE_LEN], size_t *ret_after)
{
    struct cave_values values = {.magic = CAVE_MAGIC,
                                 .thread = (uint64_t) thread,
                                 .mask = s->mask,
                                 .signal = (uint64_t) s->signal,
                                 .page = page};
    way_back(s, &values.rip, &values.rax);
    values.number = (uint64_t) call->number;
    memcpy(values.arguments, call->arguments, sizeof values.arguments);
    size_t len = len_between(attach_cave, attach_cave_end);
    assert(len <= ARCH_CAVE_LEN);
    memcpy(ret_code, attach_cave, len);
    memcpy(ret_code + len_between(attach_cave, attach_cave_values), &values, sizeof values);
    *ret_after = len_between(attach_cave, attach_cave_after);
    return len;
}

pid_t arch_cave_owner(const uint8_t code[ARCH_CAVE_LEN], uint64_t *ret_page)
{
    struct cave_values values;
    memcpy(&values, code + len_between(attach_cave, attach_cave_values), sizeof values);
    if (values.magic != CAVE_MAGIC)
        return 0;
    *ret_page = values.page;
    return (pid_t) values.thread;
}

void arch_make_page(const struct arch_state *s, uint64_t region, uint64_t function,
                    uint8_t *ret_page, size_t *ret_after)
{
    struct page_values values = {.mask = s->mask,
                                 .signal = (uint64_t) s->signal,
                                 .stack = region + REGION_LEN,
                                 .saved = region + REGION_SAVED,
                                 .function = function,
                                 .stub = region + len_between(attach_page, attach_page_call),
                                 .data = region + REGION_DATA};
    way_back(s, &values.rip, &values.rax);
    assert(len_between(attach_page, attach_page_end) <= REGION_PAGE);
    memcpy(ret_page, attach_page, len_between(attach_page, attach_page_end));
    memcpy(ret_page + len_between(attach_page, attach_page_values), &values, sizeof values);
    *ret_after = len_between(attach_page, attach_page_after);
}

/* ---- reading code ---- */

struct code {
    const uint8_t *at, *end;
};

static bool skip(struct code *c, const char *bytes, size_t len)
{
    if ((size_t) (c->end - c->at) < len || memcmp(c->at, bytes, len) != 0)
        return false;
    c->at += len;
    return true;
}

static bool take_signed(struct code *c, size_t len, int64_t *ret)
{
    int32_t wide;
    if ((size_t) (c->end - c->at) < len)
        return false;
    if (len == 1) {
        *ret = *c->at < 0x80 ? *c->at : (int64_t) *c->at - 0x100;
    } else {
        memcpy(&wide, c->at, sizeof wide);
        *ret = wide;
    }
    c->at += len;
    return true;
}

/* mov SOMEWHERE(%rip), %eax or %rax; or from an absolute address. */
static bool take_load(struct code *c, const uint8_t *begin, uint64_t at, uint64_t *ret)
{
    int64_t distance;
    if (skip(c, "\x48\x8b\x05", 3) || skip(c, "\x8b\x05", 2)) {
        if (!take_signed(c, 4, &distance))
            return false;
        *ret = at + (uint64_t) (c->at - begin) + (uint64_t) distance;
        return true;
    }
    if ((skip(c, "\x48\x8b\x04\x25", 4) || skip(c, "\x8b\x04\x25", 3)) &&
        take_signed(c, 4, &distance)) {
        *ret = (uint64_t) distance;
        return true;
    }
    return false;
}

/* mov DISTANCE(%rax), %eax or %rax; 0 if there is none. */
static int take_displaced(struct code *c, int64_t *ret)
{
    if (skip(c, "\x48\x8b\x40", 3) || skip(c, "\x8b\x40", 2))
        return take_signed(c, 1, ret) ? 1 : -ENOTSUP;
    if (skip(c, "\x48\x8b\x80", 3) || skip(c, "\x8b\x80", 2))
        return take_signed(c, 4, ret) ? 1 : -ENOTSUP;
    return 0;
}

int arch_read_getter(const uint8_t *code, size_t len, uint64_t at, struct arch_getter *ret)
{
    struct code c = {code, code + len};
    int64_t displacement = 0;
    uint64_t address;
    skip(&c, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
    skip(&c, "\x55\x48\x89\xe5", 4); /* push %rbp; mov %rsp, %rbp */
    if (!take_load(&c, code, at, &address))
        return -ENOTSUP;
    int displaced = take_displaced(&c, &displacement);
    skip(&c, "\x5d", 1); /* pop %rbp */
    if (displaced < 0 || displacement < 0 || !skip(&c, "\xc3", 1))
        return -ENOTSUP;
    *ret = (struct arch_getter){address, displaced > 0, (uint64_t) displacement};
    return 0;
}

#endif
