/* tests/unit/test_names.c: the words of verdicts, which programs rely on. */
#include "verdict/verdict.h"

#include "unit.h"

TEST(names__of_verdicts_are_those_of_the_schema)
{
    CHECK_TEXT(verdict_name(VERDICT_LEAK), "leak");
    CHECK_TEXT(verdict_name(VERDICT_NO_LEAK), "no_leak");
    CHECK_TEXT(verdict_name(VERDICT_INCONCLUSIVE), "inconclusive");
}

TEST(names__of_severities_are_those_of_the_schema)
{
    CHECK_TEXT(severity_name(SEVERITY_NONE), "none");
    CHECK_TEXT(severity_name(SEVERITY_NEGLIGIBLE), "negligible");
    CHECK_TEXT(severity_name(SEVERITY_LOW), "low");
    CHECK_TEXT(severity_name(SEVERITY_MEDIUM), "medium");
    CHECK_TEXT(severity_name(SEVERITY_HIGH), "high");
}

TEST(names__of_patterns_are_those_of_the_schema)
{
    static const char *const names[] = {
        "unknown",     "flat",      "warm-up",       "spikes",        "sawtooth",
        "level-shift", "shrinking", "bounded-cache", "copy-on-write", "allocator-retention",
        "page-cache",  "linear",    "staircase",     "accelerating",
    };
    CHECK(sizeof names / sizeof names[0] == PATTERN_ACCELERATING + 1);
    for (int i = PATTERN_UNKNOWN; i <= PATTERN_ACCELERATING; i++)
        CHECK_TEXT(pattern_name((enum pattern) i), names[i]);
}

TEST(names__of_phases_are_words)
{
    static const char *const names[] = {"start",   "warm-up",   "stable",
                                        "growing", "shrinking", "level shift"};
    for (int i = PHASE_START; i <= PHASE_LEVEL_SHIFT; i++)
        CHECK_TEXT(phase_name((enum phase_name) i), names[i]);
}
