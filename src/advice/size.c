/* advice/size.c: how much memory a job takes, with the reasons. */
#include "advice/words.h"

#include <math.h>

#define MB (1024.0 * 1024)
#define GB (1024 * MB)

/* A reason for less than this is none. */
#define LEAST_BYTES MB

/* So many times the scatter of single samples is hardly ever passed. */
#define SCATTER_TIMES 3.0

static double present(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

/* By how much the floor is expected to be higher at the end of the plan than it is now. */
static double growth_to_plan(const struct answer *a)
{
    return present(a->forecast.plan_value - a->floor_last);
}

/* What a negligible leak adds where no plan says for how long; 0: it is none. */
static double growth_without_plan(const struct answer *a)
{
    bool is_negligible = a->verdict == VERDICT_LEAK && a->severity == SEVERITY_NEGLIGIBLE;
    if (!is_negligible || isfinite(a->forecast.plan_value))
        return 0;
    return present(SEVERITY_FUTURE * a->rate * (a->last_at - a->first_at));
}

static struct words position(const struct size_facts *f, double at)
{
    return words_of_position(at, f->answer->first_at, f->clock);
}

/* ---- the least ---- */

static void explain_peak(const struct size_facts *f, struct size *s)
{
    double own = f->peak - present(f->copied) - present(f->shared);
    if (isfinite(f->needed)) {
        texts_add(&s->minimum_why,
                  "%s: the most that tensors took at a time, and what the process has there beside "
                  "torch.",
                  words_of_bytes(f->needed).text);
        return;
    }
    texts_add(&s->minimum_why, "%s was the most in use at a time%s.", words_of_bytes(f->peak).text,
              isfinite(f->files) ? ", without pages of files" : "");
    if (present(f->copied) >= LEAST_BYTES)
        texts_add(&s->minimum_why, "Of that %s is copied by data workers, %s the job's own.",
                  words_of_bytes(f->copied).text, words_of_bytes(own).text);
    if (present(f->shared) >= LEAST_BYTES)
        texts_add(&s->minimum_why, "Of that %s lay in /dev/shm.", words_of_bytes(f->shared).text);
    if (present(f->unseen) >= LEAST_BYTES)
        texts_add(&s->minimum_why,
                  "%s more for a moment between two looks: the kernel's own mark of the highest.",
                  words_of_bytes(f->unseen).text);
}

static void add_plan(const struct size_facts *f, struct size *s)
{
    const struct answer *a = f->answer;
    double growth = growth_to_plan(a);
    if (growth < LEAST_BYTES)
        return;
    s->minimum += growth;
    texts_add(&s->minimum_why, "%s more by the end of the plan (%s): it grows %s.",
              words_of_bytes(growth).text, position(f, a->plan).text,
              words_of_rate(a->rate, f->clock).text);
}

/* "32.0 GB (RAM)". */
static struct words capacity_words(const struct size_facts *f)
{
    const char *source = f->capacity_source;
    return words_joined("%s%s%s%s", words_of_bytes(f->capacity).text, source ? " (" : "",
                        source ? source : "", source ? ")" : "");
}

/* "16,000 steps (2.9 min)", "2.9 min": at the pace of the run. */
static struct words length_words(const struct size_facts *f, double length)
{
    const struct answer *a = f->answer;
    double pace = (a->last_seconds - a->first_seconds) / (a->last_at - a->first_at);
    struct words said = words_of_length(length, f->clock);
    if (f->clock == CLOCK_SECONDS || !(pace > 0) || !isfinite(pace * length))
        return said;
    return words_joined("%s (%s)", said.text, words_of_duration(pace * length).text);
}

/* No size is enough for what never ends; but each lasts for a while. */
static void explain_leak(const struct size_facts *f, struct size *s)
{
    const struct answer *a = f->answer;
    s->minimum = s->recommended = NAN;
    texts_add(&s->minimum_why, "It grows %s without end: no size is enough, only for a while.",
              words_of_rate(a->rate, f->clock).text);
    if (isfinite(a->forecast.limit_at)) {
        s->grows_until = a->forecast.limit_at;
        texts_add(&s->minimum_why, "%s last until %s, about %s from the end of this run.",
                  capacity_words(f).text, position(f, s->grows_until).text,
                  length_words(f, fmax(0, s->grows_until - a->last_at)).text);
    }
    if (present(a->rate) > 0)
        texts_add(&s->minimum_why, "Each GB more lasts about %s.",
                  length_words(f, GB / a->rate).text);
    if (growth_to_plan(a) < LEAST_BYTES)
        return;
    s->for_plan = f->peak + growth_to_plan(a);
    texts_add(&s->minimum_why, "To the end of the plan (%s) it would take %s.",
              position(f, a->plan).text, words_of_bytes(s->for_plan).text);
}

/* ---- where nothing follows from the run ---- */

static void explain_failure(struct size *s)
{
    s->minimum = s->recommended = NAN;
    texts_add(&s->minimum_why, "The command failed: what it would have taken later is not known.");
}

static void explain_shortness(struct size *s)
{
    s->minimum = s->recommended = NAN;
    texts_add(&s->minimum_why, "The run does not show yet where that ends.");
}

/* ---- and more than that ---- */

static void add_margin(struct size *s, double bytes, const char *why)
{
    if (!(present(bytes) >= LEAST_BYTES))
        return;
    s->recommended += bytes;
    texts_add(&s->recommended_why, "%s %s", words_of_bytes(bytes).text, why);
}

/* The highest spike beyond the usual ones: the next may be as much higher again. */
static double spike_margin(const struct size_facts *f)
{
    const struct answer *a = f->answer;
    if (a->spikes.count < 2)
        return 0;
    return present(a->max - a->floor_last - a->spikes.height);
}

static void add_margins(const struct size_facts *f, struct size *s)
{
    const struct answer *a = f->answer;
    double spikes = spike_margin(f), scatter = SCATTER_TIMES * present(a->noise);
    if (spikes >= scatter)
        add_margin(s, spikes,
                   "by which its highest spike passed the usual ones: another may do so again.");
    else
        add_margin(s, scatter, "for the scatter of single moments, three times what was measured.");
    add_margin(s, a->forecast.plan_high - a->forecast.plan_value,
               growth_to_plan(a) >= LEAST_BYTES
                   ? "by which the growth to the end of the plan is uncertain."
                   : "that it may grow to the end of the plan without having been noticed so far.");
    add_margin(s, growth_without_plan(a),
               "that its negligible leak adds in a run 10 times as long.");
    add_margin(s, f->copies_to_come, "that data workers may still copy.");
    add_margin(
        s, f->files,
        "of mapped files, code and libraries: the kernel may take them back, and has to read "
        "them again.");
    if (isfinite(f->needed))
        add_margin(s, f->peak - f->needed, "that torch's allocator kept beyond what tensors took.");
}

static void compare_with_capacity(const struct size_facts *f, struct size *s)
{
    if (f->capacity > 0 && s->minimum > f->capacity)
        texts_add(&s->minimum_why, "That is %s more than there is: %s.",
                  words_of_bytes(s->minimum - f->capacity).text, capacity_words(f).text);
}

/* The least, and what to have beyond it. */
static void size_it(const struct size_facts *f, struct size *s)
{
    add_plan(f, s);
    s->recommended = s->minimum;
    add_margins(f, s);
    compare_with_capacity(f, s);
    if (s->recommended_why.count == 0)
        texts_add(&s->recommended_why, "Nothing in this run was seen to pass the minimum.");
}

void size_judge(const struct size_facts *f, struct size *ret)
{
    const struct answer *a = f->answer;
    *ret = (struct size){.verdict = a->verdict, .grows_until = NAN, .for_plan = NAN};
    ret->leaks = a->verdict == VERDICT_LEAK && a->severity != SEVERITY_NEGLIGIBLE;
    ret->settled = a->verdict == VERDICT_NO_LEAK && growth_to_plan(a) < LEAST_BYTES &&
                   present(f->copies_to_come) < LEAST_BYTES;
    ret->minimum = isfinite(f->needed) ? f->needed : f->peak;
    if (isnan(f->needed) && present(f->unseen) >= LEAST_BYTES)
        ret->minimum += f->unseen;
    explain_peak(f, ret);
    if (ret->leaks)
        explain_leak(f, ret);
    else if (f->failed)
        explain_failure(ret);
    else if (a->verdict == VERDICT_INCONCLUSIVE)
        explain_shortness(ret);
    else
        size_it(f, ret);
}
