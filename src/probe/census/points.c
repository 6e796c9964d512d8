/* probe/census/points.c: points of what grows, in a small table. */
#include "probe/census/points.h"

#include <string.h>

#define QUIET_MOST 4u /* censuses without growth, until it is forgotten */
#define POINTS_LEAST 3u
#define POINTS_OF_PAIR 2u

static struct survey_grown *find(struct survey *c, enum survey_form form, uintptr_t key)
{
    size_t mask = SURVEY_GROWN - 1, at = places_hash(key) & mask;
    for (size_t i = 0; i < SURVEY_GROWN; i++, at = (at + 1) & mask)
        if (c->grown[at].key == key && c->grown[at].form == form)
            return &c->grown[at];
    return NULL;
}

/* A free place, or that of the one that has grown least. */
static struct survey_grown *make_room(struct survey *c, uint64_t growth)
{
    struct survey_grown *least = NULL;
    for (size_t i = 0; i < SURVEY_GROWN; i++) {
        struct survey_grown *g = &c->grown[i];
        if (!g->key)
            return g;
        if (!least || grown_by(g) < grown_by(least))
            least = g;
    }
    return grown_by(least) < growth ? least : NULL;
}

static void add_point(struct survey_points *p, uint64_t time, uint64_t value)
{
    if (p->count == SURVEY_POINTS) { /* every second one goes; the first stays */
        for (unsigned i = 1; i < SURVEY_POINTS / 2; i++)
            p->at[i] = p->at[2 * i];
        p->count = SURVEY_POINTS / 2;
    }
    p->at[p->count].time = time;
    p->at[p->count].value = value;
    p->count++;
}

static struct survey_grown *begin(struct survey *c, enum survey_form form, uintptr_t key,
                                  uint64_t time_before, uint64_t before, uint64_t value)
{
    struct survey_grown *g = make_room(c, value - before);
    if (!g)
        return NULL;
    *g = (struct survey_grown){.key = key, .form = form, .last_grown = c->number};
    add_point(&g->points, time_before, before);
    add_point(&g->points, c->time, value);
    return g;
}

void grown_note_new(struct survey *c, uintptr_t key, uint64_t value)
{
    struct survey_grown *g =
        c->time_before ? begin(c, FORM_CONTAINER, key, c->time_before, 0, value) : NULL;
    if (g)
        g->is_new = true;
}

void grown_note(struct survey *c, enum survey_form form, uintptr_t key, uint64_t time_before,
                uint64_t before, uint64_t value)
{
    struct survey_grown *g = find(c, form, key);
    if (!g && value > before && time_before) {
        begin(c, form, key, time_before, before, value);
    } else if (g) {
        uint64_t last = g->points.at[g->points.count - 1].value;
        if (value < last) {
            g->key = 0;
        } else if (value > last) {
            add_point(&g->points, c->time, value);
            g->last_grown = c->number;
        }
    }
}

void grown_keep(struct survey *c, enum survey_form form, uintptr_t key)
{
    struct survey_grown *g = find(c, form, key);
    if (g)
        g->last_grown = c->number;
}

void grown_settle(struct survey *c)
{
    for (size_t i = 0; i < SURVEY_GROWN; i++)
        if (c->grown[i].key && c->number - c->grown[i].last_grown > QUIET_MOST)
            c->grown[i].key = 0;
}

bool grown_knows(struct survey *c, enum survey_form form, uintptr_t key)
{
    return find(c, form, key) != NULL;
}

uint64_t grown_by(const struct survey_grown *g)
{
    return g->points.at[g->points.count - 1].value - g->points.at[0].value;
}

bool grown_is_steady(const struct survey *c, const struct survey_grown *g)
{
    unsigned least = c->is_pair ? POINTS_OF_PAIR : POINTS_LEAST;
    return g->key && g->points.count >= least && c->number - g->last_grown <= QUIET_MOST / 2;
}
