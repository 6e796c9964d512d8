/* attach/arch.h: everything that depends on the processor: registers, and the code that runs in the
 * target. One arch_*.c per processor; arch_none.c for unsupported ones. */
#ifndef TIDEMARK_ATTACH_ARCH_H
#define TIDEMARK_ATTACH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether tidemark can attach on this processor at all. */
bool arch_is_supported(void);

/* ---- the state of a stopped thread ---- */

enum arch_where {
    ARCH_BLOCKED, /* in an interrupted system call that the kernel will resume */
    ARCH_RUNNING, /* anywhere else */
    ARCH_FOREIGN  /* running code of another word size */
};

struct arch_state; /* every register, the floating-point state and the signal mask */

/* -ENOMEM, -errno. The caller owns *ret_state; free with arch_free(), which accepts NULL. */
int arch_save(pid_t thread, struct arch_state **ret_state);
void arch_free(struct arch_state *s);
enum arch_where arch_where(const struct arch_state *s);
uint64_t arch_program_counter(const struct arch_state *s);
uint64_t arch_stack_pointer(const struct arch_state *s);
/* Whether the thread waits for something on its own stack, as a thread that waits for a PyMutex
 * does. */
bool arch_waits_on_own_stack(const struct arch_state *s);

/*
 * Chooses the signal by which the code below reports that it is done. The thread must not block it,
 * and it must be harmless if nobody is tracing: it has no handler (`caught` has a bit for each
 * signal with one) and is ignored by default. -EAGAIN: there is none now.
 */
int arch_choose_signal(struct arch_state *s, uint64_t caught);

/*
 * Lets the thread continue at `address`, with all other registers as saved and all signals but that
 * one blocked. The order of steps keeps the thread safe if the caller ends between two calls, as
 * long as the code at `address` is one of the two pieces below.
 */
int arch_jump(pid_t thread, const struct arch_state *s, uint64_t address);

/* Restores everything as saved. At a signal stop the kernel then resumes or ends an interrupted
 * system call, as it would have done. */
int arch_restore(pid_t thread, const struct arch_state *s);

/* Where the thread is, and the result that the code below reports. */
int arch_position(pid_t thread, uint64_t *ret_address, int64_t *ret_result);
int arch_signal(const struct arch_state *s);

/* ---- code that returns by itself ---- */

/*
 * Unless somebody stops them first, both pieces restore every register, the flags, the signal mask
 * and the interrupted call by themselves. So the caller may be killed at any time.
 */
struct arch_call {
    long number; /* of a system call */
    uint64_t arguments[6];
};

/*
 * One system call, in at most ARCH_CAVE_LEN bytes that the target cannot write; then the signal, at
 * `address` + *ret_after. The code records `thread`. If `page` is not 0 by then, that page is made
 * executable and run. If that fails, the signal comes again, with the reason.
 */
#define ARCH_CAVE_LEN 384
size_t arch_make_cave(const struct arch_state *s, pid_t thread, const struct arch_call *call,
                      uint64_t page, uint8_t ret_code[ARCH_CAVE_LEN], size_t *ret_after);
/* The thread that such code was written for, and the page it leads to or 0. 0: this is not such
 * code. */
pid_t arch_cave_owner(const uint8_t code[ARCH_CAVE_LEN], uint64_t *ret_page);

/* Writes the code page of a region at `region`: a call of `function`(stub, data), and the signal at
 * *ret_after. */
void arch_make_page(const struct arch_state *s, uint64_t region, uint64_t function,
                    uint8_t *ret_page, size_t *ret_after);

/* Bytes that this processor's state takes; 0: unknown. */
size_t arch_saved_len(void);

/* ---- reading code ---- */

/* A function that only returns a variable: the variable's address, or that of a pointer to its
 * struct. */
struct arch_getter {
    uint64_t address;
    bool indirect;         /* `address` holds the address of a struct */
    uint64_t displacement; /* offset of the variable in it */
};
int arch_read_getter(const uint8_t *code, size_t len, uint64_t at, struct arch_getter *ret);

#endif
