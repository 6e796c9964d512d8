/* tests/unit/test_fields.c: every member of every struct that has a table is in it and survives. */
#include "report/report.h"

#include "unit.h"

#include <stdlib.h>

/* ---- no member is missing ---- */

/* Marks the bytes of a member and of its count. */
static void cover(const struct field_entry *f, char *covered)
{
    size_t size = f->many == FIELD_ONE     ? f->size
                  : f->many == FIELD_ARRAY ? f->most * f->size
                                           : sizeof(void *);
    memset(covered + f->offset, 1, size);
    if (f->many != FIELD_ONE)
        memset(covered + f->count_offset, 1, f->count_size);
}

static bool has_array(const struct field_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct field_entry *f = &table->list[i];
        if (f->type == FIELD_STRUCT && f->many != FIELD_LIST &&
            (f->many == FIELD_ARRAY || has_array(f->of)))
            return true;
    }
    return false;
}

/* gcc 12 mistakes padding around an array of structs for members. In a struct with such an
 * array, a partly covered 8-byte word passes. */
static bool may_be_padding(const struct field_table *table, const char *covered, size_t byte)
{
    return has_array(table) && memchr(covered + byte / 8 * 8, 1, 8) != NULL;
}

/* `mask` is 0 where the compiler puts padding. */
static bool is_complete(const char *name, const struct field_table *table, const char *mask)
{
    char *covered = calloc(1, table->size);
    bool complete = covered != NULL;
    for (size_t i = 0; complete && i < table->count; i++)
        cover(&table->list[i], covered);
    for (size_t i = 0; complete && i < table->size; i++)
        if (mask[i] && !covered[i] && !may_be_padding(table, covered, i)) {
            printf("  %s: the member at byte %zu is not in its table\n", name, i);
            complete = false;
        }
    free(covered);
    return complete;
}

#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
#define LEAVE_MEMBERS(x) __builtin_clear_padding(&(x))
#else
#define LEAVE_MEMBERS(x) memset(&(x), 0, sizeof(x)) /* checked with gcc only */
#endif

#define CHECK_COMPLETE(struct_, table)                                                             \
    do {                                                                                           \
        static struct struct_ all;                                                                 \
        memset(&all, 0xff, sizeof all);                                                            \
        LEAVE_MEMBERS(all);                                                                        \
        CHECK((table)->size == sizeof all);                                                        \
        CHECK(is_complete(#struct_, table, (const char *) &all));                                  \
    } while (0)

static const struct field_entry *entry(const struct field_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->list[i].name, name) == 0)
            return &table->list[i];
    abort();
}

static const struct field_table *inside(const struct field_table *table, const char *name)
{
    return entry(table, name)->of;
}

TEST(fields__every_member_is_in_its_table)
{
    const struct field_table *view = &view_fields, *series = inside(view, "series");
    CHECK_COMPLETE(view, view);
    CHECK_COMPLETE(view_series, series);
    CHECK_COMPLETE(series_info, inside(series, "info"));
    CHECK_COMPLETE(series_group, inside(series, "group"));
    CHECK_COMPLETE(history, inside(series, "history"));
    CHECK_COMPLETE(history_block, inside(inside(series, "history"), "blocks"));
    CHECK_COMPLETE(job_answer, inside(view, "answer"));
    CHECK_COMPLETE(view_activity, inside(view, "phases"));
    CHECK_COMPLETE(view_activity_series, inside(inside(view, "phases"), "series"));
    CHECK_COMPLETE(view_row, inside(view, "rows"));
    CHECK_COMPLETE(view_pattern, inside(view, "patterns"));
}

TEST(fields__every_member_of_an_answer_is_in_its_table)
{
    const struct field_table *answer = &answer_fields;
    CHECK_COMPLETE(answer, answer);
    CHECK_COMPLETE(phase, inside(answer, "phases"));
    CHECK_COMPLETE(answer_forecast, inside(answer, "forecast"));
    CHECK_COMPLETE(answer_needs, inside(answer, "needs"));
    CHECK_COMPLETE(answer_naive, inside(answer, "naive"));
    CHECK_COMPLETE(answer_spikes, inside(answer, "spikes"));
    CHECK_COMPLETE(spike_activity, inside(inside(answer, "spikes"), "during"));
}

TEST(fields__every_member_of_a_finding_is_in_its_table)
{
    CHECK_COMPLETE(findings, &findings_fields);
    CHECK_COMPLETE(finding, &finding_fields);
    CHECK_COMPLETE(census_view, &census_view_fields);
    CHECK_COMPLETE(census_tensors, inside(&census_view_fields, "tensors"));
    CHECK_COMPLETE(census_purpose, inside(&census_view_fields, "purposes"));
    CHECK_COMPLETE(attached_process, &attached_process_fields);
}

/* ---- every member survives being kept ---- */

struct filler {
    unsigned serial; /* unique for each member */
};

static void fill(const struct field_table *table, char *of, struct filler *filler);

static void fill_unsigned(const struct field_entry *f, char *at, unsigned value)
{
    uint64_t wide = value;
    memcpy(at, f->size == sizeof wide ? (void *) &wide : (void *) &value, f->size);
}

static void fill_one(const struct field_entry *f, char *at, struct filler *filler)
{
    unsigned serial = ++filler->serial, words = 0;
    double number = serial + 0.125;
    char text[40], *copy;
    bool yes = true;
    snprintf(text, sizeof text, "%s %u", f->name, serial);
    switch (f->type) {
    case FIELD_NUMBER:
        memcpy(at, &number, sizeof number);
        break;
    case FIELD_BOOL:
        memcpy(at, &yes, sizeof yes);
        break;
    case FIELD_WORD:
        while (f->word(words + 1))
            words++;
        fill_unsigned(f, at, words); /* the last one: not the value in a cleared struct */
        break;
    case FIELD_TEXT:
        copy = strdup(text);
        memcpy(at, &copy, sizeof copy);
        break;
    case FIELD_LINE:
        strcpy(at, text);
        break;
    case FIELD_STRUCT:
        fill(f->of, at, filler);
        break;
    default:
        fill_unsigned(f, at, serial);
    }
}

static void fill_field(const struct field_entry *f, char *of, struct filler *filler)
{
    char *at = of + f->offset;
    if (f->type == FIELD_NOT_KEPT)
        return;
    if (f->many == FIELD_ONE) {
        fill_one(f, at, filler);
        return;
    }
    if (f->many == FIELD_LIST) {
        char *list = calloc(2, f->size);
        memcpy(at, &list, sizeof list);
        at = list;
    }
    fill_one(f, at, filler);
    fill_one(f, at + f->size, filler);
    uint64_t two = 2;
    memcpy(of + f->count_offset, &two, f->count_size);
}

static void fill(const struct field_table *table, char *of, struct filler *filler)
{
    for (size_t i = 0; i < table->count; i++)
        fill_field(&table->list[i], of, filler);
}

static bool is_same(const struct field_table *table, const char *a, const char *b);

static bool is_same_one(const struct field_entry *f, const char *a, const char *b)
{
    const char *text_a, *text_b;
    switch (f->type) {
    case FIELD_TEXT:
        memcpy(&text_a, a, sizeof text_a);
        memcpy(&text_b, b, sizeof text_b);
        return text_a && text_b && strcmp(text_a, text_b) == 0;
    case FIELD_LINE:
        return strcmp(a, b) == 0;
    case FIELD_STRUCT:
        return is_same(f->of, a, b);
    default:
        return memcmp(a, b, f->size) == 0;
    }
}

/* The pointer stored there. */
static const char *list_at(const char *place)
{
    const char *list;
    memcpy(&list, place, sizeof(list));
    return list;
}

static bool is_same_field(const struct field_entry *f, const char *a, const char *b)
{
    size_t count = f->many == FIELD_ONE ? 1 : field_count(f, a);
    if (f->type == FIELD_NOT_KEPT)
        return true;
    if (f->many != FIELD_ONE && (count != 2 || field_count(f, b) != 2))
        return false;
    a += f->offset;
    b += f->offset;
    if (f->many == FIELD_LIST) {
        a = list_at(a);
        b = list_at(b);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_same_one(f, a + i * f->size, b + i * f->size))
            return false;
    return true;
}

static bool is_same(const struct field_table *table, const char *a, const char *b)
{
    bool same = true;
    for (size_t i = 0; i < table->count; i++)
        if (!is_same_field(&table->list[i], a, b)) {
            printf("  %s is not the same\n", table->list[i].name);
            same = false;
        }
    return same;
}

static void fill_view(struct view *v)
{
    struct filler filler = {0};
    memset(v, 0, sizeof *v);
    fill(&view_fields, (char *) v, &filler);
    /* The relations between the members. */
    v->warning_count = v->note_count;
    for (size_t i = 0; i < v->phase_count; i++)
        for (size_t k = 0; k < v->phases[i].count; k++) {
            v->phases[i].series[k].series = k;
            v->phases[i].series[k].looked_at = v->phases[i].series[k].given_back + 1;
        }
}

TEST(fields__every_member_is_kept_and_read_back)
{
    struct view v, recalled;
    struct buf kept = BUF_INIT;
    fill_view(&v);
    report_keep(&kept, &v);
    CHECK(report_recall(buf_text(&kept), kept.len, &recalled) == 0);
    CHECK(is_same(&view_fields, (char *) &v, (char *) &recalled));
    view_release(&recalled);
    view_release(&v);
    buf_release(&kept);
}

/* Every name, nested ones included: a repeated name in a table would take the other's value. */
static bool has_names_of_its_own(const struct field_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct field_entry *f = &table->list[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(f->name, table->list[k].name) == 0)
                return false;
        if (f->type == FIELD_STRUCT && !has_names_of_its_own(f->of))
            return false;
    }
    return true;
}

TEST(fields__a_name_means_one_member)
{
    CHECK(has_names_of_its_own(&view_fields));
}

/* ---- a cleared answer knows nothing ---- */

TEST(fields__a_cleared_answer_knows_no_number)
{
    struct answer a;
    memset(&a, 1, sizeof a);
    answer_clear(&a);
    CHECK(isnan(a.rate) && isnan(a.forecast.limit_at) && isnan(a.needs.seconds));
    CHECK(isnan(a.naive.rate) && isnan(a.spikes.height) && isnan(a.warm_up_epochs));
    CHECK(a.verdict == VERDICT_INCONCLUSIVE && a.phase_count == 0 && !a.needs.why[0]);
}

/* A limit may be reached never; any other number that is too large is unknown. */
TEST(fields__infinity_means_never_or_nothing)
{
    struct answer a;
    answer_clear(&a);
    a.rate = a.naive.rate = a.forecast.plan_value = -INFINITY;
    a.forecast.limit_at = a.forecast.limit_seconds = INFINITY;
    a.min = 5;
    fields_drop_infinite(&answer_fields, &a);
    CHECK(isnan(a.rate) && isnan(a.naive.rate) && isnan(a.forecast.plan_value));
    CHECK(isinf(a.forecast.limit_at) && isinf(a.forecast.limit_seconds) && a.min == 5);
}

/* ---- docs/JSON.md ---- */

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    size_t size = (size_t) ftell(file);
    rewind(file);
    char *text = calloc(1, size + 1);
    if (text && fread(text, 1, size, file) != size)
        text[0] = '\0';
    fclose(file);
    return text;
}

static bool is_named(const char *section, const char *end, const char *name)
{
    char quoted[100];
    snprintf(quoted, sizeof quoted, "`%s`", name);
    const char *at = strstr(section, quoted);
    return at && at < end;
}

/* Whether the text from `from` up to `to` names every member that is shown. */
static bool is_documented(const char *docs, const char *from, const char *to,
                          const struct field_table *table)
{
    const char *section = strstr(docs, from), *end = section ? strstr(section, to) : NULL;
    bool all = end != NULL;
    for (size_t i = 0; end && i < table->count; i++) {
        const struct field_entry *f = &table->list[i];
        char name[80];
        if ((f->flags & FIELD_HIDDEN) || f->type == FIELD_NOT_KEPT)
            continue;
        snprintf(name, sizeof name, "%s%s", f->shown ? f->shown : f->name,
                 f->flags & FIELD_BY_CLOCK ? "_step" : "");
        if (!is_named(section, end, name)) {
            printf("  %s has no `%s`\n", from, name);
            all = false;
        }
    }
    return all;
}

TEST(fields__what_is_shown_is_documented)
{
    char *docs = read_all(SOURCE_ROOT "/docs/JSON.md");
    CHECK(docs);
    const struct {
        const char *from, *to;
        const struct field_table *table;
    } sections[] = {
        {"### `series[]`", "\n## ", &answer_fields},
        {"### `series[]`", "`phases[]`:", &series_info_fields},
        {"`forecast`: ", "\n\n", &answer_forecast_fields},
        {"`needs`: ", "\n\n", &answer_needs_fields},
        {"## `run --json FILE`", "`job`:", &findings_fields},
        {"\n| `caches` |", "`censuses[]`:", &finding_fields},
        {"`censuses[]`:", "`balance[]`:", &census_view_fields},
        {"`sites[]`:", "\n\n", inside(&findings_fields, "sites")},
        {"`tracers[]`:", "\n\n", inside(&findings_fields, "tracers")},
        {"`entered[]`:", "\n## ", &attached_process_fields},
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        CHECK(is_documented(docs, sections[i].from, sections[i].to, sections[i].table));
    CHECK(is_documented(docs, "`phases[]`:", "\n\n", inside(&answer_fields, "phases")));
    CHECK(is_documented(docs, "`naive`:", "\n\n", inside(&answer_fields, "naive")));
    CHECK(is_documented(docs, "`spikes`:", "\n\n", inside(&answer_fields, "spikes")));
    free(docs);
}
