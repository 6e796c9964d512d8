/* tests/unit/test_ledger.c: what growth consists of, and what follows from that. */
#include "ledger/ledger.h"

#include "unit.h"

#include <math.h>

#define MB 1e6

static const struct interval exactly_1_kb = {1000, 1000};

/* 100 MB of growth that has lasted one horizon, a complete census that names nothing, and an
 * unknown heap. */
static struct ledger_evidence growing(void)
{
    return (struct ledger_evidence){
        .engine = ENGINE_LASTING,
        .growth = 100 * MB,
        .resolution = MB,
        .horizons = 1.5,
        .level = 1000 * MB,
        .heap_used = NAN,
        .heap_free = NAN,
        .arenas_used = NAN,
        .arenas_free = NAN,
        .asked = NAN,
        .untouched = NAN,
        .has_census = true,
        .is_censused = true,
    };
}

static struct ledger_holder holder(double gained, struct interval each)
{
    return (struct ledger_holder){.gained = gained, .each = each, .missing = NAN, .is_held = true};
}

static struct ledger_judgement judge(const struct ledger_evidence *e, struct ledger *l)
{
    struct ledger_judgement j;
    ledger_build(e, l);
    ledger_judge(l, e, &j);
    return j;
}

static struct ledger_judgement judge_sites(struct ledger_evidence e, const struct ledger_site *s,
                                           size_t count, struct ledger *l)
{
    e.sites = s;
    e.site_count = count;
    return judge(&e, l);
}

static struct ledger_judgement judge_with(struct ledger_evidence e, const struct ledger_holder *h,
                                          struct ledger *l)
{
    e.holders = h;
    e.holder_count = 1;
    return judge(&e, l);
}

/* The parts' lower bounds fit into the total and, together with the upper bound of the rest,
 * reach it. */
static bool adds_up(const struct ledger *l)
{
    double lows = 0;
    for (unsigned i = 0; i < l->count; i++) {
        const struct interval *x = &l->parts[i].bytes;
        if (x->low < 0 || x->high < x->low)
            return false;
        lows += x->low;
    }
    double named = lows - l->parts[l->count - 1].bytes.low;
    return lows <= l->total * (1 + 1e-9) &&
           fabs(named + l->parts[l->count - 1].bytes.high - l->total) <= 1e-9 * l->total;
}

TEST(ledger__a_list_without_a_bound_is_a_leak)
{
    struct ledger l;
    struct ledger_holder list = holder(95000, exactly_1_kb);
    struct ledger_judgement j = judge_with(growing(), &list, &l);
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_ENDLESS);
    CHECK(l.count == 2 && l.parts[0].fate == FATE_ENDLESS && l.parts[0].bytes.low == 95 * MB);
    CHECK(fabs(l.parts[1].bytes.low - 5 * MB) < 1 && l.rest == REST_NOT_FOUND);
    CHECK(adds_up(&l));
}

/* Its final length is unknown, and the growth has not outlasted the horizon. */
TEST(ledger__a_dict_in_the_first_epoch_is_open)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder dict = holder(100000, exactly_1_kb);
    e.engine = ENGINE_OPEN;
    e.horizons = 0.6;
    struct ledger_judgement j = judge_with(e, &dict, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_TOO_SHORT);
    CHECK(l.parts[0].fate == FATE_UNKNOWN && adds_up(&l));
}

TEST(ledger__a_bounded_cache_that_fits_is_no_leak)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder deque = holder(95000, exactly_1_kb);
    deque.missing = 50000;
    e.limit = 2000 * MB;
    struct ledger_judgement j = judge_with(e, &deque, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && j.rule == RULE_EXPLAINED);
    CHECK(l.to_come.high == 50 * MB && l.parts[0].fate == FATE_ENDS);
    e.limit = 1020 * MB;
    j = judge_with(e, &deque, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_DOES_NOT_FIT && j.bound == e.limit);
}

/* The memory of a graph is invisible. The next graphs take no more than the ones so far may
 * take. */
TEST(ledger__a_bounded_cache_of_graphs_may_fit)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder deque = holder(1000, (struct interval){1000, INFINITY});
    deque.missing = 500;
    e.limit = 2000 * MB;
    struct ledger_judgement j = judge_with(e, &deque, &l);
    CHECK(l.to_come.low == 0.5 * MB && l.to_come.high == 50 * MB && adds_up(&l));
    CHECK(j.rule != RULE_DOES_NOT_FIT);
    deque.each.low = 95000; /* almost all of the growth */
    j = judge_with(e, &deque, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && j.rule == RULE_EXPLAINED);
    e.limit = 1040 * MB;
    j = judge_with(e, &deque, &l);
    CHECK(j.rule == RULE_DOES_NOT_FIT && j.value == 1050 * MB);
}

/* It is full and its items grow: it gains no items, so it explains nothing. */
TEST(ledger__a_full_container_explains_nothing)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder deque = holder(0, exactly_1_kb);
    deque.missing = 0;
    e.horizons = 4;
    struct ledger_judgement j = judge_with(e, &deque, &l);
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_LASTING && l.count == 1);
}

TEST(ledger__free_heap_is_no_leak)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.heap_used = 2 * MB;
    e.heap_free = 96 * MB;
    e.asked = 100 * MB;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && l.parts[0].fate == FATE_KEPT_FREE && adds_up(&l));
    e.asked = 180 * MB; /* 80 MB of the free heap need not be resident */
    j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_TOO_WIDE && j.widest == 0);
}

/* Many small objects were made and freed; some of them remain in every arena. */
TEST(ledger__free_memory_in_arenas_is_no_leak)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.arenas_used = 3 * MB;
    e.arenas_free = 95 * MB;
    e.asked = 100 * MB;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && j.excuse == LEDGER_FREE_ARENAS && adds_up(&l));
    CHECK(l.parts[0].kind == LEDGER_FREE_ARENAS && l.parts[0].fate == FATE_KEPT_FREE);
    e.arenas_used = -90 * MB; /* the arenas existed before */
    j = judge(&e, &l);
    CHECK(j.verdict != VERDICT_NO_LEAK && l.parts[0].bytes.high == 5 * MB && adds_up(&l));
}

/* The process is flat: what a list keeps fills free heap. */
TEST(ledger__a_slow_leak_inside_free_heap_is_seen)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder list = holder(6000, exactly_1_kb);
    e.growth = 0;
    e.heap_used = 6 * MB;
    e.heap_free = -6 * MB;
    struct ledger_judgement j = judge_with(e, &list, &l);
    CHECK(l.total == 6 * MB && adds_up(&l));
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_ENDLESS);
}

/* The same for what fills blocks of Python's arenas, which malloc does not count. */
TEST(ledger__a_leak_inside_free_arenas_is_seen)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder list = holder(6000, exactly_1_kb);
    e.growth = 2 * MB;
    e.heap_used = e.heap_free = 0;
    e.arenas_used = 5 * MB;
    e.arenas_free = -4 * MB;
    struct ledger_judgement j = judge_with(e, &list, &l);
    CHECK(l.growth == 2 * MB && l.total == 6 * MB && adds_up(&l));
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_ENDLESS && j.value == 6 * MB);
}

TEST(ledger__retention_beside_a_slow_leak_is_a_leak)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder list = holder(30000, exactly_1_kb);
    e.heap_used = 30 * MB;
    e.heap_free = 68 * MB;
    e.asked = 100 * MB;
    struct ledger_judgement j = judge_with(e, &list, &l);
    CHECK(j.verdict == VERDICT_LEAK && l.endless.low >= 30 * MB && adds_up(&l));
}

/* Most of it is free heap. A list keeps a small part with graphs, but that part is certain and
 * endless. */
TEST(ledger__a_named_leak_is_not_hidden_by_free_heap)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder list = holder(300, (struct interval){1000, INFINITY});
    e.heap_used = 20 * MB;
    e.heap_free = 80 * MB;
    e.asked = 100 * MB;
    struct ledger_judgement j = judge_with(e, &list, &l);
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_ENDLESS && l.endless.low < 25 * MB);
    CHECK(judge(&e, &l).verdict != VERDICT_LEAK);
}

/* np.zeros() that is filled: neither malloc nor the kernel hands out more. */
TEST(ledger__pages_touched_for_the_first_time_end)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.heap_used = e.heap_free = e.asked = 0;
    e.untouched = 300 * MB;
    e.limit = 2000 * MB;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && l.parts[0].kind == LEDGER_FIRST_TOUCH);
    CHECK(l.to_come.high == 300 * MB && adds_up(&l));
}

TEST(ledger__native_growth_has_to_last)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.heap_used = 98 * MB;
    e.heap_free = 0;
    e.asked = 100 * MB;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_TOO_SHORT && l.rest == REST_NATIVE);
    e.horizons = 3.5;
    j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_LASTING);
}

/* jemalloc: free heap is unknown, so nothing can be called native. */
TEST(ledger__with_another_allocator_the_rest_is_not_found)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.horizons = 5;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_LEAK && l.rest == REST_NOT_FOUND);
}

TEST(ledger__without_a_census_nothing_was_examined)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.is_censused = false;
    e.heap_used = 98 * MB;
    e.heap_free = 0;
    CHECK(judge(&e, &l).verdict == VERDICT_INCONCLUSIVE && l.rest == REST_NOT_EXAMINED);
    e.has_census = false; /* and none will come: only the engine's word is left */
    CHECK(judge(&e, &l).rule == RULE_LASTING);
}

/* The collector may free them when it runs, so they must be seen to stay for longer. */
TEST(ledger__cycles_have_to_last)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder cycles = holder(95000, exactly_1_kb);
    cycles.is_held = false;
    CHECK(judge_with(e, &cycles, &l).rule == RULE_TOO_SHORT);
    e.horizons = 4;
    CHECK(judge_with(e, &cycles, &l).rule == RULE_LASTING); /* gc.disable() */
}

/* A ring fills with objects of one type, which are also counted by type. */
TEST(ledger__a_tally_does_not_speak_against_a_bounded_container)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder both[] = {holder(95000, exactly_1_kb), holder(95000, exactly_1_kb)};
    both[0].is_tally = true;
    both[1].missing = 1000;
    e.holders = both;
    e.holder_count = 2;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && j.excuse == LEDGER_HOLDER && adds_up(&l));
    CHECK(l.parts[1].is_tally && l.parts[1].bytes.low <= 5 * MB);
}

/* What libraries keep of their first calls is bounded, but by what is unknown. */
TEST(ledger__little_that_nothing_names_may_end_soon)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.growth = e.rise = 3 * MB;
    e.unnamed = 4 * MB;
    e.horizons = 5;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_LITTLE && j.bound == 4 * MB);
    struct ledger_holder list = holder(2500, exactly_1_kb);
    CHECK(judge_with(e, &list, &l).rule == RULE_ENDLESS);
}

/* A cache explains most of it; the rest may be the unweighed part of the cache. */
TEST(ledger__what_mostly_ends_is_open_without_a_name)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder cache = holder(65000, exactly_1_kb);
    cache.missing = 1000;
    e.horizons = 5;
    struct ledger_judgement j = judge_with(e, &cache, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_TOO_WIDE);
    cache.gained = 30000;
    CHECK(judge_with(e, &cache, &l).rule == RULE_LASTING);
}

/* Losses that keep their graphs pin what a step frees: 2.5 GB of holes were called retention. */
TEST(ledger__holes_between_kept_graphs_are_no_excuse)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder losses = holder(300, (struct interval){1000, INFINITY});
    e.heap_used = 2 * MB;
    e.heap_free = 97 * MB;
    e.asked = 100 * MB;
    CHECK(judge_with(e, &losses, &l).rule == RULE_ENDLESS);
    e.heap_free = 100 * MB; /* as much as the growth: their own memory is lost in it */
    struct ledger_judgement j = judge_with(e, &losses, &l);
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_PINNED && l.endless.low < MB && adds_up(&l));
    losses.is_held = false; /* the collector may free them */
    CHECK(judge_with(e, &losses, &l).verdict == VERDICT_INCONCLUSIVE);
    losses.is_held = true;
    e.engine = ENGINE_OPEN;
    CHECK(judge_with(e, &losses, &l).rule == RULE_OPEN);
    CHECK(judge(&e, &l).rule == RULE_EXPLAINED); /* without the losses it is retention */
}

/* Also some pages touched for the first time: the holes do not end with those pages. */
TEST(ledger__holes_do_not_end_with_pages_used_for_the_first_time)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder losses = holder(300, (struct interval){1000, INFINITY});
    e.engine = ENGINE_OPEN;
    e.heap_used = 0.1 * MB;
    e.heap_free = 98 * MB;
    e.asked = 99.5 * MB;
    CHECK(judge_with(e, &losses, &l).rule == RULE_OPEN && adds_up(&l));
}

/* A filled array may be all of the growth; then nothing is free. */
TEST(ledger__kept_graphs_beside_what_ends_leave_it_open)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder losses = holder(300, (struct interval){1000, INFINITY});
    e.heap_used = 2 * MB;
    e.heap_free = 0;
    e.asked = 1 * MB;
    CHECK(judge_with(e, &losses, &l).verdict != VERDICT_LEAK);
}

/* What the engine leaves open is not closed because it is small. */
TEST(ledger__small_growth_that_is_open_stays_open)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.engine = ENGINE_OPEN;
    e.growth = 0.5 * MB;
    CHECK(judge(&e, &l).verdict == VERDICT_INCONCLUSIVE);
}

/* A library's registry that also grows is not the cause. */
TEST(ledger__a_small_holder_is_not_the_cause)
{
    struct ledger l;
    struct ledger_holder registry = holder(100, exactly_1_kb);
    struct ledger_judgement j = judge_with(growing(), &registry, &l);
    CHECK(j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_TOO_SHORT);
    CHECK(l.parts[l.count - 1].bytes.low > 99 * MB);
}

/* Graph nodes cannot be weighed from Python, so they may be all that nothing else explains. */
TEST(ledger__a_graph_is_bounded_from_outside)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_holder both[] = {holder(1000, (struct interval){1000, INFINITY}),
                                   holder(40000, exactly_1_kb)};
    both[1].missing = 0;
    e.holders = both;
    e.holder_count = 2;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(l.parts[0].bytes.low == MB && l.parts[0].bytes.high == 60 * MB && adds_up(&l));
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_ENDLESS);
}

/* A worker that was sampled briefly and did not grow: nothing is known about it. */
TEST(ledger__what_was_seen_too_shortly_is_open)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.engine = ENGINE_OPEN;
    e.growth = 0;
    e.horizons = 0.1;
    CHECK(judge(&e, &l).rule == RULE_TOO_SHORT);
}

TEST(ledger__no_growth_needs_no_parts)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    e.engine = ENGINE_NO_GROWTH;
    e.growth = -3 * MB;
    struct ledger_judgement j = judge(&e, &l);
    CHECK(j.verdict == VERDICT_NO_LEAK && j.rule == RULE_NO_GROWTH && l.total == 0 && l.count == 1);
}

TEST(ledger__a_site_names_growth_but_raises_no_alarm_before_its_time)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    const struct ledger_site leak = {.gained = {80 * MB, 90 * MB}};
    struct ledger_judgement j = judge_sites(e, &leak, 1, &l);
    CHECK(l.count == 2 && l.parts[0].kind == LEDGER_SITE && l.parts[0].fate == FATE_UNKNOWN);
    CHECK_NEAR(l.parts[1].bytes.low, 10 * MB, 1);
    CHECK_NEAR(l.parts[1].bytes.high, 20 * MB, 1);
    CHECK(adds_up(&l) && j.verdict == VERDICT_INCONCLUSIVE && j.rule == RULE_TOO_SHORT);

    e.horizons = 3.5; /* as patient as without a name */
    j = judge_sites(e, &leak, 1, &l);
    CHECK(l.parts[0].fate == FATE_ENDLESS && j.verdict == VERDICT_LEAK && j.rule == RULE_LASTING);

    e.engine = ENGINE_OPEN;
    j = judge_sites(e, &leak, 1, &l);
    CHECK(l.parts[0].fate == FATE_UNKNOWN && j.verdict == VERDICT_INCONCLUSIVE);
    e.engine = ENGINE_NO_GROWTH;
    CHECK(judge_sites(e, &leak, 1, &l).verdict == VERDICT_NO_LEAK);
}

TEST(ledger__a_site_that_has_stopped_is_an_excuse)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_site warm_up = {.gained = {80 * MB, 90 * MB}, .has_stopped = true};
    e.horizons = 3.5;
    struct ledger_judgement j = judge_sites(e, &warm_up, 1, &l);
    CHECK(l.parts[0].fate == FATE_ENDS && l.to_come.high == 0 && adds_up(&l));
    CHECK(j.verdict == VERDICT_NO_LEAK && j.rule == RULE_EXPLAINED && j.excuse == LEDGER_SITE);
    warm_up.gained = (struct interval){40 * MB, 45 * MB};
    j = judge_sites(e, &warm_up, 1, &l);
    CHECK(j.verdict == VERDICT_LEAK);
    CHECK_NEAR(l.endless.low, 55 * MB, 1);
}

TEST(ledger__a_site_of_memory_that_may_be_replaced_explains_nothing)
{
    struct ledger l, without;
    struct ledger_evidence e = growing();
    const struct ledger_site buffer = {.gained = {0, 95 * MB}};
    e.horizons = 3.5;
    struct ledger_judgement j = judge_sites(e, &buffer, 1, &l), bare = judge(&e, &without);
    CHECK(j.verdict == bare.verdict && j.rule == bare.rule);
    CHECK(l.endless.low == without.endless.low && l.endless.high == without.endless.high);
    CHECK(l.parts[0].bytes.low == 0 && l.parts[1].bytes.high == 100 * MB && adds_up(&l));
}

TEST(ledger__a_holder_and_its_site_are_the_same_bytes)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    const struct ledger_holder list = holder(95000, exactly_1_kb);
    const struct ledger_site sites[] = {
        {.gained = {90 * MB, 99 * MB}},
        {.gained = {2 * MB, 4 * MB}, .has_stopped = true},
    };
    e.holders = &list;
    e.holder_count = 1;
    struct ledger_judgement j = judge_sites(e, sites, 2, &l);
    CHECK(j.verdict == VERDICT_LEAK && j.rule == RULE_ENDLESS && adds_up(&l));
    CHECK(l.parts[0].kind == LEDGER_HOLDER && l.parts[0].bytes.low == 95 * MB);
    CHECK(l.parts[1].kind == LEDGER_SITE && l.parts[1].bytes.low <= 5 * MB);
}

TEST(ledger__sites_beyond_its_room_are_left_out)
{
    struct ledger l;
    struct ledger_evidence e = growing();
    struct ledger_site sites[2 * LEDGER_PARTS];
    for (size_t i = 0; i < 2 * LEDGER_PARTS; i++)
        sites[i] = (struct ledger_site){.source = i, .gained = {0.1 * MB, 0.2 * MB}};
    judge_sites(e, sites, 2 * LEDGER_PARTS, &l);
    CHECK(l.count <= LEDGER_PARTS && l.parts[l.count - 1].kind == LEDGER_REST && adds_up(&l));
}
