/* attach/arch.h: all that depends on the processor: registers, and the code that is run in the
 * target. One arch_*.c a processor; arch_none.c where there is none. */
#ifndef TIDEMARK_ATTACH_ARCH_H
#define TIDEMARK_ATTACH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether this can be done on this processor at all. */
bool arch_is_supported(void);

/* ---- the state of a stopped thread ---- */

enum arch_where {
    ARCH_BLOCKED, /* a system call was interrupted that will be taken up again */
    ARCH_RUNNING, /* anywhere else */
    ARCH_FOREIGN  /* code of another word size */
};

struct arch_state; /* every register, the floating-point state and the mask of signals */

/* -ENOMEM, -errno. The caller owns *ret_state; free with arch_free(), which accepts NULL. */
int arch_save(pid_t thread, struct arch_state **ret_state);
void arch_free(struct arch_state *s);
enum arch_where arch_where(const struct arch_state *s);
uint64_t arch_program_counter(const struct arch_state *s);
uint64_t arch_stack_pointer(const struct arch_state *s);
/* Whether the thread waits for something on its own stack, as one does for a PyMutex. */
bool arch_waits_on_own_stack(const struct arch_state *s);

/*
 * The signal by which the code below says that it is done: one that the thread does not hold back,
 * and that does nothing if nobody is there to see it, since it has no handler (`caught` has a bit
 * for each that has) and is ignored by default. -EAGAIN: there is none now.
 */
int arch_choose_signal(struct arch_state *s, uint64_t caught);

/*
 * The thread goes on at `address`, with all other registers as saved and all signals but that one
 * held back. The order is such that the thread is in no danger whenever the caller ends between two
 * calls, as long as the code there is one of the two below.
 */
int arch_jump(pid_t thread, const struct arch_state *s, uint64_t address);

/* Everything as it was saved. From the stop of a signal an interrupted system call is taken up
 * again by the kernel, or ended, as it would have been. */
int arch_restore(pid_t thread, const struct arch_state *s);

/* Where the thread stands, and what the code below says was returned. */
int arch_look(pid_t thread, uint64_t *ret_address, int64_t *ret_result);
int arch_signal(const struct arch_state *s);

/* ---- code that leads back by itself ---- */

/*
 * Both pieces restore every register, the flags, the mask of signals and what was interrupted by
 * themselves, if nobody stops them before that: so it does not matter when the caller is killed.
 */
struct arch_call {
    long number; /* of a system call */
    uint64_t arguments[6];
};

/*
 * One system call, in at most ARCH_CAVE_LEN bytes that are not writable for the target; then the
 * signal, at `address` + *ret_after. `thread` is noted in them. If `page` is not 0 by then, that
 * page is made executable and run; if it cannot be, the signal comes again, with the reason.
 */
#define ARCH_CAVE_LEN 384
size_t arch_make_cave(const struct arch_state *s, pid_t thread, const struct arch_call *call,
                      uint64_t page, uint8_t ret_code[ARCH_CAVE_LEN], size_t *ret_after);
/* The thread that such code was made for, and the page it leads to or 0. 0: this is no such code.
 */
pid_t arch_cave_owner(const uint8_t code[ARCH_CAVE_LEN], uint64_t *ret_page);

/* The code page of a region at `region`: a call of `function`(stub, data), and the signal at
 * *ret_after. */
void arch_make_page(const struct arch_state *s, uint64_t region, uint64_t function,
                    uint8_t *ret_page, size_t *ret_after);

/* Bytes the state of this processor takes; 0: unknown. */
size_t arch_saved_len(void);

/* ---- reading code ---- */

/* A function that only returns a variable: where that is, or the pointer to what it lies in. */
struct arch_getter {
    uint64_t address;
    bool indirect;         /* `address` holds the address of a struct, */
    uint64_t displacement; /* and so far into it is the variable */
};
int arch_read_getter(const uint8_t *code, size_t len, uint64_t at, struct arch_getter *ret);

#endif
