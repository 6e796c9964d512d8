/* input/progress_line.c: finds the training count in one line of a program's output. */
#include "input/progress_line.h"

#include "input/progress_bar.h"
#include "input/text_line.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define COUNT_MAX 1e15
#define EPOCH_MAX 1e6
#define SHAPE_LETTERS 24 /* before a number: enough to identify its source */
#define MAX_LOOKS 16     /* candidate numbers per line; the rest is ignored */
#define LEAD_WORDS_MAX 6 /* words before a keyword that may name a setting */

enum key { KEY_NONE, KEY_STEP, KEY_GLOBAL, KEY_EPOCH };

enum lead {
    LEAD_FREE,    /* the keyword begins the statement */
    LEAD_WORDS,   /* it is inside a sentence */
    LEAD_SETTING, /* "max step": a setting */
};

struct word {
    const char *begin;
    size_t len; /* 0: none */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_word_char(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || (c >= '-' && c <= '/');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Marks that may separate a word and its number. */
static bool is_mark(char c)
{
    return is_blank(c) || c == ':' || c == '=' || c == '#' || c == '[' || c == '(' || c == '"' ||
           c == '\'';
}

static bool word_is(struct word w, const char *text)
{
    return strlen(text) == w.len && strncasecmp(w.begin, text, w.len) == 0;
}

/* "validating" begins with "valid"; "eval_loss" and "eval" are different words. */
static bool word_begins(struct word w, const char *stem, size_t len)
{
    if (w.len < len || strncasecmp(w.begin, stem, len) != 0)
        return false;
    for (size_t i = len; i < w.len; i++) {
        if (!is_letter(w.begin[i]))
            return false;
    }
    return true;
}

/* `list` ends with NULL; "valid*" matches every word with that beginning. */
static bool word_listed(struct word w, const char *const *list)
{
    for (; *list; list++) {
        if (((*list)[0] | 32) != (w.begin[0] | 32))
            continue;
        size_t len = strlen(*list) - 1;
        bool is_stem = (*list)[len] == '*';
        if (is_stem ? word_begins(w, *list, len) : word_is(w, *list))
            return true;
    }
    return false;
}

/* ---- numbers ---- */

static const char *take_digits(const char *p, double *value)
{
    for (; is_digit(*p); p++)
        *value = *value * 10 + (*p - '0');
    return p;
}

static bool is_group(const char *p)
{
    return *p == ',' && strspn(p + 1, "0123456789") == 3;
}

/* The "k" after a number that tqdm has rescaled. */
static double take_scale(const char **p)
{
    static const char letters[] = "kMG";
    const char *found = **p ? strchr(letters, **p) : NULL;
    if (!found || isalnum((unsigned char) (*p)[1]))
        return 1;
    ++*p;
    return pow(1000, (double) (found - letters + 1));
}

const char *progress_number(const char *p, double *ret, bool *ret_is_whole)
{
    if (!is_digit(*p))
        return NULL;
    double value = 0, unit = 1;
    const char *q = take_digits(p, &value);
    for (bool grouped = q - p <= 3; grouped && is_group(q);)
        q = take_digits(q + 1, &value);
    bool has_point = *q == '.' && is_digit(q[1]);
    if (has_point) {
        for (q++; is_digit(*q); q++)
            value += (*q - '0') * (unit /= 10);
    }
    double scale = take_scale(&q);
    *ret = value * scale;
    *ret_is_whole = !has_point || scale > 1;
    return q;
}

/* Reads "/100" or " of 100" at `p`; without it the total stays NAN. Returns the end. */
static const char *take_total(const char *p, double *ret_total)
{
    bool is_whole;
    double total;
    const char *q = p + strspn(p, " \t");
    const char *of = text_skip_word(q, "of");
    q = *q == '/' ? q + 1 : of;
    q = q ? progress_number(q + strspn(q, " \t"), &total, &is_whole) : NULL;
    if (!q || total > COUNT_MAX)
        return p;
    *ret_total = total;
    return q;
}

static bool take_count(const char *p, struct progress_count *ret)
{
    *ret = (struct progress_count){.begin = p, .total = NAN};
    ret->behind_n = progress_number(p, &ret->n, &ret->is_whole);
    if (!ret->behind_n)
        return false;
    ret->end = take_total(ret->behind_n, &ret->total);
    return ret->n <= COUNT_MAX;
}

/* ---- the words around a number ---- */

/* The word before `p`, separated only by marks. */
static struct word word_before(const char *text, const char *p)
{
    while (p > text && is_mark(p[-1]))
        p--;
    /* mmengine's "Epoch(train)  [1]" */
    if (p - text > 7 && strncmp(p - 7, "(train)", 7) == 0)
        p -= 7;
    const char *end = p;
    while (p > text && is_word_char(p[-1]))
        p--;
    return (struct word){p, is_digit(*p) ? 0 : (size_t) (end - p)};
}

/* The last part of "trainer/global_step" or "_step". */
static struct word last_part(struct word w)
{
    const char *end = w.begin + w.len, *p = end;
    while (p > w.begin && p[-1] != '/' && p[-1] != '.')
        p--;
    while (p < end && *p == '_')
        p++;
    return (struct word){p, (size_t) (end - p)};
}

static enum key key_of(struct word w)
{
    static const struct {
        const char *text;
        enum key key;
    } keys[] = {
        {"step", KEY_STEP},           {"steps", KEY_STEP},         {"iter", KEY_STEP},
        {"iters", KEY_STEP},          {"itr", KEY_STEP},           {"iteration", KEY_STEP},
        {"iterations", KEY_STEP},     {"batch", KEY_STEP},         {"batch_idx", KEY_STEP},
        {"minibatch", KEY_STEP},      {"mini-batch", KEY_STEP},    {"update", KEY_STEP},
        {"updates", KEY_STEP},        {"train_step", KEY_STEP},    {"training_step", KEY_STEP},
        {"current_step", KEY_STEP},   {"iter_num", KEY_STEP},      {"episode", KEY_STEP},
        {"episodes", KEY_STEP},       {"rollout", KEY_STEP},       {"round", KEY_STEP},
        {"request", KEY_STEP},        {"global_step", KEY_GLOBAL}, {"global-step", KEY_GLOBAL},
        {"global_iter", KEY_GLOBAL},  {"num_updates", KEY_GLOBAL}, {"optimizer_step", KEY_GLOBAL},
        {"global_steps", KEY_GLOBAL}, {"epoch", KEY_EPOCH},
    };
    if (w.len < 3)
        return KEY_NONE;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if ((*w.begin | 32) == keys[i].text[0] && word_is(w, keys[i].text))
            return keys[i].key;
    }
    return KEY_NONE;
}

static bool is_upper_case(struct word w)
{
    for (size_t i = 0; i < w.len; i++) {
        if (islower((unsigned char) w.begin[i]))
            return false;
    }
    return true;
}

/* The word that ends before *p, after optional blanks; moves *p to its beginning. */
static struct word take_word_before(const char *text, const char **p)
{
    const char *begin = *p;
    while (begin > text && is_blank(begin[-1]))
        begin--;
    const char *end = begin;
    while (begin > text && (is_letter(begin[-1]) || begin[-1] == '_'))
        begin--;
    *p = begin;
    return (struct word){begin, (size_t) (end - begin)};
}

/* What precedes a keyword at `p`. */
static enum lead lead_of(const char *text, const char *p, bool *ret_is_global)
{
    static const char *const settings[] = {
        "warmup", "max",          "total", "num", "number", "every", "per",
        "each",   "accumulation", "save",  "log", "next",   "last",  NULL};
    static const char *const passing[] = {"train",   "training",  "global", "current",
                                          "trained", "optimizer", "at",     NULL};
    enum lead lead = LEAD_FREE;
    for (int i = 0; i < LEAD_WORDS_MAX; i++) {
        struct word w = take_word_before(text, &p);
        if (w.len == 0 || is_upper_case(w))
            return lead;
        if (word_listed(w, settings))
            return LEAD_SETTING;
        if (!word_listed(w, passing))
            lead = LEAD_WORDS;
        *ret_is_global = *ret_is_global || word_is(w, "global");
    }
    return lead;
}

/* The first word of a sentence after a number: "Step 1: install the driver". */
static struct word prose_behind(const char *p)
{
    p += strspn(p, " \t:.,;-)]|>}*");
    const char *end = p;
    while (is_word_char(*end))
        end++;
    const char *next = end + strspn(end, " \t");
    bool is_label = *next == '\0' || is_digit(*next) || strchr(":=|([", *next);
    bool is_prose = is_letter(*p) && !is_label;
    return (struct word){p, is_prose ? (size_t) (end - p) : 0};
}

/* Work that counts but is not training. */
static const char *const other_work[] = {
    "val",        "valid*",     "eval*",    "test",      "tests",   "testing",
    "predicting", "infer*",     "sanity",   "download*", "upload*", "tokeniz*",
    "tokenis*",   "generating", "sampling", "loading",   "saving",  NULL};

/* The same, as the description of a bar. */
static const char *const other_bars[] = {
    "map",       "mapping",   "filter*",    "shards",      "fetching",  "extract*",
    "preproc*",  "preparing", "caching",    "scanning",    "resolving", "flatten*",
    "casting",   "grouping",  "convert*",   "computing",   "creating",  "collect*",
    "calibrat*", "quantiz*",  "compiling",  "indexing",    "packing",   "building",
    "reading",   "embedding", "benchmark*", "calculating", NULL};

static bool is_other_word(struct word w)
{
    return w.len > 2 && word_listed(w, other_work);
}

/* Whether the words up to `end` say that something other than training counts. */
static bool is_other_work(const char *text, const char *end, bool is_bar)
{
    for (const char *p = text; p < end;) {
        const char *begin = p;
        while (p < end && is_word_char(*p))
            p++;
        struct word w = {begin, (size_t) (p - begin)};
        if (is_other_word(w) || (is_bar && w.len > 2 && word_listed(w, other_bars)))
            return true;
        p += p < end;
    }
    return false;
}

/* ---- shapes ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t mix_word(uint64_t hash, struct word w)
{
    for (size_t i = 0; i < w.len; i++)
        hash = mix(hash, (uint64_t) (w.begin[i] | 32));
    return hash;
}

/* Mixes in the number of "[rank0]": each rank prints its own count. */
static uint64_t mix_rank(uint64_t hash, const char *text, const char *end)
{
    bool is_whole;
    double rank;
    const char *p = strcasestr(text, "rank");
    if (!p || p >= end || !progress_number(p + 4 + strspn(p + 4, "_ =:"), &rank, &is_whole))
        return hash;
    return mix(hash, (uint64_t) (rank < COUNT_MAX ? rank : 0) + 1);
}

/* The hash of the letters before a number; letters after digits are units ("12ms", "1e-05"). */
static uint64_t shape_of(const char *text, const char *p, uint64_t hash)
{
    hash = mix_rank(hash, text, p);
    for (size_t letters = 0; p > text && letters < SHAPE_LETTERS;) {
        const char *end = p;
        while (p > text && is_letter(p[-1]))
            p--;
        bool is_unit = p > text && p < end && is_digit(p[-1]);
        if (!is_unit) {
            hash = mix_word(hash, (struct word){p, (size_t) (end - p)});
            letters += (size_t) (end - p);
        }
        p -= p > text;
    }
    return hash;
}

/* ---- a line ---- */

struct scan {
    const char *text;
    struct progress_line *out;
    unsigned looks; /* numbers that needed a pass over the line */
};

/* Judges the text before a number. Costs a pass over the line. */
static bool is_of_training(struct scan *s, const struct progress_count *c, bool is_bar)
{
    s->looks++;
    return !is_other_work(s->text, c->begin, is_bar);
}

/* Keeps the surest count of the line; among equals, the first. */
static void keep_step(const struct scan *s, const struct progress_count *c, enum progress_kind kind,
                      uint64_t shape)
{
    struct progress_line *out = s->out;
    if (isfinite(out->step) && out->kind >= kind)
        return;
    out->step = c->n;
    out->total = c->total >= c->n ? c->total : NAN;
    out->kind = kind;
    out->shape = shape | 1; /* 0 means none */
}

static void keep_epoch(const struct scan *s, const struct progress_count *c, bool ended)
{
    if (isfinite(s->out->epoch) || c->n > EPOCH_MAX)
        return;
    s->out->epoch = floor(c->n);
    s->out->epoch_total = c->total >= c->n ? c->total : NAN;
    s->out->epoch_ended = ended || !c->is_whole;
}

/* What may not directly follow a count: a unit, a range, a percentage. */
static bool is_glued(const char *p)
{
    return isalnum((unsigned char) *p) || *p == '%' || *p == '_' || *p == '+' ||
           (*p == '-' && is_digit(p[1]));
}

/* "step 12", "global_step: 500", "'epoch': 0.12": true if a keyword precedes the number. */
static bool read_keyword(struct scan *s, const struct progress_count *c)
{
    struct word w = word_before(s->text, c->begin);
    struct word part = last_part(w);
    enum key key = key_of(part);
    if (key == KEY_NONE || is_glued(c->end))
        return false;
    /* "eval/step" */
    if (part.begin > w.begin &&
        is_other_word((struct word){w.begin, (size_t) (part.begin - 1 - w.begin)}))
        return true;
    bool is_global = key == KEY_GLOBAL;
    enum lead lead = lead_of(s->text, w.begin, &is_global);
    struct word prose = prose_behind(c->end);
    bool is_count = c->is_whole || key == KEY_EPOCH;
    if (lead == LEAD_SETTING || (lead == LEAD_WORDS && prose.len > 0) || !is_count ||
        !is_of_training(s, c, false))
        return true;
    if (key == KEY_EPOCH)
        keep_epoch(s, c, false);
    else
        keep_step(s, c, is_global ? PROGRESS_GLOBAL : PROGRESS_STEP,
                  mix_word(shape_of(s->text, c->begin, key), prose));
    return true;
}

/* "[640/60000 (1%)]" after the epoch; "[  64/60000]" in a line with a loss. */
static void read_fraction(struct scan *s, const struct progress_count *c)
{
    const char *p = c->begin;
    while (p > s->text && is_blank(p[-1]))
        p--;
    bool in_brackets = p > s->text && p[-1] == '[' && strchr("] (", *c->end);
    bool follows_epoch = isfinite(s->out->epoch) && !s->out->epoch_ended;
    bool is_count = isfinite(c->total) && c->n <= c->total && c->total > 1 && c->is_whole &&
                    !is_glued(c->end) && *c->end != '/' && word_before(s->text, c->begin).len == 0;
    if (!is_count || (!follows_epoch && !in_brackets) || !is_of_training(s, c, false))
        return;
    bool is_share = strncmp(c->end, " (", 2) == 0 && strchr(c->end, '%');
    if (follows_epoch && !is_share)
        keep_step(s, c, PROGRESS_STEP, shape_of(s->text, c->begin, '/'));
    else if (follows_epoch || (in_brackets && strcasestr(s->text, "loss")))
        keep_step(s, c, PROGRESS_SAMPLES, shape_of(s->text, c->begin, '%'));
}

static bool has_listed_word(const char *text, const char *end, const char *const *list)
{
    for (const char *p = text; p < end; p++) {
        const char *begin = p;
        while (p < end && is_letter(*p))
            p++;
        if (p > begin && word_listed((struct word){begin, (size_t) (p - begin)}, list))
            return true;
    }
    return false;
}

/* A bar: its description says what it counts. True if it is a bar, whatever it counts. */
static bool read_bar(struct scan *s, const struct progress_count *c)
{
    static const char *const words[] = {"train*", "step*", "iter*", "batch*", "epoch", "fit", NULL};
    static const char *const epochs[] = {"epoch", "epochs", NULL};
    struct progress_bar bar;
    if (!progress_bar_parse(s->text, c, &bar))
        return false;
    s->out->length = (size_t) (bar.end - s->text);
    s->out->is_bar = bar.is_closed;
    bool is_training = has_listed_word(s->text, c->begin, words);
    if (bar.unit == BAR_BYTES || (bar.unit == BAR_DATA && !is_training) ||
        !is_of_training(s, c, true))
        return true;
    bool has_epoch = isfinite(s->out->epoch);
    /* Lightning's "Epoch 0/9" means ten epochs. */
    s->out->epoch_total += bar.is_rich;
    if (!has_epoch && has_listed_word(s->text, c->begin, epochs)) {
        keep_epoch(s, c, true);
        return true;
    }
    /* Bars without an epoch are told apart by their totals: Hugging Face draws the bars of
     * evaluation and training alike. */
    uint64_t total = !has_epoch && isfinite(c->total) ? (uint64_t) c->total : 0;
    keep_step(s, c, is_training ? PROGRESS_STEP : PROGRESS_BAR,
              shape_of(s->text, c->begin, mix('|', total)));
    return true;
}

/* "[1,  2000] loss: 2.218" at the start of a line: epoch and batch. */
static bool read_pair(const struct scan *s, const struct progress_count *c)
{
    struct progress_count step;
    const char *p = c->behind_n;
    if (c->begin != s->text + 1 || s->text[0] != '[' || *p != ',' || !is_blank(p[1]))
        return false;
    p++;
    if (!take_count(p + strspn(p, " "), &step) || strncmp(step.end, "] loss", 6) != 0)
        return false;
    keep_epoch(s, c, false);
    keep_step(s, &step, PROGRESS_STEP, ',');
    return true;
}

/* The last letters of the keywords and of "Epoch(train)". */
static bool ends_keyword(char c)
{
    switch (c) {
    case 'p': /* step */
    case 's': /* steps */
    case 'r': /* iter */
    case 'n': /* iteration */
    case 'h': /* batch, epoch */
    case 'x': /* batch_idx */
    case 'e': /* update */
    case 'm': /* iter_num */
    case 't': /* request */
    case 'd': /* round */
    case ')':
        return true;
    default:
        return false;
    }
}

/*
 * A cheap test that rules out most numbers by their neighbours: a count is followed by "/" or, in a
 * bar, "[", or preceded by a word that ends like a keyword.
 */
static bool might_count(const char *text, const char *p, const char *behind)
{
    const char *q = behind;
    while (is_letter(*q))
        q++;
    while (is_blank(*q))
        q++;
    if (*q == '/' || *q == '[')
        return true;
    for (q = p; q > text && is_mark(q[-1]);)
        q--;
    return q == text ? text[0] == '[' : ends_keyword((char) (q[-1] | 32));
}

/* Reads the number at `p`; returns where to continue, NULL: the line is done. */
static const char *read_number(struct scan *s, const char *p)
{
    struct progress_count c;
    const char *behind = p;
    while (is_digit(*behind) || *behind == ',' || *behind == '.')
        behind++;
    if (!might_count(s->text, p, behind))
        return behind;
    if (!take_count(p, &c))
        return behind;
    if (s->looks >= MAX_LOOKS || read_bar(s, &c))
        return NULL;
    if (!read_keyword(s, &c) && !read_pair(s, &c))
        read_fraction(s, &c);
    return isfinite(c.total) ? c.end : c.behind_n;
}

bool progress_line_parse(const char *text, struct progress_line *ret)
{
    *ret = (struct progress_line){
        .step = NAN, .total = NAN, .epoch = NAN, .epoch_total = NAN, .length = strlen(text)};
    struct scan s = {.text = text, .out = ret};
    for (const char *p = text; p && *p;) {
        bool is_number = is_digit(*p);
        bool is_part = p > text && (p[-1] == '.' || p[-1] == '_' || p[-1] == '-');
        if (is_number && !is_part)
            p = read_number(&s, p);
        else
            p += is_number ? strspn(p, "0123456789") : 1;
    }
    ret->is_per_epoch = isfinite(ret->epoch) && !ret->epoch_ended && ret->kind != PROGRESS_GLOBAL;
    return isfinite(ret->step) || isfinite(ret->epoch);
}
