/* view/workers.c: the data workers of a process, and how much of its memory each has copied. */
#include "view/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A worker that ended this shortly before the last tick lived to the end of the run. */
#define END_SECONDS 2.0
#define END_SHARE 0.05

/* The probe's name for its counters: "dataset.list.Files.samples". */
#define DATASET_KIND "dataset."

/* ---- who they are ---- */

static bool is_child_of(const struct member *m, const struct member *parent)
{
    bool same = m->parent.start == 0 || m->parent.start == parent->id.start;
    return m->parent.pid == parent->id.pid && same;
}

static bool is_worker_of(const struct member *m, const struct member *parent, bool spawned)
{
    return m->role.role == ROLE_DATA_WORKER && m->has_tracks && m->forked != spawned &&
           is_child_of(m, parent);
}

static int least_first(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static double *new_numbers(size_t count)
{
    double *numbers = calloc(count + 1, sizeof(*numbers));
    if (!numbers)
        base_out_of_memory();
    return numbers;
}

/* The most workers alive at a time, which is when some worker begins. One that ended in the tick
 * in which another came ended first. */
static unsigned most_at_a_time(const struct job *j, const struct member *parent, bool spawned)
{
    double *began = new_numbers(j->member_count), *ended = new_numbers(j->member_count);
    size_t count = 0, gone = 0, most = 0;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        if (!is_worker_of(m, parent, spawned))
            continue;
        began[count] = m->joined;
        ended[count++] = member_is_alive(m) ? INFINITY : m->ended;
    }
    qsort(began, count, sizeof(*began), least_first);
    qsort(ended, count, sizeof(*ended), least_first);
    for (size_t i = 0; i < count; i++) {
        while (gone < count && ended[gone] <= began[i])
            gone++;
        if (i + 1 > gone + most)
            most = i + 1 - gone;
    }
    free(began);
    free(ended);
    return (unsigned) most;
}

static struct member **new_members(const struct job *j)
{
    struct member **members = calloc(j->member_count + 1, sizeof(*members));
    if (!members)
        base_out_of_memory();
    return members;
}

/* The processes that have workers, each once. */
static size_t find_parents(const struct job *j, struct member **ret)
{
    size_t count = 0;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        if (m->role.role != ROLE_DATA_WORKER || !m->has_tracks)
            continue;
        size_t k = 0;
        while (k < count && !is_child_of(m, ret[k]))
            k++;
        for (size_t p = 0; k == count && p < j->member_count; p++)
            if (is_child_of(m, j->members[p])) {
                ret[count++] = j->members[p];
                break;
            }
    }
    return count;
}

/* ---- how much they copied ---- */

/* A run file of an older version has no such series: use what was private at the end. */
static double copied_by(const struct member *m)
{
    const struct track *copied = &m->tracks[MEMBER_COPIED];
    const struct track *private = &m->tracks[MEMBER_PRIVATE], *anon = &m->tracks[MEMBER_ANON];
    if (copied->samples > 0)
        return copied->max;
    return private->samples > 0 ? fmax(0, private->last - fmax(0, anon->last - anon->first)) : NAN;
}

/* All memory of a spawned worker is its own, whether or not its shares were read. */
static double amount_of(const struct member *m)
{
    const struct track *anon = &m->tracks[MEMBER_ANON];
    if (m->forked)
        return copied_by(m);
    return anon->samples > 0 ? anon->max : NAN;
}

static bool lived_to_the_end(const struct job *j, const struct member *m)
{
    return member_is_alive(m) || j->now - m->ended <= fmax(END_SECONDS, END_SHARE * j->now);
}

static void find_growth(struct job *j, struct member *m, struct copy_facts *ret)
{
    struct track *t = &m->tracks[MEMBER_COPIED];
    struct answer answer;
    const struct history *history = NULL;
    ret->clock = track_clock(t, &j->terms);
    if (t->samples > 0 && lived_to_the_end(j, m))
        track_answer(t, &j->terms, &answer, &history);
    if (history)
        ret->trend = copies_trend(history, &ret->rate);
}

static int largest_first(const void *a, const void *b)
{
    return least_first(b, a);
}

/* Workers of later epochs replace earlier ones: the largest, as many as lived at a time, count. */
static void find_amounts(struct job *j, const struct member *parent, struct copy_facts *ret)
{
    double *amounts = new_numbers(j->member_count);
    struct member *largest = NULL;
    unsigned measured = 0;
    for (size_t i = 0; i < j->member_count; i++) {
        struct member *m = j->members[i];
        if (!is_worker_of(m, parent, ret->spawned) || isnan(amount_of(m)))
            continue;
        amounts[measured++] = amount_of(m);
        if (!largest || amount_of(m) > amount_of(largest))
            largest = m;
        double inherited = isnan(m->inherited) ? m->tracks[MEMBER_ANON].first : m->inherited;
        ret->inherited = fmax(ret->inherited, inherited);
    }
    qsort(amounts, measured, sizeof(*amounts), largest_first);
    unsigned most = measured > 0 ? most_at_a_time(j, parent, ret->spawned) : 0;
    ret->workers = most;
    ret->measured = most < measured ? most : measured;
    for (unsigned i = 0; i < ret->measured; i++)
        ret->all += amounts[i];
    ret->each = ret->measured > 0 ? ret->all / ret->measured : (double) NAN;
    if (largest && !ret->spawned)
        find_growth(j, largest, ret);
    free(amounts);
}

/* ---- which attribute they copied ---- */

/* "list", "Files", "samples" of "dataset.list.Files.samples". */
static bool read_kind(const char *kind, struct worker_copies *ret)
{
    char type[16], owner[WIRE_NAME_LENGTH];
    const char *first = kind + strlen(DATASET_KIND), *second = strchr(first, '.');
    const char *third = second ? strchr(second + 1, '.') : NULL;
    if (!third || !third[1] || (size_t) (second - first) >= sizeof(type) ||
        (size_t) (third - second) > sizeof(owner))
        return false;
    snprintf(type, sizeof(type), "%.*s", (int) (second - first), first);
    snprintf(owner, sizeof(owner), "%.*s", (int) (third - second - 1), second + 1);
    memcpy(ret->type, type, sizeof(type));
    memcpy(ret->owner, owner, sizeof(owner));
    snprintf(ret->attribute, sizeof(ret->attribute), "%s", third + 1);
    return true;
}

static void find_attribute(const struct member *parent, struct worker_copies *ret)
{
    struct copy_facts *f = &ret->facts;
    for (size_t i = 0; i < parent->reported_count; i++) {
        const struct track *t = &parent->reported[i];
        if (strncmp(t->kind, DATASET_KIND, strlen(DATASET_KIND)) != 0 || t->samples == 0)
            continue;
        f->objects_all += t->max; /* a validation's dataset is reported by the same name */
        if (t->max <= f->objects || !read_kind(t->kind, ret))
            continue;
        f->objects = t->max;
        f->type = ret->type;
        f->owner = ret->owner;
        f->attribute = ret->attribute;
    }
}

bool workers_gather(struct job *j, const struct member *parent, bool spawned,
                    struct worker_copies *ret)
{
    *ret = (struct worker_copies){.facts = {.spawned = spawned, .parent = ret->parent}};
    ret->facts.rate = NAN;
    member_label(parent, ret->parent);
    find_amounts(j, parent, &ret->facts);
    if (ret->facts.workers == 0)
        return false;
    ret->facts.probed = parent->reported_count > 0;
    find_attribute(parent, ret);
    copies_judge(&ret->facts, &ret->judged);
    return true;
}

/* ---- news and report ---- */

void workers_review(struct job *j)
{
    struct worker_copies found;
    struct member **parents = new_members(j);
    size_t count = find_parents(j, parents);
    for (size_t i = 0; i < count; i++) {
        struct member *m = parents[i];
        for (int spawned = 0; spawned <= 1 && !m->copies_announced; spawned++) {
            if (!workers_gather(j, m, spawned, &found) || !found.judged.matter)
                continue;
            struct buf text = BUF_INIT;
            copies_describe(&text, &found.facts, &found.judged);
            job_add_news(j, NEWS_COPIES, 0, "%s", buf_text(&text));
            buf_release(&text);
            m->copies_announced = true;
        }
    }
    free(parents);
}

static bool matters(const struct copies *c, bool perhaps)
{
    return perhaps ? c->may_matter : c->matter;
}

static unsigned find_most(struct job *j, bool perhaps, struct worker_copies *ret)
{
    const struct member *most = NULL;
    bool most_spawned = false;
    double most_bytes = 0;
    unsigned count = 0;
    struct member **parents = new_members(j);
    size_t parent_count = find_parents(j, parents);
    for (size_t i = 0; i < parent_count; i++)
        for (int spawned = 0; spawned <= 1; spawned++) {
            if (!workers_gather(j, parents[i], spawned, ret) || !matters(&ret->judged, perhaps))
                continue;
            count++;
            if (ret->facts.all <= most_bytes)
                continue;
            most = parents[i];
            most_spawned = spawned;
            most_bytes = ret->facts.all;
        }
    if (most)
        workers_gather(j, most, most_spawned, ret);
    free(parents);
    return count;
}

unsigned workers_find_most(struct job *j, struct worker_copies *ret)
{
    return find_most(j, false, ret);
}

bool workers_describe(struct job *j, struct buf *out)
{
    struct worker_copies most;
    unsigned count = find_most(j, false, &most);
    if (count == 0)
        count = find_most(j, true, &most);
    if (count == 0)
        return false;
    copies_describe(out, &most.facts, &most.judged);
    if (count > 1)
        buf_addf(out, " The same holds for the workers of %u other process%s.", count - 1,
                 count == 2 ? "" : "es");
    return true;
}
