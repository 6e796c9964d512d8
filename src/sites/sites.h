/* sites/sites.h: where a process allocates the memory that it keeps: sites, from samples. Pure. */
#ifndef TIDEMARK_SITES_H
#define TIDEMARK_SITES_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Glossary (docs/SAMPLING.md has the mathematics):
 *   sample   one allocation in about `interval` bytes; stands for `weight` bytes
 *   site     all allocations with the same stack and kind, as far as its names tell stacks apart;
 *            of a process with very many stacks, the small ones with the same line of the user's
 *   point    what a site kept at one moment; the sites of a process have theirs at common moments
 *   remains  what a site kept at a moment and still keeps at its last point
 *   cohort   what was allocated in one span of time and is still kept at the last point
 *   memory   of one device, or pinned memory of the host: sites there explain its growth alone
 *
 * A site's bytes are estimates. Each sample is weighed by itself (wire_trace_weight()), so that
 * sums are unbiased; the variance of a sum is the sum of w (w - n) over its samples of n bytes and
 * weight w. Both add up over sites. Times are seconds of the run.
 */
enum site_kind {
    SITE_MALLOC, /* malloc() and its family */
    SITE_PYTHON, /* CPython's own allocators */
    SITE_MAPPED, /* mmap() by others than those */
    SITE_DEVICE, /* torch's memory on a device */
    SITE_PINNED, /* host memory that torch pinned */
    SITE_KINDS,
};

const char *site_kind_name(enum site_kind kind); /* "malloc", "python", "mapped", ... */

/* It counts as anonymous memory of the process; the others are judged by series of their own. */
bool site_kind_is_anon(enum site_kind kind);

/* One function of a stack. Texts belong to the `sites`; "": not known. */
struct site_frame {
    const char *function;
    const char *file;   /* source file; of a native function without debug information: "" */
    int line;           /* 0: not known */
    const char *module; /* the loaded file of a native function; "": a Python function */
    uint64_t offset;    /* in the module, as its symbols count; 0: a Python function */
    bool is_inlined;    /* into the next frame */
};

#define SITE_POINTS 64u  /* when all are used, every second one is dropped */
#define SITE_COHORTS 32u /* equal spans from `armed` to `seconds` of the whole */

struct site_point {
    double seconds;
    double bytes, variance; /* kept at that moment */
    double allocated;       /* since sampling began */
    /* Of `bytes`, what the last point still keeps, and its part of `variance`: what two moments
     * have in common is no error of their difference. */
    double remains, remains_variance;
};

struct site {
    enum site_kind kind;
    const char *device;        /* "cuda:0"; "": host memory */
    struct site_frame *frames; /* innermost first: native ones, then Python's; 0: not known */
    unsigned frame_count;
    const struct site_frame *own; /* the frame of site_own_frame(), found once; NULL: none */
    bool is_truncated;            /* there were more frames */
    struct site_point points[SITE_POINTS];
    unsigned point_count;
    double cohorts[SITE_COHORTS]; /* bytes kept at the last point, by when they were allocated */
    double samples, live;         /* samples taken, and those still kept at the last point */
    double objects; /* about so many are kept at the last point: each sample counts weight / size */
};

/*
 * Memory whose blocks torch lists. Its sites have what was allocated since `armed`, as of
 * `seconds`, which is a while before the look that read it; the growth was measured between the
 * same moments.
 */
#define SITE_MEMORIES 17u

struct site_memory {
    enum site_kind kind; /* SITE_DEVICE or SITE_PINNED */
    const char *device;  /* as of a site */
    double armed, seconds;
    double growth;   /* bytes in use, of all blocks */
    double interval; /* 0: sites have every block; else they have samples of that interval */
};

/* The sites of one process, by the bytes they keep at the end, the largest first. `points`, `kept`
 * and `others` are of host memory that is not pinned. */
struct sites {
    double armed, seconds; /* when sampling began, NAN: it never did; the last point */
    double interval;       /* bytes; the largest in force */
    struct site *list;
    size_t count;
    /* Of all sites of anonymous memory, also those that are not listed. */
    struct site_point points[SITE_POINTS];
    unsigned point_count;

    double kept, kept_variance; /* the last of `points` */
    double others;              /* of sites that are not listed: their bytes at the last point */
    double not_seen; /* growth of the allocators' bytes in use that passed the tracer by; NAN */
    double samples, dropped, dropped_bytes, stackless, lost_frees; /* counts of the tracer */
    double spent_seconds;                                          /* processor time of sampling */
    bool has_native, has_python;

    struct site_memory memories[SITE_MEMORIES]; /* those in use */
    unsigned memory_count;
    double blocks_spent_seconds; /* processor time of listing blocks */

    struct site_texts *texts; /* owns all texts */
};

/* When the first of anything was sampled or listed. */
double sites_from(const struct sites *s);

/* The memory of that kind and device; NULL: it has none, or its blocks are not listed. */
const struct site_memory *sites_memory(const struct sites *s, enum site_kind kind,
                                       const char *device);

struct sites *sites_free(struct sites *s); /* accepts NULL, returns NULL */

/* ---- as text: in the run file ---- */

/*
 * UTF-8, one record a line, fields separated by tabs, escaped as in wire/census.h. A number that is
 * not known is empty. An ERROR is the root of a variance.
 *
 *   tidemark sites 1
 *   sampling ARMED SECONDS INTERVAL OTHERS NOT_SEEN
 *   counts   SAMPLES DROPPED DROPPED_BYTES STACKLESS LOST_FREES SPENT_SECONDS NATIVE PYTHON
 *   point    SECONDS BYTES ERROR ALLOCATED REMAINS REMAINS_ERROR    in the order of time
 *   site     KIND DEVICE SAMPLES LIVE TRUNCATED OBJECTS
 *   frame    FUNCTION FILE LINE MODULE OFFSET INLINED     of the site before it, innermost first
 *   again    N ...                                        the Nth frame of the text, from 0
 *   cohorts  BYTES ...                                    SITE_COHORTS of them
 *   memory   KIND DEVICE ARMED SECONDS GROWTH INTERVAL
 *   blocks   SPENT_SECONDS
 *
 * Points before the first site are those of all sites together, the others of the site before them.
 * A reader skips unknown records and further fields, and refuses another version.
 */
#define SITES_FIRST_LINE "tidemark sites 1"
#define SITES_MOST 256u /* listed */
#define SITES_MOST_FRAMES 256u
#define SITES_MOST_BYTES ((size_t) 1 << 20)

/* At most SITES_MOST_BYTES: the last sites go to the others where the list is longer. */
void sites_write(const struct sites *s, struct buf *out);
/* -EPROTO: not such a text; -EPROTONOSUPPORT: of another version; -E2BIG. The caller frees *ret. */
int sites_parse(const char *text, size_t len, struct sites **ret);

/* ---- from what a process traced ---- */

/*
 * Looks at one process's trace file (wire/trace.h), one after the other. Keeps what sites kept at
 * each of them, in bounded memory. The file is the process's own: nothing in it is trusted.
 */
struct site_looks;

struct site_looks *site_looks_new(void);
struct site_looks *site_looks_free(struct site_looks *l); /* accepts NULL, returns NULL */

/* `file`: a copy, of that size and aligned like malloc()'s memory, made at the time `now`; second 0
 * of the run was at `origin` (both as wire_now()). A file that began anew forgets the former one.
 * -EPROTO: no such file; -EPROTONOSUPPORT: of another version; -EAGAIN: nothing was sampled yet;
 * -ERANGE: not later than the look before. What was taken before stays. From the end of a program
 * on, while it frees what it has, all looks are at that moment. */
int site_looks_take(struct site_looks *l, const void *file, size_t size, uint64_t origin,
                    uint64_t now);

/* The same of a process that has ended, at its last sample. -ESTALE: it keeps less than at the look
 * before. It freed what it had on its way out, as a function that returns does; the look before
 * stays the last. */
int site_looks_take_last(struct site_looks *l, const void *file, size_t size, uint64_t origin,
                         uint64_t now);

/* A native address whose names are wanted: the module as the process sees it, and the offset of the
 * instruction (for a return address, one less than it). */
struct site_address {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_length;
    uint64_t offset;
};

/* Fills the functions at that address, the innermost inlined one first; returns their number, at
 * most `most`; 0: not known. The texts live until the call after the next. */
typedef size_t site_namer(void *context, const struct site_address *a, struct site_frame *ret,
                          size_t most);

/* Every address is passed to `name` once, in the order of modules. NULL: nothing was taken yet. */
struct sites *site_looks_sites(const struct site_looks *l, site_namer *name, void *context);

/* ---- what a site means ---- */

/* The point at a moment, interpolated; needs one point at least. */
struct site_point site_at(const struct site *s, double seconds);

/* Bytes that a site gained between two moments, interpolated between its points, with the standard
 * error of the difference: exact up to the last point, else an upper bound. `from` is not later
 * than `to`. NAN: no points. */
struct site_gain {
    double bytes, error;
};

struct site_gain site_gain(const struct site *s, double from, double to);
/* The same of all sites of anonymous memory together; of the listed sites of mapped memory; and of
 * those whose objects are in Python's arenas: larger ones are in malloc's heap. */
struct site_gain sites_gain(const struct sites *s, double from, double to);
struct site_gain sites_gain_mapped(const struct sites *s, double from, double to);
struct site_gain sites_gain_in_arenas(const struct sites *s, double from, double to);

/* Adds the bytes, counts and cohorts of a site of the same process to a sum that began as zeros. */
void site_add(struct site *to, const struct site *s);

/*
 * What becomes of the memory that a site allocates, told by the ages of what it still keeps. A
 * habit is named only where the samples rule the others out (docs/SAMPLING.md).
 */
enum site_habit {
    SITE_HABIT_UNKNOWN, /* too few samples, or something in between */
    SITE_KEEPS,         /* goes on keeping a share of what it allocates, and loses none: a leak */
    SITE_KEPT_EARLY,    /* keeps what it allocated at first, and little since: it warmed up */
    SITE_ROTATES,       /* new memory stays, old memory goes: a buffer, a bounded cache */
    SITE_CHURNS,        /* keeps next to nothing of what it allocates */
    SITE_HABITS,
};

const char *site_habit_name(enum site_habit habit); /* "keeps", "kept early", ... */
enum site_habit site_habit(const struct site *s);

/*
 * The user's own line: the innermost Python frame outside packages and the standard library; else
 * the innermost Python frame; else the innermost native frame outside allocators and the C library;
 * else, of a Python whose functions cannot be read, the interpreter's. -1: the stack is empty.
 */
int site_own_frame(const struct site *s);
/* Finds it for all; both ways to sites do. */
void sites_find_own(struct sites *s);

/* Python of the user's: outside packages and the standard library. */
bool site_frame_is_own(const struct site_frame *f);

/* Allocators, the C library and the interpreter's own machinery, which say nothing to a user. */
bool site_frame_is_plumbing(const struct site_frame *f);

/* "train.py:41 train → model.forward → at::conv2d": the user's line, then inwards, at most `most`
 * characters; frames are left out from the middle. `most` is at least 1. */
void site_describe(const struct site *s, size_t most, struct buf *out);

#endif
