/* words/details.c: the facts beside one series in a full report, and its forecast. */
#include "words/details.h"

#include "words/format.h"

#include <math.h>
#include <string.h>

void details_levels(struct buf *out, const struct report_series *s,
                    const struct report_style *style)
{
    const struct answer *a = s->answer;
    buf_adds(out, "min ");
    series_add_value(out, a->min, s->info->unit);
    buf_adds(out, ", mean ");
    series_add_value(out, a->mean, s->info->unit);
    buf_adds(out, ", max ");
    series_add_value(out, a->max, s->info->unit);
    buf_adds(out, "; floor ");
    format_change(out, a->floor_first, a->floor_last, s->info->unit, style);
}

void details_spikes(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->spikes.count == 0)
        return;
    units_add_count(out, a->spikes.count, 0);
    buf_addf(out, ", %s", a->spikes.count == 1 ? "" : "typically ");
    series_add_value(out, a->spikes.height, s->info->unit);
    buf_addf(out, " above the floor; %s",
             a->spikes.recovered ? "each came down again" : "the last has not come down yet");
}

void details_alarm(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (isfinite(a->alarm_at)) {
        buf_adds(out, a->verdict == VERDICT_LEAK ? "first called a leak at "
                                                 : "called a leak for a while, from ");
        format_position_words(out, a->alarm_at, s);
    } else if (a->suspect) {
        buf_adds(out, "growing, but not yet for long enough to be judged");
        if (isfinite(a->suspect_at)) {
            buf_adds(out, "; noticed at ");
            format_position_words(out, a->suspect_at, s);
        }
    }
}

void details_naive(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (!a->naive.misleads)
        return;
    buf_addf(out, "averaged over all %s this looks like ",
             s->info->clock == CLOCK_STEP ? "steps" : "the time");
    format_rate(out, a->naive.rate, s->info);
    if (isfinite(a->naive.warm_up_share))
        buf_addf(out, "; %.0f %% of the growth was warm-up", 100 * a->naive.warm_up_share);
}

/* Whether the answer's reasons already have this sentence. */
static bool is_reason(const struct answer *a, const char *sentence)
{
    for (unsigned i = 0; i < a->why_count; i++) {
        if (strcmp(a->why[i], sentence) == 0)
            return true;
    }
    return false;
}

void details_needs(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->verdict != VERDICT_INCONCLUSIVE)
        return;
    if (isfinite(a->needs.at_least) && a->needs.at_least > 0) {
        format_more(out, a->needs.at_least, s->info->clock);
        if (s->info->clock == CLOCK_STEP && isfinite(a->needs.seconds)) {
            buf_adds(out, " (");
            units_add_duration(out, a->needs.seconds);
            buf_addc(out, ')');
        }
    }
    if (a->needs.why[0] && !is_reason(a, a->needs.why))
        buf_addf(out, "%s%s", out->len > 0 ? ": " : "", a->needs.why);
}

/* ---- the forecast ---- */

void details_plan(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (!isfinite(a->plan) || !isfinite(a->forecast.plan_value))
        return;
    buf_adds(out, "about ");
    series_add_value(out, a->forecast.plan_value, s->info->unit);
    format_bounds(out, a->forecast.plan_value, a->forecast.plan_low, a->forecast.plan_high,
                  s->info->unit);
    buf_adds(out, " at the plan's end, ");
    format_position_words(out, a->plan, s);
}

/* The interval counts from the last sample: a position would look too precise. */
static void add_limit_bounds(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    double low = a->forecast.limit_low - a->last_at, high = a->forecast.limit_high - a->last_at;
    if (isnan(low) || isnan(high))
        return;
    struct buf first = BUF_INIT, last = BUF_INIT;
    series_add_length(&first, low, true, s->info->clock);
    if (isfinite(high))
        series_add_length(&last, high, true, s->info->clock);
    if (last.len == 0) {
        buf_addf(out, " (%s or more)", buf_text(&first));
    } else if (strcmp(buf_text(&first), buf_text(&last)) != 0) {
        buf_adds(out, " (");
        format_range(out, buf_text(&first), buf_text(&last), "to");
        buf_addc(out, ')');
    }
    buf_release(&first);
    buf_release(&last);
}

void details_limit(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    double at = a->forecast.limit_at;
    if (isnan(at) && a->floor_last >= a->limit) {
        buf_adds(out, "is already above the limit of ");
        series_add_value(out, answer_limit(a), s->info->unit);
    }
    if (!isfinite(a->limit) || isnan(at))
        return;
    if (!isfinite(at)) {
        buf_adds(out, "does not reach the limit of ");
        series_add_value(out, answer_limit(a), s->info->unit);
        buf_adds(out, isfinite(a->forecast.plan_value) ? " by then" : "");
        return;
    }
    buf_adds(out, "reaches the limit of ");
    series_add_value(out, answer_limit(a), s->info->unit);
    buf_adds(out, " in about ");
    series_add_length(out, at - a->last_at, true, s->info->clock);
    add_limit_bounds(out, s);
    if (s->info->clock == CLOCK_STEP && isfinite(a->forecast.limit_seconds)) {
        buf_adds(out, ", ");
        units_add_duration(out, a->forecast.limit_seconds);
        buf_adds(out, " from the end");
    }
}

void details_pace(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->verdict != VERDICT_LEAK || !(a->rate > 0))
        return;
    bool bytes = s->info->unit == SERIES_BYTES;
    double amount = bytes ? 1024.0 * 1024 * 1024 : 10000;
    buf_addf(out, "%s more takes about ", bytes ? "1 GB" : "10,000");
    series_add_length(out, amount / a->rate, true, s->info->clock);
    if (s->info->clock == CLOCK_STEP && a->rate_per_second > 0) {
        buf_adds(out, ", ");
        units_add_duration(out, amount / a->rate_per_second);
    }
}
