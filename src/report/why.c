/* report/why.c: how a judgement comes about: what the engine saw, the parts, the rule. */
#include "judge/judge.h"
#include "report/report.h"
#include "report/table.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

#define PARTS_INDENT 12u

static void add_interval(struct buf *out, struct interval x)
{
    struct buf low = BUF_INIT, high = BUF_INIT;
    units_add_bytes(&low, x.low);
    if (isinf(x.high))
        buf_adds(&high, "not known");
    else
        units_add_bytes(&high, x.high);
    buf_adds(out, buf_text(&low));
    if (strcmp(buf_text(&low), buf_text(&high)) != 0)
        buf_addf(out, " to %s", buf_text(&high));
    buf_release(&low);
    buf_release(&high);
}

/* As people read it: "no leak". */
static void add_verdict(struct buf *out, enum verdict verdict)
{
    for (const char *s = verdict_name(verdict); *s; s++)
        buf_addc(out, *s == '_' ? ' ' : *s);
}

/* ---- the engine ---- */

static void add_engine(struct buf *out, const struct account *a, const struct report_style *style)
{
    static const char *const words[] = {
        [ENGINE_NO_GROWTH] = "no growth",
        [ENGINE_OPEN] = "cannot tell yet",
        [ENGINE_LASTING] = "lasting growth",
    };
    struct buf text = BUF_INIT;
    buf_adds(&text, words[a->evidence.engine]);
    if (a->evidence.engine != ENGINE_NO_GROWTH && isfinite(a->engine.rate_per_second)) {
        buf_adds(&text, ", ");
        units_add_bytes(&text, a->engine.rate_per_second * 60);
        buf_addf(&text, "/min, for %.1f horizons", a->evidence.horizons);
    }
    if (a->is_by_heap)
        buf_adds(&text, "; by malloc's in-use bytes, the process itself does not grow");
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

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "list 'losses' (train.py:7)". */
static void name_holder(struct buf *out, const struct wire_census_growing *g)
{
    struct buf name = BUF_INIT;
    const struct wire_census_holder *h = g->holder_count > 0 ? &g->holders[0] : NULL;
    bool are_many = g->form == WIRE_CENSUS_OBJECTS || g->form == WIRE_CENSUS_TENSORS;
    if (are_many && g->item_depth > 0)
        finding_words_add_item(&name, g);
    else
        buf_adds(&name, g->what.type);
    if (h)
        buf_addf(&name, " '%s'", h->path[0] ? h->path : wire_holder_kind_name(h->kind));
    if (h && h->file[0])
        buf_addf(&name, " (%s:%d)", last_part(h->file), g->addition > 0 ? g->addition : h->line);
    utf8_add_clean(out, buf_text(&name), false);
    buf_release(&name);
}

static void name_part(struct buf *out, const struct account *a, const struct ledger_part *p)
{
    static const char *const rests[] = {
        [REST_NOT_EXAMINED] = "not examined: no complete census",
        [REST_NOT_FOUND] = "not found by the censuses",
        [REST_NATIVE] = "native: malloc gave it out, no object has it",
    };
    switch (p->kind) {
    case LEDGER_HOLDER:
        name_holder(out, a->growing[p->source]);
        break;
    case LEDGER_FREE_HEAP:
        buf_adds(out, "free heap memory (malloc's count)");
        break;
    case LEDGER_FREE_ARENAS:
        buf_adds(out, "free memory in Python's arenas");
        break;
    case LEDGER_FIRST_TOUCH:
        buf_adds(out, "pages used for the first time");
        break;
    case LEDGER_FILE_PAGES:
        buf_adds(out, "pages of files");
        break;
    case LEDGER_COPIED:
        buf_adds(out, "pages copied since the fork");
        break;
    case LEDGER_RESERVED:
        buf_adds(out, "memory that torch's allocator keeps");
        break;
    case LEDGER_OTHERS:
        buf_adds(out, "shared memory of other jobs");
        break;
    case LEDGER_KINDS:
    case LEDGER_REST:
        buf_adds(out, rests[a->ledger.rest]);
        break;
    }
}

static void add_parts(struct buf *out, const struct account *a)
{
    struct table t = TABLE_INIT(3);
    for (unsigned i = 0; i < a->ledger.count; i++) {
        const struct ledger_part *p = &a->ledger.parts[i];
        name_part(&t.cell, a, p);
        table_end_cell(&t);
        add_interval(&t.cell, p->bytes);
        table_end_cell(&t);
        buf_adds(&t.cell, fate_name(p->fate));
        if (p->to_come.high > 0) {
            buf_adds(&t.cell, ", to come: ");
            add_interval(&t.cell, p->to_come);
        }
        table_end_cell(&t);
    }
    table_render(&t, out, PARTS_INDENT);
}

/* ---- the rule ---- */

static void add_rule(struct buf *out, const struct account *a, const struct report_style *style)
{
    const struct ledger_judgement *j = &a->judgement;
    struct buf text = BUF_INIT, value = BUF_INIT, bound = BUF_INIT;
    units_add_bytes(&value, j->value);
    units_add_bytes(&bound, j->bound);
    add_verdict(&text, j->verdict);
    buf_adds(&text, ": ");
    switch (j->rule) {
    case RULE_NO_GROWTH:
        buf_adds(&text, "the engine sees no lasting growth");
        break;
    case RULE_EXPLAINED:
        buf_addf(&text, "all but %s ends or is free, and up to %s may be left open",
                 buf_text(&value), buf_text(&bound));
        break;
    case RULE_SMALL:
        buf_addf(&text, "up to %s may be endless, and less than %s is none", buf_text(&value),
                 buf_text(&bound));
        break;
    case RULE_DOES_NOT_FIT:
        buf_addf(&text, "it ends, but at up to %s, and the limit is %s", buf_text(&value),
                 buf_text(&bound));
        break;
    case RULE_ENDLESS:
        buf_addf(&text, "at least %s is endless; more than %s is a leak", buf_text(&value),
                 buf_text(&bound));
        break;
    case RULE_PINNED:
        buf_addf(&text, "%s is endless or free between what is kept; more than %s is a leak",
                 buf_text(&value), buf_text(&bound));
        break;
    case RULE_LASTING:
        buf_addf(&text, "nothing explains it, and it has lasted %.1f horizons", j->value);
        if (j->bound > 0)
            buf_addf(&text, "; %.0f are required", j->bound);
        break;
    case RULE_OPEN:
        buf_addf(&text,
                 "the engine cannot tell yet whether it lasts, and up to %s may be endless; up to "
                 "%s may be left open",
                 buf_text(&value), buf_text(&bound));
        break;
    case RULE_LITTLE:
        buf_addf(&text, "nothing explains it, and libraries keep as much: %s of %s",
                 buf_text(&value), buf_text(&bound));
        break;
    case RULE_TOO_SHORT:
        buf_addf(&text, "it has lasted %.1f horizons; %.0f %s required", j->value, j->bound,
                 j->bound > 1 ? "are" : "is");
        break;
    case RULE_TOO_WIDE:
        buf_addf(&text, "at least %s is endless, and more than %s would be a leak",
                 buf_text(&value), buf_text(&bound));
        break;
    }
    text_fact(out, "ledger", &text, style);
    buf_release(&value);
    buf_release(&bound);
}

/* What would settle it. */
static void add_change(struct buf *out, const struct account *a, const struct report_style *style)
{
    const struct ledger_judgement *j = &a->judgement;
    struct buf text = BUF_INIT;
    if (j->verdict != VERDICT_INCONCLUSIVE)
        return;
    if (!a->evidence.is_censused)
        buf_adds(&text, "a complete census of its objects would narrow it most");
    else if ((j->rule == RULE_TOO_WIDE || j->rule == RULE_OPEN) && j->widest != SIZE_MAX) {
        buf_adds(&text, "the widest interval is that of: ");
        name_part(&text, a, &a->ledger.parts[j->widest]);
    } else if (j->rule == RULE_TOO_SHORT) {
        buf_addf(&text, "%.1f horizons more would settle it", fmax(0, j->bound - j->value));
    }
    if (text.len > 0)
        text_fact(out, "open", &text, style);
    buf_release(&text);
}

void report_why(struct buf *out, const char *series, const struct answer *answer,
                const struct account *a, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_addf(out, "%s\n", series);
    add_verdict(&text, answer->verdict);
    if (answer->why_count > 0)
        buf_addf(&text, ": %s", answer->why[0]);
    text_fact(out, "report", &text, style);
    add_engine(out, a, style);
    add_growth(out, a, style);
    add_parts(out, a);
    struct buf endless = BUF_INIT;
    add_interval(&endless, a->ledger.endless);
    text_fact(out, "endless", &endless, style);
    add_rule(out, a, style);
    add_change(out, a, style);
    if (answer->verdict != a->judgement.verdict) {
        struct buf differs = BUF_INIT;
        buf_adds(&differs,
                 a->is_by_heap
                     ? "this growth is judged as that of malloc's in-use bytes (heap.used)"
                     : "another series of the job speaks for this growth");
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
    json_number(j, "horizons", a->evidence.horizons);
    json_interval(j, "endless", a->ledger.endless);
    json_array_begin(j, "parts");
    for (unsigned i = 0; i < a->ledger.count; i++)
        json_part(j, a, &a->ledger.parts[i]);
    json_array_end(j);
    json_object_end(j);
    json_object_end(j);
}
