/* wire/wire.h: what a watched process reports to its watcher: one ring in shared memory. */
#ifndef TIDEMARK_WIRE_H
#define TIDEMARK_WIRE_H

#include "wire/census.h"
#include "wire/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Every process of a job with something to report keeps one ring: a file in the directory named
 * by the environment variable TIDEMARK_RUN, which must be private to its user (0700). The
 * process maps the file; an outside watcher reads it as a file. The producer never waits, never
 * allocates, and does not notice whether anybody reads. Unread records are overwritten. They
 * carry running counts, so a lost record falsifies no count. Any number of threads may write, and
 * any number of readers may read. Without a directory the ring is private memory, for a program
 * that watches itself.
 *
 * This room needs only the C library: it is part of the probe.
 */
#define WIRE_DIRECTORY_VARIABLE "TIDEMARK_RUN"

/* Who counts the steps. A higher source takes precedence over a lower one. */
enum wire_source {
    WIRE_NOBODY,
    WIRE_OPTIMIZER, /* calls of an optimizer's step() */
    WIRE_FRAMEWORK, /* a training framework's own count */
    WIRE_WATCHER,   /* the program reports its own */
};

enum wire_kind {
    WIRE_STEP = 1,     /* value: steps made, counted by `source` */
    WIRE_EPOCH,        /* value: epochs completed */
    WIRE_EPOCH_LENGTH, /* value: steps of an epoch, if known before it ends */
    WIRE_PLAN,         /* value: the step at which training will end */
    WIRE_SAMPLE,       /* value: of the counter `name` */
    WIRE_PHASE,        /* value: 1, the phase `name` begins; 0: it ends */
    WIRE_ASIDE,        /* value: of the counter `name` outside a step; used only for its phase */
};

/* ---- counters ---- */

enum wire_unit {
    WIRE_BYTES,
    WIRE_COUNT,
};

/* Lasting growth of a judged counter is a leak; other counters are only shown. */
#define WIRE_NAMES 64u
#define WIRE_NAME_LENGTH 48u
#define WIRE_DEVICE_LENGTH 23u

struct wire_name {
    char kind[WIRE_NAME_LENGTH];     /* "torch.allocated", "host.anon", or the caller's own */
    char device[WIRE_DEVICE_LENGTH]; /* "cuda:0"; empty: none */
    uint8_t unit;                    /* enum wire_unit */
    uint8_t judged;
};

/* ---- the producer's side ---- */

struct wire_ring;

/* Opens the ring of this process: in the directory of the job, or in private memory if `directory`
 * is NULL. If the process already has a ring in the directory, reopens it. -errno; -EPERM: the
 * directory, or the file with the ring's name, belongs to another user or is open to others. */
int wire_open(const char *directory, struct wire_ring **ret);

/*
 * Accepts NULL, returns NULL. The file stays for the reader. A forked child calls this first,
 * because the ring belongs to the parent; a pthread_atfork() handler may call it too.
 */
struct wire_ring *wire_close(struct wire_ring *r);

uint64_t wire_now(void); /* nanoseconds of CLOCK_MONOTONIC, the time of records */

/* The number of a counter, always the same for a kind and device; negative: no room. */
int wire_name(struct wire_ring *r, const struct wire_name *name);

void wire_put(struct wire_ring *r, enum wire_kind kind, enum wire_source source, unsigned name,
              uint64_t now, double value);

/* The number of records written so far. The ring holds the last WIRE_SLOTS of them. */
#define WIRE_SLOTS 4096u /* a power of two */
uint64_t wire_records(const struct wire_ring *r);

/*
 * Reports a step; `step` counts them. Not every step is reported: at most 100 a second after the
 * first seconds, and within 0.1 % of the time (but see wire_tell_next()). Each report includes
 * the process's own memory, host.anon, sampled at the same point of every step. Ignored if a
 * higher source counts. Returns the time of the report, so that the caller can add its other
 * counters; 0: this step was not reported.
 */
uint64_t wire_step(struct wire_ring *r, enum wire_source source, double step);
/* Reports the next step, whenever it comes. Ignored if a higher source counts. */
void wire_tell_next(struct wire_ring *r, enum wire_source source);

/*
 * Phases: named work of the program outside its steps, such as evaluating or saving. Each of the
 * first 16 names has its own number; all later names share "other". One thread at a time may use
 * phases.
 */
#define WIRE_PHASES 17u
#define WIRE_OTHER "other"
unsigned wire_phase(struct wire_ring *r, const char *name);

/*
 * Begins or ends a phase. Phases may nest. A phase that begins again while it is active ends with
 * its last end; an end without a beginning is ignored. Every phase is counted. Each name is
 * reported at most every 20 ms and within 0.1 % of the time. host.anon at both moments precedes
 * the report, and so does the peak in between if the kernel knows it. The beginning wakes the
 * reader. Returns the time of the report; 0: not reported.
 */
uint64_t wire_phase_begin(struct wire_ring *r, unsigned phase);
uint64_t wire_phase_end(struct wire_ring *r, unsigned phase);
/* Ends all active phases. */
void wire_phases_end(struct wire_ring *r);

/* The source in effect, and the steps it has counted; NAN: none. */
enum wire_source wire_believed(const struct wire_ring *r);
double wire_steps(const struct wire_ring *r);

/* Memory of this process in bytes; NAN: not known. `asked`: private writable memory, touched or
 * not. */
struct wire_memory {
    double resident, shared, asked;
};

struct wire_memory wire_own_memory(void);

/* ---- the census ---- */

/* The name of a process that takes a census of another one. It is not part of the job. */
#define WIRE_CENSUS_PROCESS "tidemark-census"

/* What a process should find out about its objects. The reader decides. */
enum wire_wanted {
    WIRE_CENSUS_NONE,    /* nothing: nobody reads or wants it */
    WIRE_CENSUS_COUNT,   /* counts by type */
    WIRE_CENSUS_HOLDERS, /* and the holders of growing objects */
    WIRE_CENSUS_PROFILE, /* the same, requested by the user for a short time: more often */
    WIRE_CENSUS_WHOLE,   /* everything, once and immediately: for an attached process */
};

enum wire_wanted wire_wanted(const struct wire_ring *r);

/*
 * Replaces the census report, a text beside the ring (see wire/census.h). One call at a time. Safe
 * in a forked child, whatever the process's other threads did during the fork: it allocates nothing
 * and takes no lock. -ENOENT: the ring has no directory, and the caller must deliver the text
 * itself. On any other -errno the previous report stays.
 */
int wire_census_replace(struct wire_ring *r, const char *text, size_t len);

/*
 * Opens the last report that this process wrote for an outside reader. Returns a descriptor, or
 * -errno; -ENOENT: there is no report, or the ring has no directory.
 */
int wire_census_open(const struct wire_ring *r, struct stat *ret);

/* What a process should try while it searches for holders, to tell causes apart. This changes the
 * program's memory, so only a user may request it. */
enum wire_act {
    WIRE_ACT_GC = 1,   /* a full collection: memory it frees was waiting for one */
    WIRE_ACT_TRIM = 2, /* a heap trim: memory it frees was retained by malloc() */
};

unsigned wire_acts(const struct wire_ring *r);

/* This much of the process's shared memory is the probe's, not the program's. */
void wire_own_shared(struct wire_ring *r, size_t bytes);

/* Sets the process that takes the census: a child of this one, which it may outlive; 0: none, or
 * none any more. */
void wire_census_by(struct wire_ring *r, pid_t pid);

/*
 * For a process that was attached to while it ran: whether its reader is still there. However a
 * reader ends, the fifo "wake" is then without one. False for a directory that is not private to
 * this user. Takes no lock and preserves errno.
 */
bool wire_has_reader(const char *directory);

/*
 * Reports that everything injected is gone again except the library. Removes the directory with
 * its contents, because the reader may never return.
 */
void wire_say_left(struct wire_ring *r);

/* ---- the reader's side ---- */

struct wire_record {
    uint64_t time; /* see wire_now() */
    enum wire_kind kind;
    enum wire_source source;
    unsigned name; /* WIRE_SAMPLE, WIRE_ASIDE: the counter; WIRE_PHASE: the phase's number */
    double value;
};

struct wire_reader;

/*
 * Opens a file in a directory where a process of the job may replace anything at any moment. So
 * it follows no link, crosses no mount and never blocks. The file must have that type (S_IFREG,
 * S_IFIFO) and belong to the owner of the directory. Returns a descriptor, or -errno; -EPERM: the
 * file has another type or another owner.
 */
int wire_open_beneath(int directory_fd, const char *name, mode_t type, int flags, struct stat *ret);

/*
 * Opens the ring of another process. It is never mapped, because it could be truncated under the
 * reader at any moment. It is read and written as a file. Its contents may be wrong or gone; then
 * the reader returns nothing. -EPROTONOSUPPORT: another version made it, see ring.h; -EPROTO: not a
 * ring. -ENOENT, -ENOMEM.
 */
int wire_reader_open(int directory_fd, const char *file, struct wire_reader **ret);
/* Reads a ring of this same process. The ring must outlive the reader. -ENOMEM. */
int wire_reader_attach(struct wire_ring *r, struct wire_reader **ret);
struct wire_reader *wire_reader_free(struct wire_reader *r); /* accepts NULL */

pid_t wire_reader_pid(const struct wire_reader *r);
uint64_t wire_reader_start(const struct wire_reader *r); /* start time of the process, in ticks */

/* Reads the next record, in the order of writing. False: nothing new, or so many useless slots that
 * others should get their turn. So the call ends, whatever is written meanwhile. */
bool wire_read(struct wire_reader *r, struct wire_record *ret);

/* Number of records overwritten before they were read. */
uint64_t wire_reader_lost(const struct wire_reader *r);

/* Copies the name of a counter. False: no such counter. */
bool wire_reader_name(struct wire_reader *r, unsigned name, struct wire_name *ret);

/* Copies the counts of a phase, exact at any time. False: no such phase. */
struct wire_phase_count {
    char name[WIRE_NAME_LENGTH];
    uint64_t begun, ended;
    double seconds; /* total of those that have ended */
};

bool wire_reader_phase(const struct wire_reader *r, unsigned phase, struct wire_phase_count *ret);

/* The step the process has reached, exact at any time; NAN: it counts none. */
double wire_reader_step(const struct wire_reader *r);

/*
 * Asks the process to write one byte to the fifo "wake" of the directory at that step, to wake a
 * sleeping reader. INFINITY: never. The process also writes one when it opens its ring and when a
 * phase begins.
 */
void wire_reader_wake_at(struct wire_reader *r, double step);

/* What the process should find out from now on. If the ring has a directory, only an outside reader
 * decides; the call of a reader in the process itself is ignored. */
void wire_reader_want(struct wire_reader *r, enum wire_wanted w);

void wire_reader_act(struct wire_reader *r, unsigned acts); /* enum wire_act */

size_t wire_reader_own_shared(const struct wire_reader *r);

/* Whether a live process is taking a census. */
bool wire_reader_census_is_under_way(const struct wire_reader *r);

bool wire_reader_has_left(const struct wire_reader *r); /* see wire_say_left() */

#define WIRE_WAKE_FILE "wake"
/* A fifo that has a reader while an outside watcher announces leaks where the job's output goes, so
 * that a program that watches itself need not repeat them. */
#define WIRE_VOICE_FILE "voice"
#define WIRE_RING_SUFFIX ".ring"     /* "PID-START.ring" */
#define WIRE_CENSUS_SUFFIX ".census" /* "PID-START.census" */

#endif
