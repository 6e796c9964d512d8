/* input/table.c: turns rows with named columns into samples. */
#include "input/table.h"

#include "input/names.h"
#include "input/when.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TABLE_MAX_COLUMNS 512
#define NO_COLUMN SIZE_MAX
#define NAME_MAX_BYTES 200 /* longest cell that becomes part of a name */

struct column {
    char *name;
    struct name_meaning meaning;
    bool is_value;
    double assumed; /* assumed unit of plain numbers that have none; 0: undecided */
    bool has_units; /* some of its cells carry a unit */
    bool is_set;    /* the current row fills it */
    const char *cell;
    size_t len;
    struct track *track; /* used when the rows name no series */
};

struct table {
    struct collector *c;
    struct table_style style;
    struct column *columns;
    size_t count, capacity;
    bool is_chosen; /* every column so far has its role */
    bool by_time;   /* the clock column holds times */
    size_t clock, seconds, epoch, pid, unit;
    uint64_t rows;
    bool names_series; /* a column identifies the owner of the values */
    bool has_announced_clock;
    bool decimal_comma; /* some number can only be read this way */
    struct wall wall;
    struct buf key, name;
    size_t expected; /* first guess for the next column */
};

/* What a cell says about a value. */
struct reading {
    double value, resolution;
    enum series_unit unit;
};

int table_new(struct collector *c, const struct table_style *style, struct table **ret)
{
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    t->c = c;
    t->style = *style;
    *ret = t;
    return 0;
}

struct table *table_free(struct table *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->count; i++)
        free(t->columns[i].name);
    free(t->columns);
    buf_release(&t->key);
    buf_release(&t->name);
    free(t);
    return NULL;
}

size_t table_columns(const struct table *t)
{
    return t->count;
}

static int grow(struct table *t)
{
    if (t->count >= TABLE_MAX_COLUMNS)
        return -E2BIG;
    if (t->count < t->capacity)
        return 0;
    size_t capacity = t->capacity ? t->capacity * 2 : 16;
    struct column *columns = realloc(t->columns, capacity * sizeof *columns);
    if (!columns)
        return -ENOMEM;
    t->columns = columns;
    t->capacity = capacity;
    return 0;
}

int table_add_column(struct table *t, const char *name, size_t len)
{
    int r = grow(t);
    if (r < 0)
        return r;
    char *copy = strndup(name, len);
    if (!copy)
        return -ENOMEM;
    t->columns[t->count] = (struct column){.name = copy, .meaning = name_read(name, len)};
    t->is_chosen = false;
    return (int) t->count++;
}

static bool is_named(const struct column *column, const char *name, size_t len)
{
    return strncmp(column->name, name, len) == 0 && column->name[len] == '\0';
}

int table_column(struct table *t, const char *name, size_t len)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t at = (t->expected + i) % t->count;
        if (is_named(&t->columns[at], name, len)) {
            t->expected = at + 1;
            return (int) at;
        }
    }
    return table_add_column(t, name, len);
}

void table_set(struct table *t, size_t column, const char *text, size_t len)
{
    struct column *col = &t->columns[column];
    col->is_set = true;
    col->cell = text;
    col->len = len;
}

void table_clear_row(struct table *t)
{
    for (size_t i = 0; i < t->count; i++)
        t->columns[i].is_set = false;
    t->expected = 0;
}

bool table_is_missing(const char *text, size_t len)
{
    static const char *const words[] = {"-",
                                        "n/a",
                                        "[n/a]",
                                        "na",
                                        "nan",
                                        "none",
                                        "null",
                                        "nil",
                                        "inf",
                                        "?",
                                        "[not supported]",
                                        "--",
                                        "[insufficient permissions]",
                                        "[unknown error]"};
    if (len == 0)
        return true;
    if (len > 30 || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == len && strncasecmp(words[i], text, len) == 0)
            return true;
    }
    return false;
}

/* The cell of this row; NULL if missing or empty. */
static const struct column *cell_at(const struct table *t, size_t index)
{
    if (index == NO_COLUMN)
        return NULL;
    const struct column *col = &t->columns[index];
    return col->is_set && !table_is_missing(col->cell, col->len) ? col : NULL;
}

/* "5552,3": a decimal comma, as spreadsheets write it where ';' separates the fields. */
static int parse_decimal_comma(struct table *t, const struct column *col, struct quantity *ret)
{
    char text[64];
    const char *comma = memchr(col->cell, ',', col->len);
    bool is_candidate = t->style.may_have_decimal_comma && comma && col->len < sizeof text &&
                        !memchr(comma + 1, ',', col->len - (size_t) (comma + 1 - col->cell));
    if (!is_candidate)
        return -EINVAL;
    memcpy(text, col->cell, col->len);
    text[comma - col->cell] = '.';
    struct quantity q;
    int r = quantity_parse(text, col->len, &q);
    if (r < 0 || q.length != col->len)
        return -EINVAL;
    t->decimal_comma = true;
    *ret = q;
    return 0;
}

/* The whole cell as a quantity. -EINVAL. */
static int parse_cell(struct table *t, const struct column *col, struct quantity *ret)
{
    struct quantity q;
    if (t->decimal_comma && parse_decimal_comma(t, col, ret) == 0)
        return 0;
    if (quantity_parse(col->cell, col->len, &q) == 0 && q.length == col->len) {
        *ret = q;
        return 0;
    }
    return parse_decimal_comma(t, col, ret);
}

static size_t find_role(const struct table *t, enum name_role role)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->columns[i].meaning.role == role)
            return i;
    }
    return NO_COLUMN;
}

static bool column_is_number(struct table *t, size_t index)
{
    struct quantity q;
    const struct column *col = cell_at(t, index);
    return col && parse_cell(t, col, &q) == 0;
}

/*
 * The long form: "kind" and "value" in a row. The columns beside them ("floor", "max", "count")
 * describe that value, unless they are named like a counter.
 */
static bool is_long_form(const struct table *t)
{
    bool generic = false;
    for (size_t i = 0; i < t->count; i++) {
        const struct name_meaning *m = &t->columns[i].meaning;
        bool counter =
            m->role == NAME_MEMORY || (m->role == NAME_COUNT && strcmp(m->kind, "memory") != 0);
        if (counter)
            return false;
        generic = generic || m->is_generic;
    }
    return generic && find_role(t, NAME_METRIC) != NO_COLUMN;
}

/* Picks the columns that hold values: those the user named, those with a telling name, or all that
 * remain. */
static size_t choose_values(struct table *t)
{
    const char *wanted = t->c->options->value_columns;
    bool long_form = is_long_form(t);
    size_t found = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct column *col = &t->columns[i];
        enum name_role role = col->meaning.role;
        bool holds = long_form ? col->meaning.is_generic
                               : (role == NAME_MEMORY || role == NAME_COUNT) && i != t->clock;
        col->is_value = wanted ? name_listed(wanted, col->name, strlen(col->name), i + 1) : holds;
        found += col->is_value;
    }
    for (size_t i = 0; i < t->count && !wanted && found == 0; i++) {
        struct column *col = &t->columns[i];
        if (i == t->clock || col->meaning.role != NAME_OTHER || col->name[0] == '\0')
            continue;
        col->is_value =
            col->meaning.is_generic || (t->style.all_columns_known && column_is_number(t, i));
    }
    for (size_t i = 0; i < t->count; i++)
        found += t->columns[i].is_value;
    return found;
}

static size_t find_named(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        if (name_listed(name, t->columns[i].name, strlen(t->columns[i].name), i + 1))
            return i;
    }
    return NO_COLUMN;
}

static size_t choose_clock(const struct table *t)
{
    if (t->c->options->clock_column)
        return find_named(t, t->c->options->clock_column);
    static const enum name_role by_step[] = {NAME_STEP, NAME_TIME, NAME_EPOCH};
    static const enum name_role by_time[] = {NAME_TIME, NAME_STEP, NAME_EPOCH};
    const enum name_role *order = t->c->options->clock == 2 ? by_time : by_step;
    for (size_t i = 0; i < 3; i++) {
        size_t found = find_role(t, order[i]);
        if (found != NO_COLUMN)
            return found;
    }
    return NO_COLUMN;
}

static bool clock_is_time(const struct table *t)
{
    struct when moment;
    const struct column *cell = cell_at(t, t->clock);
    if (t->clock == NO_COLUMN || t->c->options->clock > 0)
        return t->c->options->clock == 2;
    return t->columns[t->clock].meaning.role == NAME_TIME ||
           (cell && when_parse(cell->cell, cell->len, &moment));
}

/* In nvidia-smi's tables "index" is a GPU's number, not the row's, and "memory" is that GPU's. */
static void adopt_nvidia_names(struct table *t)
{
    bool is_nvidia = false;
    for (size_t i = 0; i < t->count; i++)
        is_nvidia = is_nvidia || strstr(t->columns[i].name, "[MiB]");
    for (size_t i = 0; i < t->count && is_nvidia; i++) {
        struct column *col = &t->columns[i];
        if (strcmp(col->name, "index") == 0)
            col->meaning.role = NAME_DEVICE;
        if (strncmp(col->name, "memory.used", 11) == 0)
            col->meaning.kind = "gpu.used";
    }
}

/* Assigns a role to every column. */
static void choose(struct table *t)
{
    adopt_nvidia_names(t);
    t->clock = choose_clock(t);
    t->by_time = clock_is_time(t);
    t->seconds = t->by_time ? t->clock : find_role(t, NAME_TIME);
    t->epoch = find_role(t, NAME_EPOCH);
    t->pid = find_role(t, NAME_PID);
    t->unit = find_named(t, "unit");
    t->names_series = t->pid != NO_COLUMN || find_role(t, NAME_OWNER) != NO_COLUMN ||
                      find_role(t, NAME_METRIC) != NO_COLUMN ||
                      find_role(t, NAME_DEVICE) != NO_COLUMN;
    /* If the first rows are empty, later ones may show more. */
    t->is_chosen = choose_values(t) > 0 || t->rows > 100;
}

/* "'step', 'loss', ...": as many names as fit into an error message. */
static void add_names(const struct table *t, struct buf *b)
{
    for (size_t i = 0; i < t->count; i++) {
        if (b->len > 80) {
            buf_addf(b, ", and %zu more", t->count - i);
            return;
        }
        buf_addf(b, "%s'%.30s'", i > 0 ? ", " : "", t->columns[i].name);
    }
}

int table_explain(struct table *t)
{
    struct buf names = BUF_INIT;
    add_names(t, &names);
    const char *wanted = t->c->options->value_columns;
    const struct input_summary *s = t->c->summary;
    size_t value = 0;
    while (value < t->count && !t->columns[value].is_value)
        value++;
    int r;
    if (s->skipped > 0)
        r = collect_error(
            t->c, s->first_skipped, "no row could be read (the first: %s)%s", s->skip_reason,
            !t->by_time && t->seconds != NO_COLUMN ? "; use --time to judge by time" : "");
    else if (value < t->count)
        r = collect_error(t->c, 0, "no number in %s '%.40s'", t->style.columns_are,
                          t->columns[value].name);
    else if (wanted)
        r = collect_error(t->c, 0, "no value in %s '%.40s' (--value); there are %s",
                          t->style.columns_are, wanted, buf_text(&names));
    else
        r = collect_error(t->c, 0,
                          "no memory value in %s; expected a name like 'rss_mb' or 'memory', or "
                          "use --value",
                          buf_text(&names));
    buf_release(&names);
    return r;
}

static void announce_clock(struct table *t)
{
    if (t->has_announced_clock)
        return;
    t->has_announced_clock = true;
    if (t->clock == NO_COLUMN)
        collect_guess(t->c, "no clock %s: rows are counted as steps", t->style.columns_are);
    else
        collect_guess(t->c, "clock: %s '%.40s'%s", t->style.columns_are, t->columns[t->clock].name,
                      t->by_time             ? " in seconds"
                      : t->clock == t->epoch ? " (epochs are called steps from here on)"
                                             : "");
}

/* The unit from the option; 0: none. */
static double option_unit(const struct table *t, enum series_unit *ret_unit)
{
    return t->c->options->unit ? name_unit(t->c->options->unit, ret_unit) : 0;
}

/* The unit that a column named "unit" gives in this row; 0: none. */
static double cell_unit(const struct table *t, enum series_unit *ret_unit)
{
    char text[16];
    const struct column *cell = cell_at(t, t->unit);
    if (!cell || cell->len >= sizeof text)
        return 0;
    memcpy(text, cell->cell, cell->len);
    text[cell->len] = '\0';
    return name_unit(text, ret_unit);
}

/* The first number of a column without a unit decides for the whole column. */
static double assume_unit(struct table *t, struct column *col, double value)
{
    const char *word;
    if (col->assumed > 0)
        return col->assumed;
    double unit = name_assume_unit(value, &word);
    if (value == 0)
        return unit;
    announce_clock(t);
    collect_guess(t->c, "'%.40s' has no unit, taken as %s (--unit)", col->name, word);
    col->assumed = unit;
    return unit;
}

/* The unit of a plain number in a column with this name. */
static double plain_unit(struct table *t, struct column *col, const struct name_meaning *m,
                         double value, enum series_unit *ret_unit)
{
    *ret_unit = m->role == NAME_COUNT ? SERIES_COUNT : SERIES_BYTES;
    if (m->role == NAME_COUNT)
        return 1;
    if (isfinite(m->unit))
        return m->unit;
    double unit = option_unit(t, ret_unit);
    if (unit == 0)
        unit = cell_unit(t, ret_unit);
    return unit > 0 ? unit : assume_unit(t, col, value);
}

/* True if the cell names the counter of the value in `col`: "rss" beside "value" or "mb". */
static bool names_metric(const struct table *t, size_t index, const struct column *col)
{
    const struct column *cell = &t->columns[index];
    if (cell->meaning.role != NAME_METRIC || !cell_at(t, index))
        return false;
    enum name_role role = name_read(cell->cell, cell->len).role;
    return col->meaning.role == NAME_OTHER || role == NAME_MEMORY || role == NAME_COUNT;
}

/* The cell at `index` if it identifies the series of the value in `col`, else NULL. */
static const struct column *series_cell(const struct table *t, size_t index,
                                        const struct column *col)
{
    const struct column *cell = &t->columns[index];
    if (cell->is_value || index == t->clock)
        return NULL;
    bool names = cell->meaning.role == NAME_OWNER || cell->meaning.role == NAME_DEVICE ||
                 names_metric(t, index, col);
    return names ? cell_at(t, index) : NULL;
}

/* In the long form ("kind", "value") another column gives the meaning of the value. */
static struct name_meaning meaning_of(const struct table *t, const struct column *col)
{
    bool is_plain = strcmp(col->meaning.kind, "memory") == 0;
    for (size_t i = 0; i < t->count && is_plain; i++) {
        if (!names_metric(t, i, col))
            continue;
        struct name_meaning m = name_read(t->columns[i].cell, t->columns[i].len);
        if (!isfinite(m.unit))
            m.unit = col->meaning.unit;
        if (m.role == NAME_MEMORY || m.role == NAME_COUNT || m.role == NAME_NOISE)
            return m;
    }
    return col->meaning;
}

static int shown_length(const struct column *cell)
{
    return (int) (cell->len < NAME_MAX_BYTES ? cell->len : NAME_MAX_BYTES);
}

/* Adds the column's number, as two characters other than NUL, and the text of its cell. */
static void add_key_part(struct table *t, size_t index, const struct column *cell)
{
    if (index == NO_COLUMN)
        return;
    if (!cell && t->key.len > 0)
        return;
    buf_addc(&t->key, (char) ('0' + index % 64));
    buf_addc(&t->key, (char) ('0' + index / 64));
    if (cell)
        buf_add(&t->key, cell->cell, (size_t) shown_length(cell));
    buf_addc(&t->key, '|');
}

static void build_key(struct table *t, const struct column *col)
{
    buf_clear(&t->key);
    add_key_part(t, (size_t) (col - t->columns), NULL);
    add_key_part(t, t->pid, cell_at(t, t->pid));
    for (size_t i = 0; i < t->count; i++)
        add_key_part(t, i, series_cell(t, i, col));
}

static size_t count_values(const struct table *t)
{
    size_t values = 0;
    for (size_t i = 0; i < t->count; i++)
        values += t->columns[i].is_value;
    return values;
}

/* "python pid 1234 rss_mb": what the row says about the series, plus the column if needed. */
static void build_name(struct table *t, const struct column *col)
{
    buf_clear(&t->name);
    for (size_t i = 0; i < t->count; i++) {
        const struct column *cell = series_cell(t, i, col);
        if (!cell)
            continue;
        bool is_number = cell->cell[0] >= '0' && cell->cell[0] <= '9';
        buf_addf(&t->name, "%s%s%s%.*s", t->name.len > 0 ? " " : "", is_number ? cell->name : "",
                 is_number ? " " : "", shown_length(cell), cell->cell);
    }
    const struct column *pid = cell_at(t, t->pid);
    if (pid)
        buf_addf(&t->name, "%spid %.*s", t->name.len > 0 ? " " : "", shown_length(pid), pid->cell);
    if (t->name.len == 0 || count_values(t) > 1)
        buf_addf(&t->name, "%s%s", t->name.len > 0 ? " " : "", col->name);
    if (t->name.len == 0)
        buf_addf(&t->name, "%s %zu", t->style.columns_are, (size_t) (col - t->columns) + 1);
}

static int open_track(struct table *t, struct column *col, const struct name_meaning *m,
                      const struct reading *reading, struct track **ret)
{
    char *device = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const struct column *cell = series_cell(t, i, col);
        if (cell && cell->meaning.role == NAME_DEVICE && !device)
            device = strndup(cell->cell, (size_t) shown_length(cell));
    }
    build_name(t, col);
    announce_clock(t);
    const struct column *pid = cell_at(t, t->pid);
    struct series_info info = {
        .name = buf_text(&t->name),
        .kind = m->kind,
        .device = device ? device : (m->device[0] ? m->device : NULL),
        .pid = pid ? strtoll(pid->cell, NULL, 10) : 0,
        .unit = reading->unit,
        .clock = t->by_time ? CLOCK_SECONDS : CLOCK_STEP,
        .resolution = t->style.printed_digits ? reading->resolution : 0,
    };
    int r = collect_open(t->c, buf_text(&t->key), &info, NULL, ret);
    free(device);
    return r;
}

static int find_track(struct table *t, struct column *col, const struct name_meaning *m,
                      const struct reading *reading, struct track **ret)
{
    if (!t->names_series && col->track) {
        *ret = col->track;
        return 0;
    }
    build_key(t, col);
    struct track *track = collect_find(t->c, buf_text(&t->key));
    int r = track ? 0 : open_track(t, col, m, reading, &track);
    if (r < 0)
        return r;
    if (!t->names_series)
        col->track = track;
    *ret = track;
    return 0;
}

/* A time, or a plain number in the column's time unit. */
static bool parse_moment(struct table *t, const struct column *col, struct when *ret)
{
    struct quantity q;
    if (when_parse(col->cell, col->len, ret) && ret->length == col->len)
        return true;
    if (parse_cell(t, col, &q) < 0 || q.has_unit)
        return false;
    /* The size of a count since 1970 shows its unit: s, ms, us, ns. */
    double unit = q.value < 1e11 ? 1 : (q.value < 1e14 ? 1e-3 : (q.value < 1e17 ? 1e-6 : 1e-9));
    if (col->meaning.role == NAME_TIME && col->meaning.time_unit < 1)
        unit = col->meaning.time_unit;
    else if (col->meaning.role == NAME_TIME && unit == 1)
        unit = col->meaning.time_unit;
    *ret = (struct when){.seconds = q.value * unit};
    return true;
}

/* A step, also as "12/100". */
static bool parse_step(struct table *t, const struct column *col, struct position *at)
{
    struct quantity q;
    const char *slash = memchr(col->cell, '/', col->len);
    if (slash) {
        struct column total = *col, first = *col;
        first.len = (size_t) (slash - col->cell);
        total.cell = slash + 1;
        total.len = col->len - first.len - 1;
        if (parse_cell(t, &total, &q) < 0 || q.has_unit)
            return false;
        at->total = q.value;
        return parse_step(t, &first, at);
    }
    if (parse_cell(t, col, &q) < 0 || q.has_unit)
        return false;
    at->step = q.value;
    return true;
}

static void skip_cell(struct table *t, uint64_t line, const struct column *col, const char *what)
{
    collect_skip(t->c, line, "%s '%.40s': '%.*s' %s", t->style.columns_are, col->name,
                 (int) (col->len < 30 ? col->len : 30), col->cell, what);
}

/* Reads the row's position. False: the line was counted as unreadable. */
static bool read_position(struct table *t, uint64_t line, struct position *at)
{
    struct when moment;
    struct quantity q;
    const struct column *clock = cell_at(t, t->clock), *seconds = cell_at(t, t->seconds);
    const struct column *epoch = t->epoch == t->clock ? NULL : cell_at(t, t->epoch);
    if (epoch && parse_cell(t, epoch, &q) == 0)
        at->epoch = q.value;
    if (seconds && parse_moment(t, seconds, &moment))
        at->seconds = wall_seconds(&t->wall, &moment);
    if (t->clock == NO_COLUMN)
        return true;
    if (!clock)
        collect_skip(t->c, line, "%s '%.40s' is empty", t->style.columns_are,
                     t->columns[t->clock].name);
    else if (t->by_time && !isfinite(at->seconds))
        skip_cell(t, line, clock, "is not a time");
    else if (!t->by_time && !parse_step(t, clock, at))
        skip_cell(t, line, clock, "is not a step");
    else
        return true;
    return false;
}

/* A plain number among cells with a unit, or the reverse: its unit is unknown. */
static bool is_mixed(const struct table *t, const struct column *col, const struct name_meaning *m,
                     const struct quantity *q)
{
    if (q->has_unit)
        return col->assumed > 0;
    bool is_given =
        m->role == NAME_COUNT || isfinite(m->unit) || t->c->options->unit || cell_at(t, t->unit);
    return !is_given && col->has_units && q->value != 0;
}

/* False: the line was counted as unreadable. */
static bool read_value(struct table *t, struct column *col, const struct name_meaning *m,
                       uint64_t line, struct reading *ret)
{
    struct quantity q;
    if (parse_cell(t, col, &q) < 0) {
        skip_cell(t, line, col, "is not a number");
        return false;
    }
    if (is_mixed(t, col, m, &q)) {
        skip_cell(t, line, col,
                  q.has_unit ? "has a unit, but earlier ones have none (mixed units)"
                             : "has no unit, but earlier ones have one (mixed units)");
        return false;
    }
    col->has_units = col->has_units || q.has_unit;
    enum series_unit unit = SERIES_BYTES;
    double factor = q.has_unit ? 1 : plain_unit(t, col, m, q.value, &unit);
    if (!isfinite(q.value * factor)) {
        skip_cell(t, line, col, "is not a size");
        return false;
    }
    *ret = (struct reading){q.value * factor, q.resolution * factor, unit};
    return true;
}

/* 1: passed on, or empty; 0: counted as unreadable; negative: the sink's return. */
static int pass_value(struct table *t, struct column *col, struct position at, uint64_t line)
{
    struct name_meaning m = meaning_of(t, col);
    struct reading reading;
    struct track *track;
    if (m.role == NAME_NOISE && col->meaning.role != NAME_NOISE)
        return 1;
    if (!read_value(t, col, &m, line, &reading))
        return 0;
    int r = find_track(t, col, &m, &reading, &track);
    if (r == -E2BIG) {
        collect_skip(t->c, line, "more than %d series at one time", COLLECT_MAX_TRACKS);
        return 0;
    }
    if (r < 0)
        return r;
    if (t->clock == NO_COLUMN)
        at.step = (double) track->samples + 1;
    r = collect_sample(t->c, track, at, reading.value);
    return r < 0 ? r : 1;
}

static bool has_value(const struct table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->columns[i].is_value && cell_at(t, i))
            return true;
    }
    return false;
}

/* -EINVAL: the user named columns that do not exist. */
static int check_options(struct table *t)
{
    const char *clock = t->c->options->clock_column;
    if (!t->style.all_columns_known || !clock || t->clock != NO_COLUMN)
        return 0;
    struct buf names = BUF_INIT;
    add_names(t, &names);
    int r = collect_error(t->c, 0, "no %s '%.40s' (--clock); there are %s", t->style.columns_are,
                          clock, buf_text(&names));
    buf_release(&names);
    return r;
}

int table_row(struct table *t, uint64_t line)
{
    int r = 1;
    struct position at = POSITION_NONE;
    t->rows++;
    if (!t->is_chosen) {
        choose(t);
        r = check_options(t) < 0 ? -EINVAL : 1;
    }
    if (r > 0 && has_value(t) && read_position(t, line, &at)) {
        for (size_t i = 0; i < t->count && r > 0; i++) {
            struct column *col = &t->columns[i];
            if (col->is_value && cell_at(t, i))
                r = pass_value(t, col, at, line);
        }
    }
    table_clear_row(t);
    return r < 0 ? r : 0;
}
