/* advice/advice.h: what a run says about the memory its job needs. Pure: no I/O, no clock. */
#ifndef TIDEMARK_ADVICE_H
#define TIDEMARK_ADVICE_H

#include "advice/causes.h"
#include "base/base.h"
#include "stat/stat.h"
#include "verdict/verdict.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Facts in, advice out, each piece with the measurement it rests on. Nothing is said that the run
 * does not show: where a fact is absent (NAN, NULL), so is what would follow from it.
 */

/* ---- what data workers copy ---- */

/*
 * The data workers of one process. A forked one shares its parent's pages until one of them is
 * written to; reading a Python object writes its reference count. So a list that all of them read
 * is there once more in each of them in the end: bounded, and no leak. A spawned one holds copies
 * of its own from the start.
 */
enum copy_trend {
    COPIES_UNKNOWN, /* too few looks */
    COPIES_GROW,    /* they still did at the last look */
    COPIES_STAND,
};

struct copy_facts {
    const char *parent; /* whose: "trainer 4242" */
    bool spawned;
    unsigned workers;  /* at a time */
    unsigned measured; /* of so many of these it is known, and makes up `all` */
    double each, all; /* what of their parent's memory they have for themselves now; of spawned ones
                         all that they had for themselves at most */
    double inherited; /* what one of them shared at its fork: it cannot copy more */
    enum copy_trend trend;
    double rate; /* of one that grows, per unit of the clock */
    enum series_clock clock;

    bool probed; /* the parent tells things from inside, and so it would its dataset */
    /* The largest attribute of the dataset that is made of Python objects; NULL: not known. */
    const char *type, *owner, *attribute; /* "list", "Files", "samples"; the owner may be empty */
    double objects;                       /* bytes of the objects in it ... */
    double objects_all;                   /* ... and in all such attributes */
};

struct copies {
    bool matter;      /* enough to be told */
    bool may_matter;  /* it is if it is the dataset, which nobody could say; never both */
    bool named;       /* that attribute is most of what was copied */
    bool part;        /* it can only be a part of it; never both */
    bool needs_probe; /* nobody could say what it is */
    double ends_at;   /* the most that each of them will have copied; NAN: it is there, or stands */
};

void copies_judge(const struct copy_facts *facts, struct copies *ret);

/* Of what a fork shared, `taken` more is its own now, and it can have copied no more of that than
 * `faulted`. Returns how much was left to it by others in all, where that was `left` before. */
double copies_left(double left, double taken, double faulted);

/* Whether what a worker has copied still rose over the last quarter of what is known, and how
 * fast. */
enum copy_trend copies_trend(const struct history *copied, double *ret_rate);

/* ---- how much memory it takes ---- */

/*
 * What one kind of memory did in the run: the host's, with shared pages counted once and without
 * pages of files, or a device's. Bytes; NAN: not known.
 */
struct size_facts {
    const char *name;            /* "host", "gpu0" */
    const struct answer *answer; /* of the series that stands for it */
    enum series_clock clock;
    double settled;         /* where it stands at the end */
    double warm_up_seconds; /* when its warm-up had ended, from the beginning of the run */
    double peak;            /* the highest that was seen */
    double copied, shared;  /* of the peak: copied by data workers; in /dev/shm */
    double unseen; /* by which a process was higher between two looks, as the kernel tells */
    double copies_to_come; /* that data workers will still copy */
    double files;          /* mapped pages of files: code and libraries */
    double needed; /* of a device: the most that tensors took, and what is not torch's; NAN: no more
                      is known than what was taken */
    double capacity; /* what there is */
    const char *capacity_source;
    bool failed; /* the command did: what it would have taken later is not known */
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
    bool leaks;                  /* and not by a negligible amount: no size is enough */
    bool settled;                /* it stands, and is not expected to grow any more */
    double minimum, recommended; /* NAN: no size can be named, and minimum_why says why */
    double grows_until;          /* of a leak: where on its clock the capacity is used up ... */
    double for_plan;             /* ... and what would last to the end of the plan */
    struct size_reasons minimum_why, recommended_why;
};

void size_judge(const struct size_facts *facts, struct size *ret);

/* ---- what the constant part is made of, and what could be changed ---- */

/* All processes of one role, at the moment when most of them were there. Bytes; NAN: not known. */
struct part_facts {
    const char *role; /* "data worker" */
    unsigned processes;
    double rss, pss;
    double private_bytes; /* what would be free without them */
    bool stable;          /* they did not grow */
};

/* What torch's allocator did on a device. */
struct device_facts {
    const char *name;          /* "cuda:0" */
    double allocated, highest; /* between steps, at the lowest; the most at a time */
    double reserved;           /* what it kept, at the lowest of the second half of the run */
    double used, capacity;     /* of the whole device, where the driver tells */
};

#define ADVICE_DEVICES 16

struct setting_facts {
    double host_peak;
    const struct part_facts *parts;
    size_t part_count;
    const struct copy_facts *copies; /* of those that matter; NULL: none */
    struct device_facts devices[ADVICE_DEVICES];
    unsigned device_count;
    double pinned;                     /* host memory that torch has pinned, at most */
    double freed_by_trim, freed_by_gc; /* what the first cleanup of the run gave back */
    unsigned falls, collections; /* full collections, and those at which memory fell a good deal */
    double fall;                 /* by how much, typically */
};

enum setting_kind {
    SETTING_DATASET,         /* workers copy it */
    SETTING_WORKERS,         /* data workers weigh */
    SETTING_COMPILE_WORKERS, /* compile workers weigh */
    SETTING_PINNED,
    SETTING_ARENAS,          /* malloc retained much until a trim */
    SETTING_COLLECT_CLEANUP, /* the cleanup's first collection freed much */
    SETTING_COLLECT,         /* so do most full collections */
    SETTING_ACCUMULATION,    /* a device is almost full during steps alone */
    SETTING_EXPANDABLE,      /* torch's reserve is fragmented */
};

/* One that the run has a reason for; words/settings.h has the sentence. */
struct setting {
    enum setting_kind kind;
    unsigned at; /* of the facts' parts or devices */
};

#define ADVICE_SETTINGS 8

struct settings {
    struct setting list[ADVICE_SETTINGS];
    unsigned count;
};

/* Only those that the run has a reason for; of a job that needs none it is empty. */
void settings_judge(const struct setting_facts *facts, struct settings *ret);

#endif
