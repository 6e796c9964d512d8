/* tests/unit/test_track.c: one watched series: when it is judged, on which clock, and how. */
#include "job/track.h"
#include "unit.h"

#define MB 1048576.0

struct fixture {
    struct step_clock clock;
    struct track_terms terms;
    struct track track;
};

static void begin(struct fixture *f, const char *kind, enum series_unit unit, enum track_use use)
{
    clock_init(&f->clock);
    f->terms = (struct track_terms){.clock = &f->clock, .series = 1};
    track_init(&f->track, kind, unit, use);
}

static void begin_anon(struct fixture *f, enum track_use use)
{
    begin(f, "host.anon", SERIES_BYTES, use);
}

static struct answer answer(struct fixture *f)
{
    struct answer a;
    const struct history *h;
    track_answer(&f->track, &f->terms, &a, &h);
    return a;
}

/* A step of 0.1 s with three samples. */
static void make_step(struct fixture *f, double step, double from, double to)
{
    for (unsigned i = 0; i < 3; i++)
        track_push(&f->track, &f->terms, 0.1 * (step - 1) + 0.03 * (i + 1),
                   from + (to - from) * (i + 1) / 3);
    clock_mark(&f->clock, 0.1 * step, step);
    track_mark(&f->track, &f->terms);
}

TEST(track__without_samples_has_no_answer)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    struct answer a;
    const struct history *h = (const struct history *) &f;
    track_answer(&f.track, &f.terms, &a, &h);
    CHECK(!h);
    CHECK(!track_leaks(&f.track) && !track_is_wary(&f.track));
    track_finish(&f.track);
    track_release(&f.track);
}

TEST(track__what_is_no_number_is_passed_over)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    track_push(&f.track, &f.terms, 1, NAN);
    track_push(&f.track, &f.terms, 2, INFINITY);
    CHECK(f.track.samples == 0 && isnan(f.track.first));
    track_push(&f.track, &f.terms, 3, 5 * MB);
    CHECK(f.track.samples == 1);
    CHECK_NEAR(f.track.first, 5 * MB, 0);
    CHECK_NEAR(f.track.first_seconds, 3, 0);
    track_release(&f.track);
}

/* The verdict on the sum of `parts` processes that grows by 5 MB; their number becomes known on
 * the way. */
static enum verdict verdict_of_sum(double parts)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (int step = 1; step <= 1000; step++) {
        make_step(&f, step, 500 * MB + (step - 1) * 5 * MB / 1000, 500 * MB + step * 5 * MB / 1000);
        if (step == 50) {
            f.track.parts = parts;
            track_renew_terms(&f.track, &f.terms);
        }
    }
    track_finish(&f.track);
    enum verdict verdict = answer(&f).verdict;
    track_release(&f.track);
    return verdict;
}

TEST(track__each_part_of_a_sum_may_creep)
{
    CHECK(verdict_of_sum(1) == VERDICT_LEAK);
    CHECK(verdict_of_sum(4) == VERDICT_LEAK);
    CHECK(verdict_of_sum(20) == VERDICT_NO_LEAK);
}

/* Sampled as rarely as a flat count is. */
TEST(track__what_stood_still_and_was_read_rarely_is_no_leak)
{
    struct fixture f;
    begin(&f, "fds", SERIES_COUNT, TRACK_JUDGED);
    unsigned samples = 0;
    for (unsigned step = 1; step <= 6000; step++) {
        if ((step & (step - 1)) == 0 || step % 300 == 0) {
            track_push(&f.track, &f.terms, 0.1 * step - 0.05, 12);
            samples++;
        }
        clock_mark(&f.clock, 0.1 * step, step);
        track_mark(&f.track, &f.terms);
    }
    CHECK(samples < 40);
    struct answer a = answer(&f);
    CHECK(a.verdict == VERDICT_NO_LEAK);
    CHECK(!f.track.moves);
    /* Asking does not make the series move, and asking again changes nothing. */
    struct answer again = answer(&f);
    CHECK(again.verdict == VERDICT_NO_LEAK && !f.track.moves);
    track_push(&f.track, &f.terms, 601, 12);
    CHECK(!f.track.by_time && !f.track.by_step);
    track_release(&f.track);
}

TEST(track__what_stands_still_costs_no_engine)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 0; i < 100000; i++)
        track_push(&f.track, &f.terms, i * 0.01, 100 * MB + (i % 7) * 4096);
    CHECK(!f.track.moves && !f.track.by_time && !f.track.by_step);
    CHECK(f.track.early.count <= TRACK_POINTS);
    CHECK_NEAR(f.track.early.points[0].seconds, 0, 0);
    CHECK(f.track.early.points[f.track.early.count - 1].seconds > 900);
    CHECK_NEAR(f.track.max - f.track.min, 6 * 4096, 0);
    track_release(&f.track);
}

TEST(track__moves_when_it_leaves_where_it_began)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    track_push(&f.track, &f.terms, 1, 10 * MB);
    track_push(&f.track, &f.terms, 2, 10.4 * MB);
    CHECK(!f.track.moves);
    track_push(&f.track, &f.terms, 3, 10.6 * MB);
    CHECK(f.track.moves && f.track.by_time);
    track_release(&f.track);

    begin(&f, "fds", SERIES_COUNT, TRACK_JUDGED);
    track_push(&f.track, &f.terms, 1, 10);
    track_push(&f.track, &f.terms, 2, 11);
    CHECK(!f.track.moves);
    track_push(&f.track, &f.terms, 3, 12);
    CHECK(f.track.moves);
    track_release(&f.track);
}

/* Printed steps become known a little later than the samples taken meanwhile. */
TEST(track__a_sample_that_is_later_than_the_mark_waits_for_the_next)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 1; i <= 4; i++)
        make_step(&f, i, i * MB, (i + 1) * MB);
    track_push(&f.track, &f.terms, 0.45, 6 * MB);
    track_push(&f.track, &f.terms, 0.55, 7 * MB);
    clock_mark(&f.clock, 0.5, 5);
    track_mark(&f.track, &f.terms);
    CHECK(f.track.pending.count == 1);
    CHECK_NEAR(f.track.step_seconds, 0.45, 1e-9);
    clock_mark(&f.clock, 0.6, 6);
    track_mark(&f.track, &f.terms);
    CHECK(f.track.pending.count == 0);
    CHECK_NEAR(f.track.step_seconds, 0.55, 1e-9);
    track_release(&f.track);
}

TEST(track__what_is_shown_is_never_judged)
{
    struct fixture f;
    begin_anon(&f, TRACK_SHOWN);
    for (unsigned i = 1; i < 2000; i++)
        make_step(&f, i, i * MB, (i + 1) * MB);
    CHECK(!f.track.moves && !track_leaks(&f.track));
    CHECK_NEAR(f.track.last, 2000 * MB, 1);
    track_release(&f.track);
}

TEST(track__a_leak_is_one_on_the_step_clock)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 1; i <= 1000; i++)
        make_step(&f, i, 100 * MB + (i - 1) * 65536.0, 100 * MB + i * 65536.0);
    track_finish(&f.track);
    CHECK(track_clock(&f.track, &f.terms) == CLOCK_STEP);
    CHECK(track_leaks(&f.track) && track_is_wary(&f.track));
    struct answer a = answer(&f);
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(a.rate, 65536, 2000);
    track_release(&f.track);
}

TEST(track__a_flat_one_is_none)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 1; i <= 1000; i++)
        make_step(&f, i, 100 * MB + (i % 3) * MB, 100 * MB);
    track_finish(&f.track);
    CHECK(!track_leaks(&f.track));
    CHECK(answer(&f).verdict == VERDICT_NO_LEAK);
    track_release(&f.track);
}

TEST(track__without_steps_time_is_the_clock)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 0; i < 3000; i++)
        track_push(&f.track, &f.terms, i, 100 * MB + i * 65536.0);
    CHECK(track_clock(&f.track, &f.terms) == CLOCK_SECONDS);
    struct answer a = answer(&f);
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(a.rate, 65536, 2000);
    track_release(&f.track);
}

/* Samples from before the series moved, or before a step was reported, are not lost. */
TEST(track__early_samples_get_their_steps)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 1; i <= 20; i++)
        make_step(&f, i, 100 * MB, 100 * MB);
    CHECK(!f.track.moves);
    CHECK(track_clock(&f.track, &f.terms) == CLOCK_STEP);
    make_step(&f, 21, 100 * MB, 110 * MB);
    CHECK(f.track.moves && f.track.by_step);
    CHECK(track_clock(&f.track, &f.terms) == CLOCK_STEP);
    struct answer a;
    const struct history *h;
    track_answer(&f.track, &f.terms, &a, &h);
    CHECK(h && h->count >= 10);
    track_release(&f.track);
}

TEST(track__waits_for_marks_in_bounded_room)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    clock_mark(&f.clock, 0, 1);
    for (unsigned i = 0; i < 100000; i++)
        track_push(&f.track, &f.terms, i * 0.01, (i % 100) * MB);
    CHECK(f.track.pending.count <= TRACK_POINTS);
    clock_mark(&f.clock, 1000, 2);
    track_mark(&f.track, &f.terms);
    CHECK(f.track.pending.count == 0);
    CHECK(f.track.by_step);
    track_release(&f.track);
}

TEST(track__growth_of_a_counter_that_cannot_leak_is_no_leak)
{
    static const enum ledger_kind kinds[] = {LEDGER_FILE_PAGES, LEDGER_COPIED};
    static const enum pattern patterns[] = {PATTERN_PAGE_CACHE, PATTERN_COPY_ON_WRITE};
    for (unsigned k = 0; k < 2; k++) {
        struct fixture f;
        begin_anon(&f, TRACK_JUDGED);
        track_excuse(&f.track, kinds[k]);
        for (unsigned i = 1; i <= 1000; i++)
            make_step(&f, i, i * MB, (i + 1) * MB);
        track_finish(&f.track);
        CHECK(!track_leaks(&f.track) && !track_is_wary(&f.track));
        struct answer a = answer(&f);
        CHECK(a.verdict == VERDICT_NO_LEAK);
        CHECK(a.pattern == patterns[k]);
        CHECK(!a.suspect && a.reason_count == 1);
        track_release(&f.track);
    }
}

static struct answer grown_by(struct fixture *f, const struct ledger_judgement *j)
{
    begin_anon(f, TRACK_JUDGED);
    for (unsigned i = 1; i <= 1000; i++)
        make_step(f, i, i * MB, (i + 1) * MB);
    track_finish(&f->track);
    track_judge(&f->track, j);
    return answer(f);
}

/* The engine's judgement is kept and can be queried at any time. */
TEST(track__the_ledger_judges_what_the_engine_saw)
{
    static const struct ledger_judgement open = {
        .verdict = VERDICT_INCONCLUSIVE, .rule = RULE_TOO_SHORT, .value = 1, .bound = 3};
    struct fixture f;
    struct answer a = grown_by(&f, &open), plain;
    CHECK(a.verdict == VERDICT_INCONCLUSIVE && a.suspect && a.severity == SEVERITY_NONE);
    CHECK(isnan(a.alarm_at) && a.reasons[0].kind == REASON_UNEXPLAINED && a.reasons[0].value == 1);
    CHECK_NEAR(a.needs.at_least, 2 * a.horizon, 1);
    CHECK(!track_leaks(&f.track) && track_is_wary(&f.track));
    track_engine_answer(&f.track, &f.terms, &plain);
    CHECK(plain.verdict == VERDICT_LEAK && f.track.is_accounted);
    CHECK_NEAR(plain.rate, a.rate, 0);
    track_release(&f.track);
    a = grown_by(&f, NULL);
    CHECK(a.verdict == VERDICT_LEAK && track_leaks(&f.track));
    track_release(&f.track);
}

/* What must last three horizons has to grow for that long; the time after its end does not
 * count. */
TEST(track__growth_lasts_as_long_as_it_grows)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned i = 1; i <= 490; i++)
        make_step(&f, i, fmin(i - 1, 430) * MB, fmin(i, 430) * MB);
    struct answer a = answer(&f);
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(track_horizons(&f.track, &a), 430 / 150.0, 0.1);
    track_release(&f.track);
}

/* malloc's in-use bytes are reported only if a ledger names a leak by them. */
TEST(track__a_witness_speaks_where_the_ledger_says_leak)
{
    static const struct ledger_judgement leak = {.verdict = VERDICT_LEAK, .rule = RULE_ENDLESS};
    struct fixture f;
    grown_by(&f, NULL);
    f.track.use = TRACK_WITNESS;
    CHECK(track_is_silent(&f.track) && !track_leaks(&f.track) && track_is_wary(&f.track));
    track_judge(&f.track, &leak);
    CHECK(!track_is_silent(&f.track) && track_leaks(&f.track));
    track_release(&f.track);
}

/* What was announced was not too little, so the run file must record it. */
TEST(track__is_restored_as_announced)
{
    struct fixture f;
    enum ledger_kind kind;
    begin_anon(&f, TRACK_JUDGED);
    f.track.alarmed = true;
    const char *reading = track_reading(&f.track);
    CHECK(strcmp(reading, "announced") == 0);
    track_excuse(&f.track, LEDGER_HOLDER); /* withdraws the announcement */
    CHECK(strcmp(track_reading(&f.track), "filling") == 0);
    track_release(&f.track);
    begin_anon(&f, TRACK_SHOWN);
    track_restore(&f.track, reading);
    CHECK(f.track.use == TRACK_JUDGED && f.track.alarmed && !track_is_excused(&f.track, &kind));
    CHECK(track_reading(&f.track) == reading);
    track_release(&f.track);
}

/* As run files store it: what is read is what was written. */
TEST(track__is_restored_by_its_reading)
{
    for (enum ledger_kind kind = 0; kind < LEDGER_REST; kind++) {
        struct fixture f;
        enum ledger_kind restored = LEDGER_REST;
        begin_anon(&f, TRACK_JUDGED);
        track_excuse(&f.track, kind);
        const char *reading = track_reading(&f.track);
        track_judge(&f.track, NULL);
        f.track.use = TRACK_SHOWN;
        track_restore(&f.track, reading);
        CHECK(track_is_excused(&f.track, &restored) && restored == kind);
        CHECK(f.track.use == TRACK_JUDGED);
        track_restore(&f.track, "a word of tomorrow");
        CHECK(track_reading(&f.track) == reading);
        track_release(&f.track);
    }
}

TEST(track__a_restart_is_no_growth)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    double seconds = 0;
    for (unsigned run = 0; run < 2; run++) {
        for (unsigned i = 1; i <= 400; i++) {
            seconds += 0.1;
            track_push(&f.track, &f.terms, seconds - 0.05, 100 * MB + (i % 2) * MB);
            clock_mark(&f.clock, seconds, i);
            track_mark(&f.track, &f.terms);
        }
        if (run == 0)
            track_restart(&f.track);
    }
    track_finish(&f.track);
    CHECK(!track_leaks(&f.track));
    track_release(&f.track);
}

/* A counter that first moves in the third epoch: the epochs before it are known. */
TEST(track__that_moves_late_knows_the_epochs)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    for (unsigned step = 1; step <= 2400; step++) {
        make_step(&f, step, 100 * MB, 100 * MB);
        if (step % 800 == 0) {
            clock_end_epoch(&f.clock);
            track_epoch(&f.track, &f.terms);
        }
    }
    struct answer a = answer(&f);
    CHECK_NEAR(a.epoch_length, 800, 0);
    CHECK_NEAR(a.horizon, 800, 0);
    CHECK(a.verdict == VERDICT_NO_LEAK);
    track_release(&f.track);
}

/* A table that is enlarged splits its growth into phases. */
TEST(track__growth_is_that_of_all_its_phases_to_the_last)
{
    struct answer a;
    answer_clear(&a);
    a.rate = 0.1 * MB;
    a.onset_at = NAN;
    a.last_at = 600;
    a.phases[0] = (struct phase){.name = PHASE_WARM_UP, .to = 100, .level_to = 5 * MB};
    a.phases[1] = (struct phase){PHASE_GROWING, 100, 300, 5 * MB, 7 * MB, 0, 0, 0};
    a.phases[2] = (struct phase){PHASE_GROWING, 300, 580, 8 * MB, 11 * MB, 0, 0, 0};
    a.phases[3] = (struct phase){PHASE_GROWING, 580, 600, 12 * MB, 14 * MB, 0, 0, 0};
    a.phase_count = 4;
    CHECK(track_growing_since(&a) == &a.phases[1]);
    CHECK_NEAR(track_rise(&a), 9 * MB, 1);
    a.phases[2].name = PHASE_STABLE;
    CHECK_NEAR(track_rise(&a), 2 * MB, 1);
}

/* --horizon 1e40, and the same from a program that watches itself. */
TEST(track__takes_terms_beyond_all_bounds_for_never)
{
    struct fixture f;
    begin_anon(&f, TRACK_JUDGED);
    f.terms.horizon = f.terms.plan_steps = f.terms.plan_seconds = 1e40;
    f.terms.epoch = INFINITY;
    f.track.limit = INFINITY;
    for (unsigned step = 1; step <= 100; step++)
        make_step(&f, step, step * MB, (step + 1) * MB);
    CHECK(answer(&f).verdict == VERDICT_INCONCLUSIVE);
    track_release(&f.track);
}
