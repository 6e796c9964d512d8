/* input/text_line.c: one line of a training log: its position and its values. */
#include "input/text_line.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A label with more words than this is a sentence. */
#define LABEL_MAX_WORDS 4

struct scan {
    const char *begin, *end;
    const char *p;       /* after the clock */
    bool in_prefix;      /* after a time or a level: a logger's name may follow */
    bool has_words;      /* a level or a name precedes the message */
    bool is_validation;  /* not training */
    bool direct_ok;      /* a size here needs no name: it follows the clock */
    bool short_units_ok; /* "2.5G" is a size here, as Ultralytics prints it */
    const struct input_options *options;
    struct name_memo *memo;
    struct text_line *out;
};

static bool is_word_char(char c)
{
    return isalnum((unsigned char) c) || c == '_';
}

const char *text_skip_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    return strncasecmp(text, word, len) == 0 && !is_word_char(text[len]) ? text + len : NULL;
}

static const char *skip_any_word(const char *text, const char *const *words)
{
    for (; *words; words++) {
        const char *behind = text_skip_word(text, *words);
        if (behind)
            return behind;
    }
    return NULL;
}

const char *text_skip_decoration(const char *text)
{
    for (;;) {
        text += strspn(text, " \t>*`");
        if ((*text == '-' || *text == '+') && text[1] == ' ')
            text++;
        else
            return text;
    }
}

/* A plain number without a unit; NULL: none here. */
static const char *take_plain(const struct scan *s, const char *p, double *ret)
{
    struct quantity q;
    if (!isdigit((unsigned char) *p) || quantity_parse(p, (size_t) (s->end - p), &q) < 0 ||
        q.has_unit)
        return NULL;
    *ret = q.value;
    return p + q.length;
}

/* "10/1000": a counter and its total. */
static const char *take_fraction(const struct scan *s, const char *p, double *ret_n,
                                 double *ret_total)
{
    double n, total;
    p += strspn(p, " ");
    const char *q = take_plain(s, p, &n);
    if (!q)
        return NULL;
    q += strspn(q, " ");
    q = *q == '/' ? take_plain(s, q + 1 + strspn(q + 1, " "), &total) : NULL;
    if (!q)
        return NULL;
    *ret_n = n;
    *ret_total = total;
    return q;
}

/* "pid=1234", "PID 1234", "Process 1234" in text[0, len). */
static int64_t find_pid(const char *text, size_t len)
{
    static const char *const words[] = {"pid", "process", NULL};
    for (size_t i = 0; i + 4 < len; i++) {
        const char *p = i > 0 && is_word_char(text[i - 1]) ? NULL : skip_any_word(text + i, words);
        if (!p)
            continue;
        p += strspn(p, " =:#");
        int64_t pid = 0;
        for (int n = 0; n < 12 && isdigit((unsigned char) *p); n++)
            pid = pid * 10 + (*p++ - '0');
        if (pid > 0)
            return pid;
    }
    return 0;
}

/* What may follow the number of a step, so that the line is not a sentence. */
static bool ends_clock(const struct scan *s, const char *p)
{
    struct quantity q;
    const char *word = p + strspn(p, " \t");
    if (*word == '\0' || strchr(":|,;)]=-+/*", *word))
        return true;
    if (word == p)
        return false;
    if (isdigit((unsigned char) *word))
        return quantity_parse(word, (size_t) (s->end - word), &q) == 0 && q.has_unit;
    size_t n = strcspn(word, " \t"), label = strcspn(word, ":=");
    bool has_number = word[n] == ' ' && isdigit((unsigned char) word[n + 1]);
    if (memchr(word, '=', n) || word[n - 1] == ':' || word - p >= 2 || has_number)
        return true;
    /* "Step 5 Memory allocated: 5.2 GB" */
    return label < 40 && word[label] && name_recall(s->memo, word, label).role >= NAME_MEMORY;
}

/* "-80", "+" or "/1000" after the step. */
static const char *take_step_tail(struct scan *s, const char *p)
{
    static const char en_dash[] = "\xe2\x80\x93";
    double number;
    const char *q = *p == '-' ? p + 1 : (strncmp(p, en_dash, 3) == 0 ? p + 3 : NULL);
    if (q && (q = take_plain(s, q, &number)) != NULL) {
        s->out->step_end = number;
        return q;
    }
    if (*p == '+') {
        s->out->step_end = s->out->step;
        return p + 1;
    }
    q = p + strspn(p, " ");
    if (*q == '/' && (q = take_plain(s, q + 1 + strspn(q + 1, " "), &number)) != NULL) {
        s->out->total = number;
        return q;
    }
    return p;
}

/* "Step 10", "iter: 19", "Training step 5/100" at `p`; NULL: no clock here. */
static const char *take_step(struct scan *s, const char *p)
{
    static const char *const before[] = {"train", "training", "global", NULL};
    static const char *const words[] = {"step",        "steps",      "iter",  "iteration",
                                        "global_step", "iterations", "batch", NULL};
    const char *q = skip_any_word(p, before);
    if (q)
        p = q + strspn(q, " ");
    q = skip_any_word(p, words);
    if (!q && s->options->clock_column)
        q = text_skip_word(p, s->options->clock_column);
    double step;
    q = q ? take_plain(s, q + strspn(q, " \t:=#[("), &step) : NULL;
    if (!q)
        return NULL;
    s->out->step = step;
    q = take_step_tail(s, q);
    if (ends_clock(s, q))
        return q;
    s->out->step = s->out->step_end = s->out->total = NAN;
    return NULL;
}

/* "Epoch 3", "Epoch: [0]", "Epoch(train) [1]", "Epoch 3/10"; NULL: none. */
static const char *take_epoch(struct scan *s, const char *p)
{
    double epoch, total;
    const char *q = text_skip_word(p, "epoch");
    if (q && *q == '(') {
        s->is_validation = strncasecmp(q, "(train)", 7) != 0;
        q += strcspn(q, " ");
    }
    q = q ? take_plain(s, q + strspn(q, " \t:=#["), &epoch) : NULL;
    if (!q)
        return NULL;
    q += *q == ']';
    const char *behind = *q == '/' ? take_plain(s, q + 1, &total) : NULL;
    if (behind)
        q = behind;
    if (q[strspn(q, " ")] != '[' && !ends_clock(s, q))
        return NULL;
    s->out->epoch = epoch;
    return q;
}

/* A bracketed group before the message: a time, a rank, a pid, or the step itself. */
static const char *take_bracket(struct scan *s, const char *p)
{
    double n, total;
    const char *close = strpbrk(p + 1, "])");
    if (!close || close - p > 120)
        return NULL;
    const char *inside = p + 1 + strspn(p + 1, " ");
    if (!s->out->has_moment && when_parse(inside, (size_t) (close - inside), &s->out->moment))
        s->out->has_moment = s->in_prefix = true;
    bool has_step = take_step(s, inside) != NULL;
    if (!has_step && isfinite(s->out->epoch) && take_fraction(s, inside, &n, &total) == close) {
        s->out->step = n;
        s->out->total = total;
    }
    if (!s->out->pid)
        s->out->pid = find_pid(p, (size_t) (close - p));
    return close + 1;
}

/* "trainer - ", "__main__:train:45 | ", "train.py:12: ": the logger's name; NULL: none. */
static const char *take_logger(const struct scan *s, const char *p)
{
    const char *q = p;
    while (is_word_char(*q) || (*q && strchr(".-/", *q)))
        q++;
    const char *behind = q + strspn(q, " ");
    bool ends = *q == ':' || (behind > q && *behind && strchr("-|", *behind));
    bool is_name = q > p && name_recall(s->memo, p, (size_t) (q - p)).role == NAME_OTHER;
    return ends && is_name ? behind + 1 : NULL;
}

/* "host train[123]: ", as syslog writes it after the time; NULL: none. */
static const char *take_syslog(struct scan *s, const char *p)
{
    const char *name = strchr(p, ' '), *bracket = strchr(p, '[');
    const char *behind = bracket ? strstr(bracket, "]: ") : NULL;
    bool is_syslog = name && behind && name < bracket && behind - p < 120 &&
                     !memchr(name + 1, ' ', (size_t) (behind - name - 1));
    if (!is_syslog)
        return NULL;
    long long pid = strtoll(bracket + 1, NULL, 10);
    s->out->pid = pid > 0 ? pid : 0;
    return behind + strlen("]: ");
}

/* Skips what loggers print before the message. NULL: the message begins here. */
static const char *take_prefix(struct scan *s, const char *p)
{
    static const char *const levels[] = {"info",  "debug",  "warning", "warn", "error",
                                         "trace", "notice", "main",    NULL};
    if (*p && strchr(" \t|-:,", *p))
        return p + 1;
    if (!s->out->has_moment && when_parse(p, (size_t) (s->end - p), &s->out->moment)) {
        s->out->has_moment = s->in_prefix = true;
        const char *behind = p + s->out->moment.length;
        const char *message = *behind == ' ' ? take_syslog(s, behind + 1) : NULL;
        return message ? message : behind;
    }
    if (*p == '[' || *p == '(')
        return take_bracket(s, p);
    const char *q = skip_any_word(p, levels);
    s->in_prefix = s->in_prefix || q;
    s->has_words = s->has_words || q;
    if (!q && !isfinite(s->out->epoch))
        q = take_epoch(s, p);
    if (!q && s->in_prefix) {
        q = take_logger(s, p);
        s->has_words = s->has_words || q;
    }
    return q;
}

/* `key: number` anywhere, with or without quotes: the step of key-value lines. */
static bool find_keyed(const struct scan *s, const char *key, double *ret)
{
    size_t len = strlen(key);
    for (const char *p = s->begin; (p = strcasestr(p, key)) != NULL; p += len) {
        const char *q = p + len;
        if ((p > s->begin && is_word_char(p[-1])) || is_word_char(*q))
            continue;
        q += strspn(q, "'\"");
        const char *mark = q + strspn(q, " ");
        if ((*mark == ':' || *mark == '=') && take_plain(s, mark + 1 + strspn(mark + 1, " "), ret))
            return true;
    }
    return false;
}

/* "Memory after step 10: 5.2 GB"; NULL: no step, or a sentence. */
static const char *take_late_step(struct scan *s, const char *p)
{
    const char *q = strcasestr(p, " step ");
    size_t len = q ? (size_t) (q - p) : 0;
    if (!q || len > 40 || name_recall(s->memo, p, len).role != NAME_MEMORY)
        return NULL;
    q = take_step(s, q + 1);
    if (q && *q != ':' && *q != '=') {
        s->out->step = s->out->step_end = s->out->total = NAN;
        return NULL;
    }
    return q;
}

/* tqdm's "12/100 [00:05<00:40, ...]"; NULL: none in the line. */
static const char *find_progress(struct scan *s)
{
    for (const char *p = s->p; *p; p++) {
        double n, total;
        bool begins = isdigit((unsigned char) *p) && (p == s->begin || strchr(" |", p[-1]));
        const char *q = begins ? take_fraction(s, p, &n, &total) : NULL;
        if (!q || strncmp(q, " [", 2) != 0)
            continue;
        s->out->step = n;
        s->out->total = total;
        return q;
    }
    return NULL;
}

/* Ultralytics' "  1/100  2.52G  ...": the epoch, its total and a size. */
static const char *take_epoch_row(struct scan *s, const char *p)
{
    double n, total;
    struct quantity size;
    const char *q = take_fraction(s, p, &n, &total);
    if (!q || (*q != ' ' && *q != '\t'))
        return NULL;
    const char *value = q + strspn(q, " \t");
    if (quantity_parse(value, (size_t) (s->end - value), &size) < 0 || !size.has_unit)
        return NULL;
    s->out->step = n;
    s->short_units_ok = true;
    return q;
}

/* Finds the position of the line. False: it has none. */
static bool find_clock(struct scan *s)
{
    struct text_line *out = s->out;
    const char *p = text_skip_decoration(s->begin), *q;
    for (int i = 0; i < 40 && !isfinite(out->step) && (q = take_prefix(s, p)) != NULL; i++)
        p = q;
    s->p = p;
    s->direct_ok = true;
    if (isfinite(out->step))
        return true;
    q = take_step(s, p);
    if (!q)
        q = take_epoch_row(s, p);
    if (!q)
        q = take_late_step(s, p);
    if (!q)
        q = find_progress(s);
    if (q) {
        s->p = q;
        return true;
    }
    s->direct_ok = !s->has_words && (out->has_moment || isfinite(out->epoch));
    if (!isfinite(out->epoch))
        find_keyed(s, "epoch", &out->epoch);
    const char *given = s->options->clock_column;
    if ((given && find_keyed(s, given, &out->step)) || find_keyed(s, "global_step", &out->step) ||
        find_keyed(s, "step", &out->step) || find_keyed(s, "iter", &out->step) ||
        find_keyed(s, "iteration", &out->step))
        return true;
    return out->has_moment || isfinite(out->epoch);
}

static size_t count_words(const char *text, size_t len)
{
    size_t words = 0;
    for (size_t i = 0; i < len; i++)
        words += is_word_char(text[i]) && (i == 0 || text[i - 1] == ' ');
    return words;
}

/* The name before a number: everything since the last separator. */
static void set_label(const struct scan *s, const char *begin, const char *number,
                      struct text_value *v)
{
    const char *p = number;
    while (p > begin && strchr(" \t:='\"*`.-<", p[-1]))
        p--;
    const char *end = p;
    while (p > begin && !strchr("|,;()[]{}\t", p[-1]) && strncmp(p - 1, ": ", 2) != 0 &&
           strncmp(p - 1, "  ", 2) != 0 && (p - 2 < begin || strncmp(p - 2, "- ", 2) != 0))
        p--;
    p += strspn(p, " '\"*`");
    v->label = p;
    v->label_len = end > p ? (size_t) (end - p) : 0;
    v->meaning = name_recall(s->memo, v->label, v->label_len);
}

/* "~5 MB", "+5 MB", "10-36 MB", "a / 5 MB", "5 MB/step", "5 MB per step" are not levels. */
static bool is_level(const struct scan *s, const char *number, const struct quantity *q)
{
    const char *before = number;
    while (before > s->begin && strchr(" *", before[-1]))
        before--;
    char c = before > s->begin ? before[-1] : ' ';
    if (*number == '+' || *number == '-' || (unsigned char) c >= 0x80 || strchr("~<>/+^", c))
        return false;
    if ((c == '-' || c == 'x') && before == number)
        return false;
    const char *after = number + q->length;
    after += strspn(after, "*");
    if (*after == '%' || (*after == '-' && isdigit((unsigned char) after[1])))
        return false;
    const char *next = after + strspn(after, " ");
    return !(*next == '/' && isalpha((unsigned char) next[1])) && !text_skip_word(next, "per") &&
           !text_skip_word(next, "over") && *next != '%' && !(*next == '=' && next > after);
}

/* "6,529 tensors". */
static const char *counted_word(const char *behind)
{
    static const char *const words[] = {"tensors", "objects", "threads", "fds", NULL};
    const char *word = behind + strspn(behind, " ");
    for (size_t i = 0; words[i]; i++) {
        if (text_skip_word(word, words[i]))
            return words[i];
    }
    return NULL;
}

/* In "5.2/16.0 GB" the unit of the total also applies to the number before it. */
static void borrow_unit(const struct scan *s, const char *number, struct quantity *q)
{
    struct quantity total;
    const char *slash = number + q->length;
    if (q->has_unit || *slash != '/' ||
        quantity_parse(slash + 1, (size_t) (s->end - slash - 1), &total) < 0 || !total.has_unit)
        return;
    size_t length;
    const char *unit = slash + 1 + total.length;
    while (unit > slash && isalpha((unsigned char) unit[-1]))
        unit--;
    double factor = quantity_unit(unit, (size_t) (s->end - unit), &length);
    q->value *= factor;
    q->resolution *= factor;
    q->has_unit = true;
}

/* The bytes per unit of a plain number whose name means memory; 0: not memory. */
static double plain_unit(const struct scan *s, const char *number, struct text_value *v)
{
    const char *p = number;
    while (p > s->begin && strchr(" '\"*", p[-1]))
        p--;
    bool is_keyed = p > s->begin && strchr(":=", p[-1]);
    if (!is_keyed)
        return 0;
    if (v->meaning.role == NAME_COUNT) {
        v->unit = SERIES_COUNT;
        return 1;
    }
    if (isfinite(v->meaning.unit))
        return v->meaning.unit;
    if (s->options->unit)
        return name_unit(s->options->unit, &v->unit);
    v->is_plain = true;
    return 1;
}

/* A value the user named, or one whose name means memory. */
static bool is_wanted(const struct scan *s, const struct text_value *v)
{
    if (s->options->value_columns)
        return v->label_len > 0 &&
               name_listed(s->options->value_columns, v->label, v->label_len, 0);
    return (v->meaning.role == NAME_MEMORY || v->meaning.role == NAME_COUNT) &&
           count_words(v->label, v->label_len) <= LABEL_MAX_WORDS;
}

/* A size without a name right after the clock, with an unambiguous unit. */
static bool is_direct(const struct scan *s, const char *number, const struct quantity *q,
                      const struct text_value *v)
{
    const char *p = s->p;
    p += strspn(p, " \t:|,;-=)]*");
    const char *last = number + q->length - 1;
    bool is_whole_unit = strchr("bBsS", *last) != NULL;
    return s->direct_ok && p == number && v->label_len == 0 && q->has_unit &&
           (is_whole_unit || s->short_units_ok) && !s->options->value_columns;
}

/* "(CPU: 330, GPU: 6,199)" after a count. */
static bool is_share(const struct scan *s, const struct text_value *v)
{
    const struct text_line *out = s->out;
    return out->count > 0 && out->values[out->count - 1].counted &&
           (v->meaning.is_cpu || v->meaning.is_gpu);
}

/* Judges one number; true: it is a value and *v is set. */
static bool judge(const struct scan *s, const char *number, struct quantity q,
                  const char *label_begin, struct text_value *v)
{
    set_label(s, label_begin, number, v);
    borrow_unit(s, number, &q);
    const char *counted = q.has_unit ? NULL : counted_word(number + q.length);
    double factor = 1;
    if (!is_level(s, number, &q) || (counted && s->options->value_columns))
        return false;
    if (counted) {
        v->counted = counted;
        v->unit = SERIES_COUNT;
        v->meaning = name_recall(s->memo, counted, strlen(counted));
        v->label_len = 0;
    } else if (!q.has_unit && is_share(s, v)) {
        v->counted = s->out->values[s->out->count - 1].counted;
        v->unit = SERIES_COUNT;
        v->device = v->meaning.is_cpu ? "cpu" : "cuda";
        v->meaning = name_recall(s->memo, v->counted, strlen(v->counted));
        v->label_len = 0;
    } else if (is_wanted(s, v)) {
        factor = q.has_unit ? 1 : plain_unit(s, number, v);
    } else if (!is_direct(s, number, &q, v)) {
        return false;
    } else if (s->short_units_ok) {
        v->meaning.kind = "gpu.used";
    }
    v->value = q.value * factor;
    v->resolution = q.resolution * factor;
    /* A count over a range of steps was constant; a size over a range is a sum or a rate. */
    return factor > 0 && isfinite(v->value) && (v->counted || isnan(s->out->step_end));
}

static void find_values(struct scan *s)
{
    const char *label_begin = s->p;
    for (const char *p = s->p; p < s->end && s->out->count < TEXT_MAX_VALUES;) {
        struct quantity q;
        bool begins = (isdigit((unsigned char) *p) ||
                       ((*p == '+' || *p == '-') && isdigit((unsigned char) p[1]))) &&
                      (p == s->begin || (!is_word_char(p[-1]) && p[-1] != '.'));
        if (!begins || quantity_parse(p, (size_t) (s->end - p), &q) < 0) {
            p++;
            continue;
        }
        struct text_value v = {.label = NULL};
        if (judge(s, p, q, label_begin, &v))
            s->out->values[s->out->count++] = v;
        p += q.length;
        while (is_word_char(*p))
            p++;
        label_begin = p;
    }
}

/* The line is placed like data and names a size, but has no number for it. */
static void find_trouble(const struct scan *s)
{
    static const char *const units[] = {"mb", "gb", "kb", "mib", "gib", "kib", NULL};
    struct text_line *out = s->out;
    const char *p = s->p + strspn(s->p, " :");
    bool is_plain_step = isfinite(out->step) && isnan(out->step_end) && *s->p == ':';
    if (out->count > 0 || !is_plain_step || isdigit((unsigned char) *p) || strchr("+-~", *p))
        return;
    size_t word = strcspn(p, " \t");
    if (p[word] == ' ' && skip_any_word(p + word + 1, units))
        out->trouble = "no number before the unit";
}

void text_line_parse(const char *text, size_t len, const struct input_options *options,
                     struct name_memo *memo, struct text_line *ret)
{
    *ret = (struct text_line){.step = NAN, .step_end = NAN, .total = NAN, .epoch = NAN};
    struct scan s = {
        .begin = text, .end = text + len, .options = options, .memo = memo, .out = ret};
    const char *p = text_skip_decoration(text);
    /* Rows of Markdown tables repeat earlier parts of the log. */
    if (*p == '|' || *p == '#' || !find_clock(&s) || s.is_validation)
        return;
    if (!ret->pid)
        ret->pid = find_pid(text, (size_t) (s.p - text));
    ret->is_trainwatch = strstr(text, "CPU=") && strstr(text, "VRAM=") && strstr(text, "loss=");
    find_values(&s);
    find_trouble(&s);
}
