/* report/why.c: how a verdict comes about: the engine, the parts, the rule. The sentences are in
 * words/account.c. */
#include "judge/judge.h"
#include "report/report.h"
#include "report/table.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

#define PARTS_INDENT 12u

/* ---- the engine ---- */

static void add_engine(struct buf *out, const struct account *a, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, account_engine(a->evidence.engine));
    if (a->evidence.engine != ENGINE_NO_GROWTH && isfinite(a->engine.rate_per_second)) {
        buf_adds(&text, ", ");
        units_add_bytes(&text, a->engine.rate_per_second * 60);
        buf_addf(&text, "/min, for %.1f horizons", a->evidence.horizons);
    }
    if (a->is_by_heap)
        buf_adds(&text, "; by malloc's in-use bytes: the process itself does not grow");
    text_fact(out, "engine", &text, style);
}

static void add_growth(struct buf *out, const struct account *a, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    units_add_bytes(&text, a->ledger.growth);
    buf_adds(&text, " between ");
    units_add_short_time(&text, a->from);
    buf_adds(&text, " and ");
    units_add_short_time(&text, a->to);
    buf_adds(&text, " of the run");
    if (a->ledger.total > a->ledger.growth) {
        buf_adds(&text, ", and ");
        units_add_bytes(&text, a->ledger.total - fmax(a->ledger.growth, 0));
        buf_adds(&text, " that filled free heap memory");
    }
    text_fact(out, "growth", &text, style);
}

/* ---- the parts ---- */

static void name_part(struct buf *out, const struct account *a, const struct ledger_part *p)
{
    account_add_part(out, p, p->kind == LEDGER_HOLDER ? a->growing[p->source] : NULL,
                     p->kind == LEDGER_SITE ? a->traced.lines[p->source].site : NULL,
                     a->ledger.rest);
}

static void add_parts(struct buf *out, const struct account *a)
{
    struct table t = TABLE_INIT(3);
    for (unsigned i = 0; i < a->ledger.count; i++) {
        const struct ledger_part *p = &a->ledger.parts[i];
        name_part(&t.cell, a, p);
        table_end_cell(&t);
        account_add_interval(&t.cell, p->bytes);
        table_end_cell(&t);
        buf_adds(&t.cell, fate_name(p->fate));
        if (p->to_come.high > 0) {
            buf_adds(&t.cell, ", to come: ");
            account_add_interval(&t.cell, p->to_come);
        }
        table_end_cell(&t);
    }
    table_render(&t, out, PARTS_INDENT);
}

/* ---- the rule ---- */

static void add_rule(struct buf *out, const struct account *a, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    account_add_rule(&text, &a->judgement);
    text_fact(out, "ledger", &text, style);
}

static void add_needs(struct buf *out, const struct account *a, const struct report_style *style)
{
    const struct ledger_judgement *j = &a->judgement;
    struct buf text = BUF_INIT, widest = BUF_INIT;
    if (j->widest != SIZE_MAX)
        name_part(&widest, a, &a->ledger.parts[j->widest]);
    account_add_needs(&text, j, a->evidence.is_censused, widest.len > 0 ? buf_text(&widest) : NULL);
    text_fact(out, "open", &text, style);
    buf_release(&widest);
}

void report_why(struct buf *out, const char *series, const struct answer *answer,
                const struct account *a, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_addf(out, "%s\n", series);
    account_add_verdict(&text, answer->verdict);
    if (answer->why_count > 0)
        buf_addf(&text, ": %s", answer->why[0]);
    text_fact(out, "report", &text, style);
    add_engine(out, a, style);
    add_growth(out, a, style);
    add_parts(out, a);
    struct buf endless = BUF_INIT;
    account_add_interval(&endless, a->ledger.endless);
    text_fact(out, "endless", &endless, style);
    add_rule(out, a, style);
    add_needs(out, a, style);
    if (answer->verdict != a->judgement.verdict) {
        struct buf differs = BUF_INIT;
        buf_adds(&differs, account_difference(a->is_by_heap));
        text_fact(out, "note", &differs, style);
    }
}

/* ---- for programs ---- */

static void json_interval(struct json *j, const char *key, struct interval x)
{
    json_object_begin(j, key);
    json_number(j, "low", x.low);
    json_number(j, "high", x.high);
    json_object_end(j);
}

static void json_part(struct json *j, const struct account *a, const struct ledger_part *p)
{
    struct buf name = BUF_INIT;
    name_part(&name, a, p);
    json_object_begin(j, NULL);
    json_string(j, "what", buf_text(&name));
    json_string(j, "fate", fate_name(p->fate));
    json_interval(j, "bytes", p->bytes);
    json_interval(j, "to_come", p->to_come);
    json_object_end(j);
    buf_release(&name);
}

void report_why_json(struct json *j, const char *series, const struct answer *answer,
                     const struct account *a)
{
    json_object_begin(j, NULL);
    json_string(j, "series", series);
    json_string(j, "verdict", verdict_name(answer->verdict));
    json_object_begin(j, "ledger");
    json_string(j, "verdict", verdict_name(a->judgement.verdict));
    json_number(j, "growth", a->ledger.growth);
    json_number(j, "from", a->from);
    json_number(j, "to", a->to);
    json_number(j, "horizons", a->evidence.horizons);
    json_interval(j, "endless", a->ledger.endless);
    json_array_begin(j, "parts");
    for (unsigned i = 0; i < a->ledger.count; i++)
        json_part(j, a, &a->ledger.parts[i]);
    json_array_end(j);
    json_object_end(j);
    json_object_end(j);
}
