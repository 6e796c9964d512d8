/* report/batch.c: one line per series, for scoring many at once. */
#include "report/report.h"

#include <math.h>

/* Every line has every member: null where it is not known. */
static void number_or_null(struct json *j, const char *key, double value)
{
    if (isfinite(value))
        json_number(j, key, value);
    else
        json_null(j, key);
}

void report_batch(struct buf *out, const struct series_info *info, const struct answer *a)
{
    double unit = info->unit == SERIES_BYTES ? 0x1p20 : 1;
    struct json j;
    struct buf why = BUF_INIT;
    for (unsigned i = 0; i < a->why_count; i++)
        buf_addf(&why, "%s%s", i ? "; " : "", a->why[i]);

    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    json_string(&j, "id", info->name);
    json_string(&j, "verdict", verdict_name(a->verdict));
    json_string(&j, "pattern", pattern_name(a->pattern));
    number_or_null(&j, "rate", a->rate / unit);
    number_or_null(&j, "rate_low", a->rate_low / unit);
    number_or_null(&j, "rate_high", a->rate_high / unit);
    number_or_null(&j, "onset", a->onset_at);
    number_or_null(&j, "alarm_t", a->alarm_at);
    number_or_null(&j, "eta", a->forecast.limit_at - a->last_at);
    number_or_null(&j, "conf", a->confidence);
    json_string(&j, "why", buf_text(&why));
    json_object_end(&j);
    buf_addc(out, '\n');
    buf_release(&why);
}
