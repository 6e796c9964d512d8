/* input/csv.c: text tables: CSV, TSV, ';', one column of numbers; nvidia-smi's output too. */
#include "input/names.h"
#include "input/reader.h"
#include "input/table.h"
#include "input/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CSV_MAX_FIELDS 512

/* The fields of one line: NUL-terminated, without quotes and surrounding blanks. */
struct fields {
    struct buf text;
    size_t offset[CSV_MAX_FIELDS], length[CSV_MAX_FIELDS];
    size_t count;
};

struct csv {
    struct collector *c;
    struct table *table;
    struct fields fields;
    struct buf header; /* the line, to recognize a repetition */
    char delimiter;    /* '\0': one column */
    bool has_header;   /* settled */
    uint64_t header_line;
};

static bool is_passed_over(const struct line *line)
{
    const char *text = line->text + strspn(line->text, " \t");
    return *text == '\0' || *text == '#' || strncmp(text, "```", 3) == 0;
}

/* Adds a quoted field from after its opening quote; returns its end. */
static const char *add_quoted(const char *p, struct buf *b)
{
    for (; *p; p++) {
        if (*p == '"' && p[1] != '"')
            return p + 1;
        if (*p == '"')
            p++;
        buf_addc(b, *p);
    }
    return p;
}

static void end_field(struct fields *f, size_t begin)
{
    size_t end = f->text.len;
    while (end > begin && memchr(" \t\r", f->text.text[end - 1], 3))
        end--;
    f->offset[f->count] = begin;
    f->length[f->count++] = end - begin;
    buf_addc(&f->text, '\0');
}

static void split(const char *p, char delimiter, struct fields *f)
{
    buf_clear(&f->text);
    f->count = 0;
    for (bool more = true; more && f->count < CSV_MAX_FIELDS;) {
        size_t begin = f->text.len;
        p += strspn(p, delimiter == '\t' ? " " : " \t");
        if (*p == '"')
            p = add_quoted(p + 1, &f->text);
        size_t n = 0;
        while (p[n] && (delimiter == '\0' || p[n] != delimiter))
            n++;
        buf_add(&f->text, p, n);
        p += n;
        more = *p != '\0';
        p += more;
        end_field(f, begin);
    }
}

static const char *field(const struct fields *f, size_t i)
{
    return f->text.text + f->offset[i];
}

static bool is_number(const struct fields *f, size_t i)
{
    struct quantity q;
    struct when moment;
    const char *text = field(f, i);
    size_t len = f->length[i];
    if (when_parse(text, len, &moment) && moment.length == len)
        return true;
    if (quantity_parse(text, len, &q) < 0)
        return false;
    /* "5552,3" is one number where ';' separates the fields. */
    return q.length == len || (text[q.length] == ',' && strspn(text, "0123456789,+-") == len);
}

static size_t count_numbers(const struct fields *f)
{
    size_t numbers = 0;
    for (size_t i = 0; i < f->count; i++)
        numbers += is_number(f, i);
    return numbers;
}

/* True unless it is prose: every field could be a column name. */
static bool could_be_names(const struct fields *f)
{
    size_t known = 0, words = 0;
    for (size_t i = 0; i < f->count; i++) {
        enum name_role role = name_read(field(f, i), f->length[i]).role;
        known += role != NAME_OTHER;
        words += !strchr(field(f, i), ' ');
        if (f->length[i] > 60 || strchr(field(f, i), '|') || is_number(f, i))
            return false;
    }
    return words == f->count || known > 0;
}

/* True unless it is prose: every field is a number, a time, empty, or one word. */
static bool could_be_row(const struct fields *f)
{
    for (size_t i = 0; i < f->count; i++) {
        bool is_word = !strpbrk(field(f, i), " :=") && f->length[i] < 60;
        if (!is_number(f, i) && !is_word && !table_is_missing(field(f, i), f->length[i]))
            return false;
    }
    return true;
}

static int judge(const struct fields *first, const struct fields *second, char delimiter)
{
    size_t least = delimiter ? 2 : 1;
    if (first->count != second->count || first->count < least || count_numbers(second) == 0)
        return 0;
    if (could_be_names(first)) {
        /* A single word above a number may mean anything. */
        bool is_known = name_read(field(first, 0), first->length[0]).role >= NAME_MEMORY;
        return delimiter || is_known ? 1 : 0;
    }
    bool alike = count_numbers(first) == count_numbers(second);
    return alike && could_be_row(first) && could_be_row(second) ? 2 : 0;
}

/* Judges the two lines with the delimiter that fits them best. */
static int choose_delimiter(const char *first, const char *second, char *ret_delimiter)
{
    static const char delimiters[] = {'\t', ';', ',', '\0'};
    struct fields *f = calloc(2, sizeof *f);
    int result = 0;
    for (size_t i = 0; f && i < sizeof delimiters && result == 0; i++) {
        split(first, delimiters[i], &f[0]);
        split(second, delimiters[i], &f[1]);
        result = judge(&f[0], &f[1], delimiters[i]);
        if (result > 0)
            *ret_delimiter = delimiters[i];
    }
    if (f) {
        buf_release(&f[0].text);
        buf_release(&f[1].text);
    }
    free(f);
    return result;
}

int csv_looks_like(const struct line *first, const struct line *second)
{
    char delimiter;
    if (is_passed_over(first) || is_passed_over(second) || first->len > 1 << 16)
        return 0;
    return choose_delimiter(first->text, second->text, &delimiter);
}

bool csv_looks_like_header(const struct line *line)
{
    static const char delimiters[] = "\t;,";
    struct fields *f = calloc(1, sizeof *f);
    bool result = false;
    for (const char *d = delimiters; f && *d && !result && line->len < 1 << 16; d++) {
        split(line->text, *d, f);
        result = f->count >= 2 && could_be_names(f);
    }
    if (f)
        buf_release(&f->text);
    free(f);
    return result;
}

static int csv_open(struct collector *c, void **ret_state)
{
    struct csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return -ENOMEM;
    csv->c = c;
    *ret_state = csv;
    return 0;
}

static void csv_close(void *state)
{
    struct csv *csv = state;
    table_free(csv->table);
    buf_release(&csv->fields.text);
    buf_release(&csv->header);
    free(csv);
}

static bool has_unit(const struct fields *f, size_t i)
{
    struct quantity q;
    return quantity_parse(field(f, i), f->length[i], &q) == 0 && q.has_unit;
}

static bool any_has_unit(const struct fields *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (has_unit(f, i))
            return true;
    }
    return false;
}

/*
 * Names a column that has no name. The first time or plain number is the clock. Numbers are values;
 * but if some carry a unit, those without one only identify the series (a pid).
 */
static int add_unnamed(struct csv *csv, size_t i, bool *has_clock)
{
    const struct fields *f = &csv->fields;
    struct when moment;
    char name[32];
    bool is_clock = !*has_clock && f->count > 1 && is_number(f, i) && !has_unit(f, i);
    bool is_value = is_number(f, i) && (has_unit(f, i) || !any_has_unit(f));
    if (is_clock)
        snprintf(name, sizeof name, "%s",
                 when_parse(field(f, i), f->length[i], &moment) ? "time" : "step");
    else
        snprintf(name, sizeof name, "%s %zu", is_value ? "column" : "series", i + 1);
    *has_clock = *has_clock || is_clock;
    return table_add_column(csv->table, name, strlen(name));
}

static int add_columns(struct csv *csv)
{
    const struct fields *f = &csv->fields;
    struct table_style style = {
        .columns_are = "column",
        .printed_digits = true,
        .all_columns_known = true,
        .may_have_decimal_comma = csv->delimiter != ',',
    };
    int r = table_new(csv->c, &style, &csv->table);
    bool has_clock = false;
    for (size_t i = 0; i < f->count && r >= 0; i++)
        r = csv->has_header ? table_add_column(csv->table, field(f, i), f->length[i])
                            : add_unnamed(csv, i, &has_clock);
    return r < 0 ? r : 0;
}

static void tell_format(const struct csv *csv)
{
    struct input_summary *s = csv->c->summary;
    const char *what = csv->delimiter == '\t'   ? "tab-separated table"
                       : csv->delimiter == ';'  ? "table separated by ';'"
                       : csv->delimiter == '\0' ? "column of numbers"
                                                : "CSV";
    bool is_nvidia = strstr(buf_text(&csv->header), "used_gpu_memory") != NULL;
    snprintf(s->format, sizeof s->format, "%s%s", is_nvidia ? "nvidia-smi CSV" : what,
             csv->has_header ? " with a header" : " without a header");
}

/* The first two non-empty lines decide what the table looks like. */
static int begin(struct csv *csv, const struct line *line)
{
    if (csv->header.len == 0) {
        buf_add(&csv->header, line->text, line->len);
        csv->header_line = line->number;
        return 0;
    }
    int what = choose_delimiter(buf_text(&csv->header), line->text, &csv->delimiter);
    split(buf_text(&csv->header), csv->delimiter, &csv->fields);
    csv->has_header = what == 1;
    tell_format(csv);
    if (csv->fields.count == CSV_MAX_FIELDS)
        collect_guess(csv->c, "only the first %d columns are read", CSV_MAX_FIELDS);
    return add_columns(csv);
}

static int pass_row(struct csv *csv, const char *text, uint64_t line)
{
    struct fields *f = &csv->fields;
    size_t columns = table_columns(csv->table);
    split(text, csv->delimiter, f);
    if (f->count != columns) {
        collect_skip(csv->c, line, "%zu fields where the first line has %zu", f->count, columns);
        return 0;
    }
    for (size_t i = 0; i < f->count; i++)
        table_set(csv->table, i, field(f, i), f->length[i]);
    int r = table_row(csv->table, line);
    if (csv->c->summary->error[0])
        csv->c->summary->error_line = csv->header_line;
    return r;
}

static int csv_line(void *state, const struct line *line)
{
    struct csv *csv = state;
    if (collect_skip_damaged(csv->c, line) || is_passed_over(line))
        return 0;
    if (!csv->table) {
        bool is_first = csv->header.len == 0;
        int r = begin(csv, line);
        if (r < 0 || is_first)
            return r;
        if (!csv->has_header)
            r = pass_row(csv, buf_text(&csv->header), csv->header_line);
        if (r < 0)
            return r;
    }
    /* A restarted monitor repeats its header, and nvidia-smi repeats it in every loop. */
    if (csv->has_header && strcmp(line->text, buf_text(&csv->header)) == 0)
        return 0;
    return pass_row(csv, line->text, line->number);
}

static int csv_explain(void *state)
{
    struct csv *csv = state;
    if (csv->table && csv->c->summary->error[0] == '\0') {
        int r = table_explain(csv->table);
        if (csv->c->summary->error_line == 0)
            csv->c->summary->error_line = csv->header_line;
        return r;
    }
    return collect_error(csv->c, csv->header_line,
                         "a header without a row of numbers below it: expected one row per sample");
}

const struct reader csv_reader = {
    .name = "CSV",
    .open = csv_open,
    .line = csv_line,
    .explain = csv_explain,
    .close = csv_close,
};
