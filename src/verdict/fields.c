/* verdict/fields.c: the members of an answer, listed once. */
#include "verdict/verdict.h"

static const char *verdict_word(unsigned verdict)
{
    return verdict <= VERDICT_LEAK ? verdict_name((enum verdict) verdict) : NULL;
}

static const char *severity_word(unsigned severity)
{
    return severity <= SEVERITY_HIGH ? severity_name((enum severity) severity) : NULL;
}

const char *pattern_word(unsigned pattern)
{
    return pattern <= PATTERN_ACCELERATING ? pattern_name((enum pattern) pattern) : NULL;
}

static const char *phase_word(unsigned name)
{
    return name <= PHASE_LEVEL_SHIFT ? phase_name((enum phase_name) name) : NULL;
}

static const struct field_entry phase_list[] = {
    FIELD_PLAIN(phase, from),
    FIELD_PLAIN(phase, to),
    FIELD_AS(phase, name, .type = FIELD_WORD, .word = phase_word),
    FIELD_PLAIN(phase, rate),
    FIELD_PLAIN(phase, rate_low),
    FIELD_PLAIN(phase, rate_high),
    FIELD_PLAIN(phase, level_from),
    FIELD_PLAIN(phase, level_to),
};
static const struct field_table phase_fields = FIELDS(phase, phase_list);

static const struct field_entry forecast_list[] = {
    FIELD_PLAIN(answer_forecast, limit_at, .shown = "limit_step",
                .flags = FIELD_ON_STEPS | FIELD_ENDLESS),
    FIELD_PLAIN(answer_forecast, limit_seconds, .flags = FIELD_ENDLESS),
    FIELD_PLAIN(answer_forecast, limit_low, .shown = "low", .flags = FIELD_ENDLESS),
    FIELD_PLAIN(answer_forecast, limit_high, .shown = "high", .flags = FIELD_ENDLESS),
    FIELD_PLAIN(answer_forecast, plan_value),
    FIELD_PLAIN(answer_forecast, plan_low),
    FIELD_PLAIN(answer_forecast, plan_high),
};
const struct field_table answer_forecast_fields = FIELDS(answer_forecast, forecast_list);

static const struct field_entry needs_list[] = {
    FIELD_PLAIN(answer_needs, at_least, .shown = "steps", .flags = FIELD_ON_STEPS),
    FIELD_PLAIN(answer_needs, seconds),
    FIELD_AS(answer_needs, is_first_reason, .type = FIELD_NOT_KEPT),
    FIELD_AS(answer_needs, why, .type = FIELD_LINE),
};
const struct field_table answer_needs_fields = FIELDS(answer_needs, needs_list);

static const struct field_entry naive_list[] = {
    FIELD_PLAIN(answer_naive, misleads),
    FIELD_PLAIN(answer_naive, rate),
    FIELD_PLAIN(answer_naive, warm_up_share),
};
static const struct field_table naive_fields = FIELDS(answer_naive, naive_list);

static const struct field_entry activity_list[] = {
    FIELD_AS(spike_activity, name, .type = FIELD_LINE),
    FIELD_PLAIN(spike_activity, count),
};
static const struct field_table activity_fields = FIELDS(spike_activity, activity_list);

static const struct field_entry spikes_list[] = {
    FIELD_PLAIN(answer_spikes, count),
    FIELD_PLAIN(answer_spikes, height, FIELD_ONLY_IF(answer_spikes, count)),
    FIELD_PLAIN(answer_spikes, recovered, FIELD_ONLY_IF(answer_spikes, count)),
    FIELD_SEVERAL(answer_spikes, during, during_count, .type = FIELD_STRUCT,
                  .of = &activity_fields),
};
static const struct field_table spikes_fields = FIELDS(answer_spikes, spikes_list);

/* In the order in which they are shown. */
static const struct field_entry answer_list[] = {
    FIELD_AS(answer, verdict, .type = FIELD_WORD, .word = verdict_word),
    FIELD_AS(answer, pattern, .type = FIELD_WORD, .word = pattern_word),
    FIELD_AS(answer, severity, .type = FIELD_WORD, .word = severity_word,
             FIELD_ONLY_IF(answer, severity)),
    FIELD_PLAIN(answer, suspect),
    FIELD_PLAIN(answer, suspect_at, .shown = "suspect", .flags = FIELD_BY_CLOCK),
    FIELD_PLAIN(answer, alarm_at, .shown = "alarm", .flags = FIELD_BY_CLOCK),
    FIELD_PLAIN(answer, onset_at, .shown = "onset_step", .flags = FIELD_ON_STEPS),
    FIELD_PLAIN(answer, onset_seconds),
    FIELD_PLAIN(answer, warm_up_end, .flags = FIELD_BY_CLOCK),
    FIELD_PLAIN(answer, rate),
    FIELD_PLAIN(answer, rate_low),
    FIELD_PLAIN(answer, rate_high),
    FIELD_PLAIN(answer, rate_upper),
    FIELD_PLAIN(answer, rate_per_step),
    FIELD_PLAIN(answer, rate_per_epoch),
    FIELD_PLAIN(answer, rate_per_second),
    FIELD_PLAIN(answer, confidence),
    FIELD_PLAIN(answer, min),
    FIELD_PLAIN(answer, max),
    FIELD_PLAIN(answer, mean),
    FIELD_PLAIN(answer, last),
    FIELD_PLAIN(answer, floor_first),
    FIELD_PLAIN(answer, floor_last),
    FIELD_PLAIN(answer, noise),
    FIELD_PLAIN(answer, limit),
    FIELD_PLAIN(answer, samples),
    FIELD_PLAIN(answer, refused),
    FIELD_PLAIN(answer, restarts),
    FIELD_PLAIN(answer, first_at, .shown = "first_step", .flags = FIELD_ON_STEPS),
    FIELD_PLAIN(answer, last_at, .shown = "last_step", .flags = FIELD_ON_STEPS),
    FIELD_PLAIN(answer, first_seconds),
    FIELD_PLAIN(answer, last_seconds),
    FIELD_PLAIN(answer, epoch_length),
    FIELD_PLAIN(answer, horizon),
    FIELD_PLAIN(answer, plan),
    FIELD_PLAIN(answer, limit_shared, .flags = FIELD_HIDDEN),
    FIELD_SEVERAL(answer, phases, phase_count, .type = FIELD_STRUCT, .of = &phase_fields,
                  .flags = FIELD_EVEN_EMPTY),
    FIELD_INSIDE(answer, forecast, answer_forecast_fields),
    FIELD_INSIDE(answer, needs, answer_needs_fields),
    FIELD_INSIDE(answer, naive, naive_fields),
    FIELD_INSIDE(answer, spikes, spikes_fields),
    FIELD_SEVERAL(answer, reasons, reason_count, .type = FIELD_NOT_KEPT),
    FIELD_SEVERAL(answer, why, why_count, .type = FIELD_LINE, .flags = FIELD_EVEN_EMPTY),
    FIELD_PLAIN(answer, warm_up_epochs, .flags = FIELD_HIDDEN),
};
const struct field_table answer_fields = FIELDS(answer, answer_list);

void answer_clear(struct answer *a)
{
    fields_clear(&answer_fields, a);
}

void answer_add_reason(struct answer *a, struct reason reason)
{
    if (a->reason_count < ANSWER_WHY)
        a->reasons[a->reason_count++] = reason;
}

static const struct field_entry job_list[] = {
    FIELD_AS(job_answer, verdict, .type = FIELD_WORD, .word = verdict_word),
    FIELD_AS(job_answer, severity, .type = FIELD_WORD, .word = severity_word),
    FIELD_PLAIN(job_answer, deciding, .flags = FIELD_OR_NONE),
    FIELD_PLAIN(job_answer, leaks),
    FIELD_PLAIN(job_answer, inconclusives),
    FIELD_PLAIN(job_answer, no_leaks),
};
const struct field_table job_answer_fields = FIELDS(job_answer, job_list);
