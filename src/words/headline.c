/* words/headline.c: the verdict in one sentence. */
#include "words/headline.h"

#include "words/format.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The verb for a pattern of growth; counts are plural: "fds grow". */
static const char *growth_verb(enum pattern pattern, bool is_plural)
{
    switch (pattern) {
    case PATTERN_STAIRCASE:
        return is_plural ? "climb in steps, on average" : "climbs in steps, on average";
    case PATTERN_ACCELERATING:
        return is_plural ? "grow ever faster, now" : "grows ever faster, now";
    case PATTERN_SAWTOOTH:
        return is_plural ? "go up and down, and their floor grows"
                         : "goes up and down, and its floor grows";
    default:
        return is_plural ? "grow" : "grows";
    }
}

void headline_growth(struct buf *out, const struct report_series *s)
{
    buf_addf(out, "%s ", growth_verb(s->answer->pattern, s->info->unit == SERIES_COUNT));
    format_rate(out, s->answer->rate, s->info);
}

static void leak_sentence(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    double mean = answer_mean_rate(a);
    headline_growth(out, s);
    if (isfinite(mean)) {
        buf_adds(out, a->pattern == PATTERN_ACCELERATING ? ", " : " now, ");
        format_rate(out, mean, s->info);
        buf_adds(out, " on average");
    }
    if (isfinite(a->onset_at)) {
        buf_adds(out, " since ");
        format_position_words(out, a->onset_at, s);
    }
    if (isfinite(a->rate_per_epoch)) {
        buf_adds(out, ", ");
        series_add_value(out, a->rate_per_epoch, s->info->unit);
        buf_adds(out, " an epoch");
    }
    if (a->severity == SEVERITY_HIGH && isfinite(a->forecast.limit_at)) {
        buf_adds(out, "; reaches the limit of ");
        series_add_value(out, answer_limit(a), s->info->unit);
        buf_adds(out, " in about ");
        series_add_length(out, a->forecast.limit_at - a->last_at, true, s->info->clock);
    }
}

static bool is_growing(enum phase_name name)
{
    return name == PHASE_GROWING || name == PHASE_WARM_UP;
}

/* The pattern that explains the growth, and whether it is over. */
static void explained_clause(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    const struct phase *last = format_last_phase(a);
    bool goes_on = last && is_growing(last->name) && !isfinite(a->warm_up_end);
    if (a->pattern == PATTERN_BOUNDED_CACHE)
        buf_adds(out, goes_on ? "a bounded cache fills" : "a bounded cache filled");
    else
        buf_adds(out, pattern_name(a->pattern));
    if (isfinite(a->warm_up_end)) {
        buf_adds(out, " until ");
        format_position_words(out, a->warm_up_end, s);
    }
    buf_adds(out, goes_on ? ", " : ", then ");
}

/* What came before the present state, by pattern; present_clause() continues it. */
static void past_clause(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    switch (a->pattern) {
    case PATTERN_WARM_UP:
    case PATTERN_BOUNDED_CACHE:
    case PATTERN_COPY_ON_WRITE:
    case PATTERN_ALLOCATOR_RETENTION:
    case PATTERN_PAGE_CACHE:
        explained_clause(out, s);
        break;
    case PATTERN_SPIKES:
    case PATTERN_SAWTOOTH:
        buf_adds(out, a->pattern == PATTERN_SPIKES ? "spikes up to " : "rises and falls, up to ");
        series_add_value(out, a->max, s->info->unit);
        buf_adds(out, ", floor ");
        break;
    case PATTERN_LEVEL_SHIFT:
        buf_adds(out, "moved to another level, then ");
        break;
    default:
        break;
    }
}

/* The last phase: "flat at 16.6 GB". */
static void present_clause(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    const struct phase *last = format_last_phase(a);
    enum phase_name name = last ? last->name : PHASE_STABLE;

    if (name == PHASE_SHRINKING) {
        buf_adds(out, "falling, ");
        series_add_value(out, a->floor_last, s->info->unit);
        buf_adds(out, " at the end");
        return;
    }
    if (last && is_growing(name)) {
        buf_adds(out, "growing ");
        format_rate(out, last->rate, s->info);
        buf_adds(out, " at ");
    } else {
        buf_adds(out, "flat at ");
    }
    series_add_value(out, a->floor_last, s->info->unit);
}

void headline_state(struct buf *out, const struct report_series *s)
{
    past_clause(out, s);
    present_clause(out, s);
}

static void no_leak_sentence(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    headline_state(out, s);

    const struct phase *last = format_last_phase(a);
    bool bound = isfinite(a->rate_upper) && a->rate_upper > 0;
    if (!bound && !isfinite(a->plan))
        return;
    buf_adds(out, " (");
    if (bound) {
        buf_adds(out, last && last->name == PHASE_SHRINKING ? "growth at most " : "at most ");
        format_rate(out, a->rate_upper, s->info);
    }
    if (isfinite(a->plan)) {
        buf_adds(out, bound ? "; holds up to " : "holds up to ");
        format_position_words(out, a->plan, s);
    }
    buf_addc(out, ')');
}

void headline_clause(struct buf *out, const char *sentence)
{
    size_t len = strlen(sentence);
    while (len > 0 && (sentence[len - 1] == '.' || sentence[len - 1] == ' '))
        len--;
    /* An abbreviation or a name keeps its capitals. */
    bool word =
        len > 1 && isupper((unsigned char) sentence[0]) && !isupper((unsigned char) sentence[1]);
    buf_addc(out, word ? (char) tolower((unsigned char) sentence[0]) : sentence[0]);
    buf_add(out, sentence + 1, len - 1);
}

static bool still_grows(const struct answer *a)
{
    const struct phase *last = format_last_phase(a);
    return last && last->rate > 0 && is_growing(last->name);
}

static void still_growing_clause(struct buf *out, const struct report_series *s)
{
    const struct phase *last = format_last_phase(s->answer);
    buf_adds(out, "still growing ");
    format_rate(out, last->rate, s->info);
    buf_adds(out, " after ");
    series_add_length(out, last->to - last->from, false, s->info->clock);
}

void headline_so_far(struct buf *out, const struct report_series *s)
{
    if (still_grows(s->answer))
        still_growing_clause(out, s);
    else
        buf_adds(out, s->answer->suspect ? "it grew; too early to say whether it goes on"
                                         : "not enough data yet");
}

static void inconclusive_sentence(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (still_grows(a)) {
        still_growing_clause(out, s);
    } else if (a->needs.why[0]) {
        headline_clause(out, a->needs.why);
    } else {
        buf_adds(out, "too few samples to judge: ");
        units_add_count(out, (double) a->samples, 0);
        buf_adds(out, a->samples == 1 ? " sample over " : " samples over ");
        series_add_length(out, a->last_at - a->first_at, false, s->info->clock);
    }
    if (isfinite(a->needs.at_least) && a->needs.at_least > 0) {
        buf_adds(out, "; ");
        format_more(out, a->needs.at_least, s->info->clock);
        buf_adds(out, " would settle it");
    }
}

void headline_series(struct buf *out, const struct report_series *s)
{
    if (s->answer->verdict == VERDICT_LEAK)
        leak_sentence(out, s);
    else if (s->answer->verdict == VERDICT_NO_LEAK)
        no_leak_sentence(out, s);
    else
        inconclusive_sentence(out, s);
}

/* The name of the deciding series, if the sentence needs one. */
static void add_subject(struct buf *out, const struct report_job *job,
                        const struct report_series *s, const struct report_style *style)
{
    if (job->count == 1 && job->answer->verdict != VERDICT_LEAK)
        return;
    utf8_add_clean(out, job->count == 1 ? format_label(s->info) : s->info->name, style->ascii);
    buf_addc(out, job->answer->verdict == VERDICT_LEAK ? ' ' : ':');
    if (job->answer->verdict != VERDICT_LEAK)
        buf_addc(out, ' ');
}

/* "none of 5 series leaks; 1 is too short or too unsteady to tell"; a watched job puts its deciding
 * series first. */
static void no_leak_job(struct buf *out, const struct report_job *job,
                        const struct report_style *style)
{
    if (job->watched && job->answer->deciding < job->count) {
        const struct report_series *s = &job->series[job->answer->deciding];
        add_subject(out, job, s, style);
        headline_series(out, s);
        buf_adds(out, "; ");
    }
    buf_addf(out, "none of %zu series leaks", job->count);
    unsigned open = job->answer->inconclusives;
    if (open > 0)
        buf_addf(out, "; %u %s too short or too unsteady to tell", open, open == 1 ? "is" : "are");
}

/* "; 2 of 5 series leak". */
static void count_alike(struct buf *out, const struct report_job *job)
{
    bool leak = job->answer->verdict == VERDICT_LEAK;
    unsigned alike = leak ? job->answer->leaks : job->answer->inconclusives;
    buf_addf(out, "; %u of %zu series ", alike, job->count);
    if (leak)
        buf_adds(out, alike == 1 ? "leaks" : "leak");
    else
        buf_addf(out, "%s inconclusive", alike == 1 ? "is" : "are");
}

void headline_nothing(struct buf *out, const struct report_job *job)
{
    if (job->unread)
        buf_addf(out, "the job's memory could not be read: %s", job->unread);
    else
        buf_adds(out,
                 job->watched ? "the job ended before its memory could be sampled" : "no series");
}

void headline_job(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    const struct job_answer *answer = job->answer;
    format_verdict(out, answer->verdict, answer->severity, style);
    buf_adds(out, ": ");
    if (job->count > 1 && answer->verdict == VERDICT_NO_LEAK) {
        no_leak_job(out, job, style);
        return;
    }
    if (answer->deciding >= job->count) {
        headline_nothing(out, job);
        return;
    }
    const struct report_series *deciding = &job->series[answer->deciding];
    add_subject(out, job, deciding, style);
    headline_series(out, deciding);
    if (job->count > 1)
        count_alike(out, job);
}
