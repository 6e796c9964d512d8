/* advice/advice.h: what a run shows about the memory its job needs. Pure: no I/O, no clock. */
#ifndef TIDEMARK_ADVICE_H
#define TIDEMARK_ADVICE_H

#include "advice/causes.h"
#include "base/base.h"
#include "stat/stat.h"
#include "verdict/verdict.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Facts in, advice out. Each piece of advice carries the measurement it rests on. Where a fact is
 * missing (NAN, NULL), the advice that would follow from it is missing too.
 */

/* ---- what data workers copy ---- */

/*
 * The data workers of one process. A forked worker shares its parent's pages until one of the two
 * writes to them, and reading a Python object writes its reference count. So each worker that reads
 * a list ends up with its own copy of it: bounded growth, not a leak. A spawned worker holds its
 * own copies from the start.
 */
enum copy_trend {
    COPIES_UNKNOWN, /* too few samples */
    COPIES_GROW,    /* still growing at the last sample */
    COPIES_STAND,
};

struct copy_facts {
    const char *parent; /* their parent: "trainer 4242" */
    bool spawned;
    unsigned workers;  /* alive at the same time */
    unsigned measured; /* how many of these were measured; `all` is their sum */
    double each, all;  /* bytes of their parent's memory that are private to a worker now (mean) and
                          to all of them; for spawned workers, the most memory each had */
    double inherited;  /* what a worker shared with its parent at the fork: it cannot copy more */
    enum copy_trend trend;
    double rate; /* of the growth, per unit of the clock */
    enum series_clock clock;

    bool probed; /* the parent reports from inside, so it would also report its dataset */
    /* The largest attribute of the dataset that consists of Python objects; NULL: not known. */
    const char *type, *owner, *attribute; /* "list", "Files", "samples"; the owner may be empty */
    double objects;                       /* bytes of the objects in it ... */
    double objects_all;                   /* ... and in all such attributes */
};

struct copies {
    bool matter;      /* large enough to be reported */
    bool may_matter;  /* it matters if the copies are the dataset, which is not known; never with
                         `matter` */
    bool named;       /* the attribute is most of what was copied */
    bool part;        /* the attribute is only part of what was copied; never with `named` */
    bool needs_probe; /* only a probe could name what was copied */
    double ends_at;   /* the most each worker will copy; NAN: reached, or flat */
};

void copies_judge(const struct copy_facts *facts, struct copies *ret);

/* A worker's private part of the memory it shared at its fork rose by `taken` bytes. It copied at
 * most `faulted` of them; others gave up the rest. Returns the total that others gave up, which was
 * `left` before. */
double copies_left(double left, double taken, double faulted);

/* Whether a worker's copies still rose over the last quarter of their history, and how fast. */
enum copy_trend copies_trend(const struct history *copied, double *ret_rate);

/* ---- how much memory it takes ---- */

/*
 * The use of one kind of memory in the run: the host's (shared pages counted once, pages of files
 * left out) or a device's. In bytes; NAN: not known.
 */
struct size_facts {
    const char *name;            /* "host", "gpu0" */
    const struct answer *answer; /* of the series that represents it */
    enum series_clock clock;
    double settled;         /* the level at the end */
    double warm_up_seconds; /* end of its warm-up, in seconds since the run began */
    double peak;            /* the highest sample */
    double copied, shared;  /* parts of the peak: copied by data workers; in /dev/shm */
    double unseen; /* peak between two samples, above the samples, as the kernel reports it */
    double copies_to_come; /* what data workers will still copy */
    double files;          /* mapped pages of files: code and libraries */
    double needed;   /* of a device: peak of the tensors plus memory that is not torch's; NAN: only
                        the peak is known */
    double capacity; /* bytes available in all */
    const char *capacity_source;
    bool failed; /* the command failed: what it would have needed later is not known */
};

/* Why a size is what it is; words/size.h has the sentences. */
enum size_reason_kind {
    SIZE_PEAK,     /* the peak of the run */
    SIZE_NEEDED,   /* of a device: the peak without what torch only retained */
    SIZE_COPIED,   /* of the peak: copied by data workers */
    SIZE_SHARED,   /* of the peak: in /dev/shm */
    SIZE_UNSEEN,   /* a peak between two samples */
    SIZE_PLAN,     /* growth to the end of the plan */
    SIZE_ENDLESS,  /* a leak: no size is enough ... */
    SIZE_LASTS,    /* ... the capacity lasts until then ... */
    SIZE_EACH_GB,  /* ... and each GB more for so long; `amount` is on the clock */
    SIZE_FOR_PLAN, /* of a leak: what the end of the plan takes */
    SIZE_FAILED,   /* the command failed */
    SIZE_SHORT,    /* the run is too short */
    SIZE_EXCEEDS,  /* the minimum exceeds the capacity */
    SIZE_SPIKE,    /* the margins: the highest spike beyond the usual ones */
    SIZE_NOISE,
    SIZE_PLAN_UNCERTAIN,
    SIZE_PLAN_UNNOTICED,
    SIZE_NEGLIGIBLE, /* a negligible leak over SEVERITY_FUTURE runs */
    SIZE_COPIES_TO_COME,
    SIZE_FILES,
    SIZE_RETAINED, /* torch's allocator keeps more than tensors take */
    SIZE_NO_MARGIN,
};

#define SIZE_REASONS 8u

struct size_reasons {
    struct size_reason {
        enum size_reason_kind kind;
        double amount; /* bytes; NAN: the kind has none */
    } list[SIZE_REASONS];
    unsigned count;
};

struct size {
    enum verdict verdict;
    bool leaks;                  /* a leak that is not negligible: no size is enough */
    bool settled;                /* it is flat and not expected to grow */
    double minimum, recommended; /* NAN: no size follows; minimum_why says why */
    double grows_until;          /* where a leak reaches the capacity, on its clock */
    double for_plan;             /* of a leak: the size that lasts to the end of the plan */
    struct size_reasons minimum_why, recommended_why;
};

void size_judge(const struct size_facts *facts, struct size *ret);

/* ---- what the constant part is made of, and what could be changed ---- */

/* All processes of one role, at the moment when most of them were alive. Bytes; NAN: not known. */
struct part_facts {
    const char *role; /* "data worker" */
    unsigned processes;
    double rss, pss;
    double private_bytes; /* what would be free if they ended */
    bool stable;          /* they did not grow */
};

/* Use of a device by torch's allocator. */
struct device_facts {
    const char *name;          /* "cuda:0" */
    double allocated, highest; /* the lowest between steps; the peak */
    double reserved;           /* the lowest reserve in the second half of the run */
    double used, capacity;     /* of the whole device, where the driver reports it */
};

#define ADVICE_DEVICES 16

struct setting_facts {
    double host_peak;
    const struct part_facts *parts;
    size_t part_count;
    const struct copy_facts *copies; /* of those that matter; NULL: none */
    struct device_facts devices[ADVICE_DEVICES];
    unsigned device_count;
    double pinned;                     /* the most host memory that torch had pinned */
    double freed_by_trim, freed_by_gc; /* what the run's first cleanup freed */
    unsigned falls, collections; /* full collections: after which memory fell clearly, and all */
    double fall;                 /* the typical fall */
};

enum setting_kind {
    SETTING_DATASET,         /* data workers copy the dataset */
    SETTING_WORKERS,         /* data workers take much memory */
    SETTING_COMPILE_WORKERS, /* compile workers take much memory */
    SETTING_PINNED,
    SETTING_ARENAS,          /* malloc retained much until a trim */
    SETTING_COLLECT_CLEANUP, /* the cleanup's first collection freed much */
    SETTING_COLLECT,         /* most full collections free much */
    SETTING_ACCUMULATION,    /* a device is almost full during steps alone */
    SETTING_EXPANDABLE,      /* torch's reserve is fragmented */
};

/* A setting that the run gives a reason to change; words/settings.h has the sentence. */
struct setting {
    enum setting_kind kind;
    unsigned at; /* index into the facts' parts or devices */
};

#define ADVICE_SETTINGS 8

struct settings {
    struct setting list[ADVICE_SETTINGS];
    unsigned count;
};

/* Only the settings that the run gives a reason to change; empty if it gives none. */
void settings_judge(const struct setting_facts *facts, struct settings *ret);

#endif
