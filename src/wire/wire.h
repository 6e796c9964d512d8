/* wire/wire.h: what a watched process reports to its watcher: one ring in shared memory. */
#ifndef TIDEMARK_WIRE_H
#define TIDEMARK_WIRE_H

#include "wire/census.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Every process of a job with something to report keeps one ring: a file in the directory named
 * by the environment variable TIDEMARK_RUN, which must be private to its user (0700). The
 * process maps the file; a watcher outside reads it as a file. The producer never waits, never
 * allocates, and does not notice whether anybody reads. Records that are not read in time are
 * overwritten; the records carry running counts, so nothing is counted wrongly. Any number of
 * threads may write, any number of readers may read. Without a directory the ring is private
 * memory, for a program that watches itself.
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
    WIRE_ASIDE,        /* value: of the counter `name` outside a step: for a phase alone */
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

/* The ring of this process: in the directory of the job, or memory of its own where there is
 * none. The same one again where the process already has one there. -errno; -EPERM: the directory,
 * or what has the ring's name there, is another user's or open to others. */
int wire_open(const char *directory, struct wire_ring **ret);

/*
 * Accepts NULL, returns NULL. The file stays for the reader. The child of a fork calls it first,
 * safely also in a handler of pthread_atfork(): the ring belongs to the parent.
 */
struct wire_ring *wire_close(struct wire_ring *r);

uint64_t wire_now(void); /* nanoseconds of CLOCK_MONOTONIC, the time of records */

/* The number of a counter, the same for the same kind and device; negative: no room. */
int wire_name(struct wire_ring *r, const struct wire_name *name);

void wire_put(struct wire_ring *r, enum wire_kind kind, enum wire_source source, unsigned name,
              uint64_t now, double value);

/* Records that were put so far, and how many the ring holds: older ones are overwritten. */
#define WIRE_SLOTS 4096u /* a power of two */
uint64_t wire_records(const struct wire_ring *r);

/*
 * Reports a step; `step` counts them. Not every step is reported: at most 100 a second after the
 * first seconds, and within 0.1 % of the time (but see wire_tell_next()). Each report includes
 * the process's own memory, host.anon, at the same place in every step. Ignored where a higher
 * source counts. Not 0: this step was reported, at that time, and the caller's other counters
 * belong to it too.
 */
uint64_t wire_step(struct wire_ring *r, enum wire_source source, double step);
/* The next step is reported, whenever it comes; ignored where a higher source counts. */
void wire_tell_next(struct wire_ring *r, enum wire_source source);

/*
 * Phases: what a program does beside its steps, by names of its own: it evaluates, it saves. The
 * same name has the same number; each of the first 16 names has one, all others are "other". One
 * thread at a time may use phases.
 */
#define WIRE_PHASES 17u
#define WIRE_OTHER "other"
unsigned wire_phase(struct wire_ring *r, const char *name);

/*
 * The phase begins or ends. Phases may nest. A phase that begins again while it lasts ends with
 * its last end; an end without a beginning is ignored. All are counted. Of each name one is
 * reported at most every 20 ms and within 0.1 % of the time, after host.anon at both moments and,
 * where the kernel knows it, the peak in between. The beginning wakes the reader. Not 0: it was
 * reported, at that time.
 */
uint64_t wire_phase_begin(struct wire_ring *r, unsigned phase);
uint64_t wire_phase_end(struct wire_ring *r, unsigned phase);
/* Ends all phases that have begun. */
void wire_phases_end(struct wire_ring *r);

/* The source in effect, and the steps it has counted; NAN: none. */
enum wire_source wire_believed(const struct wire_ring *r);
double wire_steps(const struct wire_ring *r);

/* Pages of this process, in bytes; NAN: not known. `asked`: what it may write to and shares with
 * nobody, touched or not. */
struct wire_memory {
    double resident, shared, asked;
};

struct wire_memory wire_own_memory(void);

/* ---- the census ---- */

/* The name of a process that takes a census for another one: it is not part of the job. */
#define WIRE_CENSUS_PROCESS "tidemark-census"

/* What a process should find out about its objects; the reader decides. */
enum wire_wanted {
    WIRE_CENSUS_NONE,    /* nothing: nobody reads, or nobody wants it */
    WIRE_CENSUS_COUNT,   /* counts by type */
    WIRE_CENSUS_HOLDERS, /* and the holders of growing objects */
    WIRE_CENSUS_PROFILE, /* the same, requested by the user for a short time: more often */
    WIRE_CENSUS_WHOLE,   /* everything, once and immediately: for an attached process */
};

enum wire_wanted wire_wanted(const struct wire_ring *r);

/*
 * The report of the last census, in place of the one before: a text beside the ring, see
 * wire/census.h. One at a time. Safe in a child that was forked off the process, whatever its other
 * threads did at that moment: no memory is taken, no lock is met. -ENOENT: the ring has no
 * directory, and the caller hands the text over itself; else -errno, and the one before stays.
 */
int wire_census_replace(struct wire_ring *r, const char *text, size_t len);

/*
 * The last report of this very process, which it made for a reader outside. A descriptor, or
 * -errno; -ENOENT: there is none, or the ring has no directory.
 */
int wire_census_open(const struct wire_ring *r, struct stat *ret);

/* What a process should try while it searches for holders, because it tells causes apart. It
 * changes the program's memory, so only a user may request it. */
enum wire_act {
    WIRE_ACT_GC = 1,   /* a full collection: what becomes free was waiting for one */
    WIRE_ACT_TRIM = 2, /* a trim of the heap: what becomes free was kept by malloc() */
};

unsigned wire_acts(const struct wire_ring *r);

/* This much of the process's shared memory is not the program's. */
void wire_own_shared(struct wire_ring *r, size_t bytes);

/* The process that makes it, a child of this one, which may live longer; 0: there is none (more).
 */
void wire_census_by(struct wire_ring *r, pid_t pid);

/*
 * Of a process that was entered while it ran: is somebody still there who reads? A reader that is
 * gone, by whatever end, has left the fifo "wake" without one. In a directory that is not this
 * user's alone nobody is. Takes no lock; errno stays.
 */
bool wire_has_reader(const char *directory);

/*
 * Everything injected is gone again except the library. Removes the directory with its contents,
 * because the reader may never return.
 */
void wire_say_left(struct wire_ring *r);

/* ---- the reader's side ---- */

struct wire_record {
    uint64_t time; /* see wire_now() */
    enum wire_kind kind;
    enum wire_source source;
    unsigned name; /* of WIRE_SAMPLE and WIRE_ASIDE; of a WIRE_PHASE its number */
    double value;
};

struct wire_reader;

/*
 * Opens a file of a directory that a process of the job may change at any moment, and make
 * something else of: no link is followed, no mount is entered, nobody is waited for. It has that
 * type (S_IFREG, S_IFIFO) and belongs to the owner of the directory. A descriptor, or -errno;
 * -EPERM: it is of another type, or somebody else's.
 */
int wire_open_beneath(int directory_fd, const char *name, mode_t type, int flags, struct stat *ret);

/*
 * The ring of another process is never mapped: it could be cut under the reader at any moment. It
 * is read and written as a file, and all that is in it may be wrong, or gone: then it tells
 * nothing. -EPROTONOSUPPORT: it was made by another version, see ring.h; -EPROTO: no ring at all.
 * -ENOENT, -ENOMEM.
 */
int wire_reader_open(int directory_fd, const char *file, struct wire_reader **ret);
/* A ring of this very process. It must outlive the reader. -ENOMEM. */
int wire_reader_attach(struct wire_ring *r, struct wire_reader **ret);
struct wire_reader *wire_reader_free(struct wire_reader *r); /* accepts NULL */

pid_t wire_reader_pid(const struct wire_reader *r);
uint64_t wire_reader_start(const struct wire_reader *r); /* start time of the process, in ticks */

/* The next record, in the order of writing. False: nothing new, or so much was in vain that
 * somebody else should have his turn: whatever is written meanwhile, there is an end. */
bool wire_read(struct wire_reader *r, struct wire_record *ret);

/* Number of records overwritten before they were read. */
uint64_t wire_reader_lost(const struct wire_reader *r);

/* Copies the name of a counter. False: no such counter. */
bool wire_reader_name(struct wire_reader *r, unsigned name, struct wire_name *ret);

/* Copies the counts of a phase, exact at any time. False: no such phase. */
struct wire_phase_count {
    char name[WIRE_NAME_LENGTH];
    uint64_t begun, ended;
    double seconds; /* of those that have ended, together */
};

bool wire_reader_phase(const struct wire_reader *r, unsigned phase, struct wire_phase_count *ret);

/* The step the process has reached, exact at any time; NAN: it counts none. */
double wire_reader_step(const struct wire_reader *r);

/*
 * The process shall write one byte to the fifo "wake" of the directory when it reaches that step:
 * for a reader that sleeps. INFINITY: never. It writes one, too, when it opens its ring and when a
 * phase begins.
 */
void wire_reader_wake_at(struct wire_reader *r, double step);

/* What the process shall find out from now on. Where it has a directory, who watches from outside
 * decides: a reader in the process itself is not heard then. */
void wire_reader_want(struct wire_reader *r, enum wire_wanted w);

void wire_reader_act(struct wire_reader *r, unsigned acts); /* enum wire_act */

size_t wire_reader_own_shared(const struct wire_reader *r);

/* Whether a census is being made, by a process that is alive. */
bool wire_reader_census_is_under_way(const struct wire_reader *r);

bool wire_reader_has_left(const struct wire_reader *r); /* see wire_say_left() */

#define WIRE_WAKE_FILE "wake"
/* A fifo with a reader as long as somebody tells of leaks where the output of the job goes, too:
 * who watches itself need not say it again. */
#define WIRE_VOICE_FILE "voice"
#define WIRE_RING_SUFFIX ".ring"     /* "PID-START.ring" */
#define WIRE_CENSUS_SUFFIX ".census" /* "PID-START.census" */

#endif
