/* verdict/names.c: the names in reports and JSON. */
#include "verdict/verdict.h"

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_INCONCLUSIVE] = "inconclusive",
        [VERDICT_NO_LEAK] = "no_leak",
        [VERDICT_LEAK] = "leak",
    };
    return names[verdict];
}

const char *severity_name(enum severity severity)
{
    static const char *const names[] = {
        [SEVERITY_NONE] = "none", [SEVERITY_NEGLIGIBLE] = "negligible",
        [SEVERITY_LOW] = "low",   [SEVERITY_MEDIUM] = "medium",
        [SEVERITY_HIGH] = "high",
    };
    return names[severity];
}

const char *pattern_name(enum pattern pattern)
{
    static const char *const names[] = {
        [PATTERN_UNKNOWN] = "unknown",
        [PATTERN_FLAT] = "flat",
        [PATTERN_WARM_UP] = "warm-up",
        [PATTERN_SPIKES] = "spikes",
        [PATTERN_SAWTOOTH] = "sawtooth",
        [PATTERN_LEVEL_SHIFT] = "level-shift",
        [PATTERN_SHRINKING] = "shrinking",
        [PATTERN_BOUNDED_CACHE] = "bounded-cache",
        [PATTERN_COPY_ON_WRITE] = "copy-on-write",
        [PATTERN_ALLOCATOR_RETENTION] = "allocator-retention",
        [PATTERN_PAGE_CACHE] = "page-cache",
        [PATTERN_LINEAR] = "linear",
        [PATTERN_STAIRCASE] = "staircase",
        [PATTERN_ACCELERATING] = "accelerating",
    };
    return names[pattern];
}

const char *phase_name(enum phase_name name)
{
    static const char *const names[] = {
        [PHASE_START] = "start",         [PHASE_WARM_UP] = "warm-up",
        [PHASE_STABLE] = "stable",       [PHASE_GROWING] = "growing",
        [PHASE_SHRINKING] = "shrinking", [PHASE_LEVEL_SHIFT] = "level shift",
    };
    return names[name];
}
