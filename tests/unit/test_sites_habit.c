/* tests/unit/test_sites_habit.c: what becomes of the memory of sites whose habit is known. */
#include "traced_program.h"
#include "unit.h"

#define KB 1024
#define ROUNDS 30
#define RUNS 60

/* How often each habit was named, of all runs. */
struct named {
    unsigned times[SITE_HABITS];
};

static struct named named_of(const struct traced_site *site, double interval)
{
    static struct traced_program program;
    struct named n = {0};
    for (uint64_t run = 0; run < RUNS; run++) {
        struct site_looks *l = site_looks_new();
        program_begin(&program, site, 1, interval, 31 * run);
        while (program.round < ROUNDS) {
            program_round(&program);
            if (program.round % 3 == 0)
                program_look(&program, l);
        }
        struct sites *s = site_looks_sites(l, NULL, NULL);
        const struct site *x = site_of_line(s, 1);
        n.times[x ? site_habit(x) : SITE_HABIT_UNKNOWN]++;
        sites_free(s);
        site_looks_free(l);
    }
    for (int i = 0; i < SITE_HABITS; i++)
        printf("  %s %u", site_habit_name((enum site_habit) i), n.times[i]);
    printf("\n");
    return n;
}

/* Nearly always that habit, and hardly ever another one. */
static bool is_nearly_always(const struct traced_site *site, enum site_habit habit)
{
    struct named n = named_of(site, 16 * KB);
    unsigned others = RUNS - n.times[habit] - n.times[SITE_HABIT_UNKNOWN];
    return n.times[habit] >= RUNS * 8 / 10 && others <= RUNS / 20;
}

TEST(habit__of_a_leak_is_to_keep)
{
    const struct traced_site all = {512, 160, 1000, FOREVER, 1, ROUNDS};
    CHECK(is_nearly_always(&all, SITE_KEEPS));
}

TEST(habit__of_a_leak_of_a_hundredth_is_to_keep)
{
    const struct traced_site hundredth = {512, 20000, 10, FOREVER, 1, ROUNDS};
    CHECK(is_nearly_always(&hundredth, SITE_KEEPS));
}

TEST(habit__of_a_cache_that_filled_is_to_have_kept_early)
{
    const struct traced_site filled = {512, 400, 1000, FOREVER, 1, 8};
    const struct traced_site half = {512, 400, 1000, FOREVER, 1, 17};
    CHECK(is_nearly_always(&filled, SITE_KEPT_EARLY));
    CHECK(is_nearly_always(&half, SITE_KEPT_EARLY));
}

TEST(habit__of_a_buffer_is_to_rotate)
{
    const struct traced_site buffer = {512, 400, 1000, 10, 1, ROUNDS};
    CHECK(is_nearly_always(&buffer, SITE_ROTATES));
}

TEST(habit__of_temporary_objects_is_to_churn)
{
    const struct traced_site temporary = {512, 1000, 0, 1, 1, ROUNDS};
    const struct traced_site brief = {512, 1000, 1000, 2, 1, ROUNDS};
    CHECK(is_nearly_always(&temporary, SITE_CHURNS));
    CHECK(is_nearly_always(&brief, SITE_CHURNS));
}

TEST(habit__is_not_known_of_few_samples)
{
    const struct traced_site few = {512, 10, 1000, FOREVER, 1, ROUNDS};
    const struct traced_site began_late = {512, 400, 1000, FOREVER, 25, ROUNDS};
    CHECK(named_of(&few, 16 * KB).times[SITE_HABIT_UNKNOWN] >= RUNS - 1);
    CHECK(named_of(&began_late, 16 * KB).times[SITE_HABIT_UNKNOWN] == RUNS);
    const struct site empty = {.device = ""};
    CHECK(site_habit(&empty) == SITE_HABIT_UNKNOWN);
}
