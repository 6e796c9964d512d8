/* verdict/engine.h: the state of the streaming engine. Private to verdict/. */
#ifndef TIDEMARK_VERDICT_ENGINE_H
#define TIDEMARK_VERDICT_ENGINE_H

#include "verdict/growth.h"
#include "verdict/stairs.h"
#include "verdict/verdict.h"

/* The longest straight ramp that may be harmless, where no epoch is known. */
#define DEFAULT_HORIZON_STEPS 150.0
#define DEFAULT_HORIZON_SECONDS 900.0

/* A horizon has this many base blocks; a base block is one sample where samples are rarer. */
#define BLOCKS_PER_HORIZON 20.0

#define BLOCK_LEVELS 24
#define EPOCH_LEVELS 14
#define VALLEY_LEVELS 14

/* A block being filled. */
struct open_block {
    double index; /* its number; NAN: none is open */
    double at_sum, value_sum, min;
    uint64_t count;
    bool whole; /* seen from its beginning */
};

/* One pyramid each for stretches of time, whole epochs, and the valleys between spikes. */
enum source { SOURCE_BLOCKS, SOURCE_EPOCHS, SOURCE_VALLEYS, SOURCE_COUNT };

/* A leak as it was found. */
struct alarm {
    bool set;
    enum source source;
    unsigned level;
    struct growth growth;
    double onset;
    bool by_stairs; /* found as stairs: no pyramid has it, so source and level are unused */
};

/* The unit the values are multiples of; see engine_resolution(). */
enum grain { GRAIN_2MB, GRAIN_MB, GRAIN_KB, GRAIN_EXACT };

/* The newest samples, one by one. */
#define RECENT 4

struct engine {
    struct engine_options options;
    double horizon, epoch_length;
    bool epoch_known;

    struct pyramid pyramids[SOURCE_COUNT];
    struct history history;
    struct open_block block, epoch;

    /* Zigzag: the valleys of spikes and sawteeth whose period nobody knows. */
    struct {
        double top, low, low_at;
        bool falling, has_valley;
        struct block valley; /* the last one, open until the next is far enough away */
    } zigzag;

    /* The current run. */
    uint64_t samples;
    double first_at, first_seconds, first_value;
    double last_at, last_seconds, last_value;
    double min, max;
    double quantum;   /* smallest difference ever seen between values close to one another */
    double before;    /* the value before the last change; NAN: there was none */
    uint64_t changes; /* between neighbours */
    bool monotone;
    double recent[RECENT]; /* a ring */
    enum grain grain;

    /* The whole series, over restarts. */
    uint64_t total, refused, restarts, checks;
    double total_min, total_max, total_sum;

    double candidate_at, candidate_until; /* since when the test holds; until when it counts */
    double suspect_at, suspect_seen_at;   /* since when, and when last; NAN */
    double alarm_at, stopped_at;  /* when growth was called a leak, and when it stopped; NAN */
    struct alarm alarm, previous; /* previous: of the run before a restart */
    struct alarm waiting;         /* held back: it may be a buffer filling */
    bool fading;
    double fade_recheck; /* length of the run at which fading is checked again */

    double stairs_checked_at; /* where stairs were last checked */

    uint64_t epoch_marks;
    double last_mark_at;
};

/* Called whenever a level of a pyramid has a new block. */
void checkpoint(struct engine *e, enum source source, unsigned level);

/* How long growth of this slope has to last before it is a leak, beyond the horizon's rule. */
double engine_patience(const struct engine *e, double slope);

/* The significance required of growth, in standard errors: it rises with the number of checks. */
double engine_threshold(const struct engine *e);

/* How long the suspected growth has lasted, at least; 0: none is suspected. */
double engine_suspected_for(const struct engine *e);

/* The stairs of the current run, as far as the counter can be held to them. */
bool engine_stairs(const struct engine *e, struct stairs *ret);

/* The stairs that are a habit, have lasted long enough to be a leak, and go on. */
bool engine_stairs_leak(const struct engine *e, struct stairs *ret);

/* The least number of blocks for a fit of growth. */
size_t engine_least_blocks(enum source source);

/* The smallest rise that counts: from the options, else inferred from the values. */
double engine_resolution(const struct engine *e);

#endif
