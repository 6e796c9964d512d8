/* sites/text.c: sites as text, both ways. Trusts nothing in the text. */
#include "sites/sites.h"
#include "sites/texts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME "tidemark sites "
#define NUMBER_MOST 1e30 /* no number is larger */
#define LINE_MOST 100000000

/* ---- writing ---- */

static void add_text(struct buf *out, const char *text)
{
    buf_addc(out, '\t');
    for (; *text; text++) {
        char c = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text == '\\' ? '\\' : 0;
        if (c)
            buf_addc(out, '\\');
        buf_addc(out, c ? c : *text);
    }
}

static void add_number(struct buf *out, double value, int decimals)
{
    buf_addc(out, '\t');
    if (fabs(value) <= NUMBER_MOST)
        buf_addf(out, "%.*f", decimals, value);
}

static void add_bytes(struct buf *out, double value)
{
    add_number(out, value, 0);
}

static void add_seconds(struct buf *out, double value)
{
    add_number(out, value, 3);
}

static void add_points(struct buf *out, const struct site_point *points, unsigned count)
{
    for (const struct site_point *p = points; p < points + count; p++) {
        buf_adds(out, "point");
        add_seconds(out, p->seconds);
        add_bytes(out, p->bytes);
        add_bytes(out, sqrt(p->variance));
        add_bytes(out, p->allocated);
        add_bytes(out, p->remains);
        add_bytes(out, sqrt(p->remains_variance));
        buf_addc(out, '\n');
    }
}

/* Frames that were written, in their order: most stacks have most of their frames in common. */
#define FRAMES_MOST ((size_t) SITES_MOST * SITES_MOST_FRAMES)
#define SLOTS (2 * FRAMES_MOST) /* a power of two */

struct written {
    const struct site_frame **list;
    size_t count;
    uint32_t *slots; /* numbers of frames, from 1 */
};

static void begin_written(struct written *w)
{
    *w = (struct written){.list = malloc(FRAMES_MOST * sizeof(struct site_frame *)),
                          .slots = calloc(SLOTS, sizeof(*w->slots))};
    if (!w->list || !w->slots)
        base_out_of_memory();
}

static void end_written(struct written *w)
{
    free(w->list);
    free(w->slots);
}

/* Equal texts of one `sites` have one address. */
static bool is_same_frame(const struct site_frame *a, const struct site_frame *b)
{
    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->module == b->module && a->offset == b->offset && a->is_inlined == b->is_inlined;
}

static size_t hash_of(const struct site_frame *f)
{
    const uint64_t words[] = {(uintptr_t) f->function, (uintptr_t) f->file, (uint64_t) f->line,
                              (uintptr_t) f->module, f->offset + f->is_inlined};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (size_t) hash & (SLOTS - 1);
}

/* Its number; *ret_is_new: it has to be written now. */
static size_t number_of(struct written *w, const struct site_frame *f, bool *ret_is_new)
{
    size_t i = hash_of(f);
    while (w->slots[i] && !is_same_frame(w->list[w->slots[i] - 1], f))
        i = (i + 1) & (SLOTS - 1);
    *ret_is_new = w->slots[i] == 0;
    if (*ret_is_new) {
        w->list[w->count++] = f;
        w->slots[i] = (uint32_t) w->count;
    }
    return w->slots[i] - 1;
}

static void add_frame(struct buf *out, const struct site_frame *f)
{
    buf_adds(out, "frame");
    add_text(out, f->function);
    add_text(out, f->file);
    add_number(out, f->line, 0);
    add_text(out, f->module);
    buf_addf(out, "\t%llu\t%d\n", (unsigned long long) f->offset, f->is_inlined);
}

static void add_frames(struct buf *out, struct written *w, const struct site *s)
{
    bool is_new = true, was_new = true;
    for (unsigned i = 0; i < s->frame_count && i < SITES_MOST_FRAMES; i++, was_new = is_new) {
        size_t number = number_of(w, &s->frames[i], &is_new);
        if (!was_new && is_new)
            buf_addc(out, '\n');
        if (is_new)
            add_frame(out, &s->frames[i]);
        else
            buf_addf(out, was_new ? "again\t%zu" : "\t%zu", number);
    }
    buf_adds(out, was_new ? "" : "\n");
}

static void add_site(struct buf *out, struct written *w, const struct site *s)
{
    buf_adds(out, "site");
    add_text(out, site_kind_name(s->kind));
    add_text(out, s->device);
    add_number(out, s->samples, 0);
    add_number(out, s->live, 0);
    buf_addf(out, "\t%d", s->is_truncated);
    add_number(out, s->objects, 1);
    buf_addc(out, '\n');
    add_frames(out, w, s);
    add_points(out, s->points, s->point_count);
    buf_adds(out, "cohorts");
    for (unsigned i = 0; i < SITE_COHORTS; i++)
        add_bytes(out, s->cohorts[i]);
    buf_addc(out, '\n');
}

/* Returns the number of sites that fit. */
static size_t add_sites(struct buf *out, const struct sites *s, size_t most_bytes)
{
    struct written w;
    size_t i = 0;
    begin_written(&w);
    for (; i < s->count && i < SITES_MOST; i++) {
        size_t before = out->len;
        add_site(out, &w, &s->list[i]);
        if (out->len <= most_bytes)
            continue;
        out->len = before;
        break;
    }
    end_written(&w);
    return i;
}

static double last_bytes(const struct site *s)
{
    return s->point_count ? s->points[s->point_count - 1].bytes : 0;
}

static void add_memories(struct buf *out, const struct sites *s)
{
    for (const struct site_memory *m = s->memories; m < s->memories + s->memory_count; m++) {
        buf_adds(out, "memory");
        add_text(out, site_kind_name(m->kind));
        add_text(out, m->device);
        add_seconds(out, m->armed);
        add_seconds(out, m->seconds);
        add_bytes(out, m->growth);
        add_bytes(out, m->interval);
        buf_addc(out, '\n');
    }
    if (s->memory_count == 0)
        return;
    buf_adds(out, "blocks");
    add_number(out, s->blocks_spent_seconds, 6);
    buf_addc(out, '\n');
}

static void add_head(struct buf *out, const struct sites *s, double others)
{
    buf_adds(out, SITES_FIRST_LINE "\nsampling");
    add_seconds(out, s->armed);
    add_seconds(out, s->seconds);
    add_bytes(out, s->interval);
    add_bytes(out, others);
    add_bytes(out, s->not_seen);
    buf_adds(out, "\ncounts");
    add_number(out, s->samples, 0);
    add_number(out, s->dropped, 0);
    add_bytes(out, s->dropped_bytes);
    add_number(out, s->stackless, 0);
    add_number(out, s->lost_frees, 0);
    add_number(out, s->spent_seconds, 6);
    buf_addf(out, "\t%d\t%d\n", s->has_native, s->has_python);
    add_points(out, s->points, s->point_count);
    add_memories(out, s);
}

#define HEAD_MOST ((size_t) 16 << 10) /* bytes of everything before the sites */

void sites_write(const struct sites *s, struct buf *out)
{
    struct buf list = BUF_INIT;
    double others = s->others;
    for (size_t i = add_sites(&list, s, SITES_MOST_BYTES - HEAD_MOST); i < s->count; i++)
        others += last_bytes(&s->list[i]);
    add_head(out, s, others);
    buf_add(out, buf_text(&list), list.len);
    buf_release(&list);
}

/* ---- fields ---- */

struct reading {
    struct sites *sites;
    struct site *site; /* the last one; NULL: none yet, or `skips` */
    bool skips;        /* the last one is of an unknown kind, or has no room */
    const char *rest;  /* of the line: further fields */
    struct buf field;
    struct site_frame *frames; /* all so far */
    size_t frame_count;
};

static char unescaped(char c)
{
    return c == 't' ? '\t' : c == 'n' ? '\n' : c;
}

/* The next field, unescaped; "": none. Valid until the next one is read. */
static const char *next_field(struct reading *r)
{
    buf_clear(&r->field);
    const char *s = r->rest;
    for (; *s && *s != '\t' && *s != '\n'; s++) {
        bool is_escape = *s == '\\' && s[1] && s[1] != '\t' && s[1] != '\n';
        s += is_escape;
        buf_addc(&r->field, is_escape ? unescaped(*s) : *s);
    }
    r->rest = *s == '\t' ? s + 1 : s;
    return buf_text(&r->field);
}

static const char *next_text(struct reading *r)
{
    const char *text = next_field(r);
    return site_texts_keep(r->sites->texts, text, strlen(text));
}

/* Digits, perhaps with a sign and a fraction; NAN: anything else. */
static double next_number(struct reading *r)
{
    const char *s = next_field(r);
    double value = 0, unit = 1, sign = *s == '-' ? -1 : 1;
    s += *s == '-';
    const char *digits = s;
    for (; *s >= '0' && *s <= '9'; s++)
        value = 10 * value + (*s - '0');
    if (s == digits)
        return NAN;
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++)
            value += (*s - '0') * (unit /= 10);
    return *s == '\0' && value <= NUMBER_MOST ? sign * value : NAN;
}

/* What is nowhere below 0 and always known; 0 in place of anything else. */
static double next_amount(struct reading *r)
{
    return fmax(0, next_number(r));
}

static double next_variance(struct reading *r)
{
    double error = next_amount(r);
    return error * error;
}

static bool next_flag(struct reading *r)
{
    return strcmp(next_field(r), "1") == 0;
}

static uint64_t next_integer(struct reading *r)
{
    uint64_t value = 0;
    const char *s = next_field(r);
    for (; *s >= '0' && *s <= '9' && value <= (UINT64_MAX - 9) / 10; s++)
        value = 10 * value + (uint64_t) (*s - '0');
    return *s == '\0' ? value : 0;
}

/* ---- records ---- */

static void take_sampling(struct reading *r)
{
    struct sites *s = r->sites;
    s->armed = next_number(r);
    s->seconds = next_number(r);
    s->interval = next_number(r);
    s->others = next_amount(r);
    s->not_seen = next_number(r);
}

static void take_counts(struct reading *r)
{
    struct sites *s = r->sites;
    s->samples = next_amount(r);
    s->dropped = next_amount(r);
    s->dropped_bytes = next_amount(r);
    s->stackless = next_amount(r);
    s->lost_frees = next_amount(r);
    s->spent_seconds = next_amount(r);
    s->has_native = next_flag(r);
    s->has_python = next_flag(r);
}

/* SITE_KINDS: not known. */
static enum site_kind kind_of(const char *name)
{
    unsigned i = 0;
    while (i < SITE_KINDS && strcmp(site_kind_name((enum site_kind) i), name) != 0)
        i++;
    return (enum site_kind) i;
}

static void take_site(struct reading *r)
{
    enum site_kind kind = kind_of(next_field(r));
    r->skips = kind == SITE_KINDS || r->sites->count == SITES_MOST;
    r->site = r->skips ? NULL : &r->sites->list[r->sites->count++];
    if (r->skips)
        return;
    r->site->kind = kind;
    r->site->device = next_text(r);
    r->site->samples = next_amount(r);
    r->site->live = next_amount(r);
    r->site->is_truncated = next_flag(r);
    r->site->objects = next_amount(r);
}

/* Room for one more; doubles whenever the count is a power of two. */
static struct site_frame *new_frame(struct site *s)
{
    unsigned count = s->frame_count++;
    if ((count & (count - 1)) == 0) {
        s->frames = realloc(s->frames, (count ? 2 * count : 1) * sizeof(*s->frames));
        if (!s->frames)
            base_out_of_memory();
    }
    return &s->frames[count];
}

static void put_frame(struct reading *r, size_t number)
{
    if (r->site && r->site->frame_count < SITES_MOST_FRAMES && number < r->frame_count)
        *new_frame(r->site) = r->frames[number];
}

static void take_frame(struct reading *r)
{
    if (r->frame_count == FRAMES_MOST)
        return;
    struct site_frame *f = &r->frames[r->frame_count++];
    f->function = next_text(r);
    f->file = next_text(r);
    double line = next_amount(r);
    f->line = line < LINE_MOST ? (int) line : 0;
    f->module = next_text(r);
    f->offset = next_integer(r);
    f->is_inlined = next_flag(r);
    put_frame(r, r->frame_count - 1);
}

static void take_again(struct reading *r)
{
    while (*r->rest && *r->rest != '\n')
        put_frame(r, (size_t) next_integer(r));
}

/* Points out of order are left out. */
static void take_point(struct reading *r)
{
    struct site_point *points = r->site ? r->site->points : r->sites->points;
    unsigned *count = r->site ? &r->site->point_count : &r->sites->point_count;
    struct site_point p = {.seconds = next_number(r)};
    double last = *count ? points[*count - 1].seconds : -INFINITY;
    if (r->skips || *count == SITE_POINTS || !(p.seconds > last))
        return;
    p.bytes = next_amount(r);
    p.variance = next_variance(r);
    p.allocated = next_amount(r);
    p.remains = next_amount(r);
    p.remains_variance = next_variance(r);
    points[(*count)++] = p;
}

static void take_memory(struct reading *r)
{
    struct sites *s = r->sites;
    enum site_kind kind = kind_of(next_field(r));
    if ((kind != SITE_DEVICE && kind != SITE_PINNED) || s->memory_count == SITE_MEMORIES)
        return;
    struct site_memory *m = &s->memories[s->memory_count];
    m->kind = kind;
    m->device = next_text(r);
    m->armed = next_number(r);
    m->seconds = next_number(r);
    m->growth = next_number(r);
    m->interval = next_amount(r);
    s->memory_count += m->seconds >= m->armed && !isnan(m->growth);
}

static void take_blocks(struct reading *r)
{
    r->sites->blocks_spent_seconds = next_amount(r);
}

static void take_cohorts(struct reading *r)
{
    for (unsigned i = 0; r->site && i < SITE_COHORTS; i++)
        r->site->cohorts[i] = next_amount(r);
}

static void take_line(struct reading *r)
{
    static const struct {
        const char *name;
        void (*take)(struct reading *r);
    } records[] = {
        {"sampling", take_sampling}, {"counts", take_counts}, {"point", take_point},
        {"site", take_site},         {"frame", take_frame},   {"cohorts", take_cohorts},
        {"again", take_again},       {"memory", take_memory}, {"blocks", take_blocks},
    };
    const char *name = next_field(r);
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        if (strcmp(name, records[i].name) == 0) {
            records[i].take(r);
            return;
        }
    }
}

/* ---- the whole ---- */

static bool begins_with(const char *text, size_t len, const char *beginning)
{
    size_t n = strlen(beginning);
    return len >= n && memcmp(text, beginning, n) == 0;
}

static struct sites *new_sites(void)
{
    struct sites *s = calloc(1, sizeof(*s));
    if (!s || !(s->list = calloc(SITES_MOST, sizeof(*s->list))))
        base_out_of_memory();
    s->armed = s->seconds = s->interval = s->not_seen = NAN;
    s->texts = site_texts_new();
    return s;
}

static void conclude(struct sites *s)
{
    sites_find_own(s);
    if (s->point_count == 0)
        return;
    s->kept = s->points[s->point_count - 1].bytes;
    s->kept_variance = s->points[s->point_count - 1].variance;
}

int sites_parse(const char *text, size_t len, struct sites **ret)
{
    if (len > SITES_MOST_BYTES)
        return -E2BIG;
    if (!begins_with(text, len, NAME))
        return -EPROTO;
    if (!begins_with(text, len, SITES_FIRST_LINE "\n"))
        return -EPROTONOSUPPORT;
    char *copy = strndup(text, len);
    if (!copy)
        base_out_of_memory();
    struct reading r = {.sites = new_sites(),
                        .rest = copy,
                        .frames = malloc(FRAMES_MOST * sizeof(struct site_frame))};
    if (!r.frames)
        base_out_of_memory();
    while (*(r.rest += strcspn(r.rest, "\n"))) {
        r.rest++;
        take_line(&r);
    }
    conclude(r.sites);
    buf_release(&r.field);
    free(r.frames);
    free(copy);
    *ret = r.sites;
    return 0;
}
