/* tests/trace/target.h: a program that allocates in every way there is, and checks what it got. */
#ifndef TIDEMARK_TEST_TRACE_TARGET_H
#define TIDEMARK_TEST_TRACE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- blocks that are checked (blocks.c) ---- */

/* A block with a pattern that follows from its address and size. */
struct block {
    unsigned char *at;
    size_t size;
    void (*give_back)(void *at, size_t size); /* the function that frees this kind */
};

/* Ends the program with status 99 unless the pattern is there. */
void block_check(const struct block *b);
void block_fill(const struct block *b);
/* One of a random size from a random function of malloc()'s family, or C++'s; filled. */
extern bool leaves_out_pvalloc; /* which few allocators have */
struct block block_new(uint64_t *random);
/* Another size of the same contents; some fail, and leave it as it was. */
void block_resize(struct block *b, uint64_t *random);
void block_free(struct block *b);
/* All kinds once, with their special cases: sizes of 0, alignments, failures. */
void blocks_of_all_kinds(void);

/* ---- what all modes use (target.c) ---- */

uint64_t random_next(uint64_t *state);
_Noreturn void fail(const char *what);
void require(bool holds, const char *what);
/* Allocations made; printed at the end. */
void count(uint64_t allocations);
bool is_over(void); /* the time to run has passed */
extern unsigned thread_count;
/* Runs it in so many threads, each with its number, and waits for them. `stack`: bytes; 0: usual.
 */
void in_threads(unsigned threads, size_t stack, void *(*run)(void *number));
/* Allocates, resizes and frees for so many rounds; some blocks go to other threads. */
void allocate_some(uint64_t seed, unsigned rounds);
/* Paths of files in this program's folder. */
enum file { FILE_SELF, FILE_LIBRARY_A, FILE_LIBRARY_B, FILES };
const char *beside(enum file which);

/* ---- modes ---- */

void mode_family(void);
void mode_other_allocator(void); /* the same without what others than the C library's lack */
void mode_mappings(void);
void mode_forks(void);
void mode_signals(void);
void mode_small_stack(void);
void mode_loading(void);
void mode_stacks(void);
void mode_jumps(void);
void mode_coroutines(void);
void mode_overflow(void);
void mode_segfault(void);
void mode_abort(void);
void mode_exit(void);

#endif
