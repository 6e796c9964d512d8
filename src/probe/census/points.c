/* probe/census/points.c: the points of growths, in a small table. */
#include "probe/census/points.h"

#include <string.h>

#define QUIET_MOST 4u /* a growth is forgotten after this many censuses without any */
#define POINTS_LEAST 3u
#define POINTS_OF_PAIR 2u

static struct survey_growth *find(struct survey *c, enum survey_form form, uintptr_t key)
{
    size_t mask = SURVEY_GROWTHS - 1, at = places_hash(key) & mask;
    for (size_t i = 0; i < SURVEY_GROWTHS; i++, at = (at + 1) & mask)
        if (c->growths[at].key == key && c->growths[at].form == form)
            return &c->growths[at];
    return NULL;
}

/* A free slot, or the slot of the smallest growth. */
static struct survey_growth *make_room(struct survey *c, uint64_t growth)
{
    struct survey_growth *least = NULL;
    for (size_t i = 0; i < SURVEY_GROWTHS; i++) {
        struct survey_growth *g = &c->growths[i];
        if (!g->key)
            return g;
        if (!least || growth_amount(g) < growth_amount(least))
            least = g;
    }
    return growth_amount(least) < growth ? least : NULL;
}

static void add_point(struct survey_points *p, uint64_t time, uint64_t value)
{
    if (p->count == SURVEY_POINTS) { /* drop every second one; the first stays */
        for (unsigned i = 1; i < SURVEY_POINTS / 2; i++)
            p->at[i] = p->at[2 * i];
        p->count = SURVEY_POINTS / 2;
    }
    p->at[p->count].time = time;
    p->at[p->count].value = value;
    p->count++;
}

static struct survey_growth *begin(struct survey *c, enum survey_form form, uintptr_t key,
                                   uint64_t time_before, uint64_t before, uint64_t value)
{
    struct survey_growth *g = make_room(c, value - before);
    if (!g)
        return NULL;
    *g = (struct survey_growth){.key = key, .form = form, .last_growth = c->number};
    add_point(&g->points, time_before, before);
    add_point(&g->points, c->time, value);
    return g;
}

void growth_note_new(struct survey *c, uintptr_t key, uint64_t value)
{
    struct survey_growth *g =
        c->time_before ? begin(c, FORM_CONTAINER, key, c->time_before, 0, value) : NULL;
    if (g)
        g->is_new = true;
}

void growth_note(struct survey *c, enum survey_form form, uintptr_t key, uint64_t time_before,
                 uint64_t before, uint64_t value)
{
    struct survey_growth *g = find(c, form, key);
    if (!g && value > before && time_before) {
        begin(c, form, key, time_before, before, value);
    } else if (g) {
        uint64_t last = g->points.at[g->points.count - 1].value;
        if (value < last) {
            g->key = 0;
        } else if (value > last) {
            add_point(&g->points, c->time, value);
            g->last_growth = c->number;
        }
    }
}

void growth_keep(struct survey *c, enum survey_form form, uintptr_t key)
{
    struct survey_growth *g = find(c, form, key);
    if (g)
        g->last_growth = c->number;
}

void growth_settle(struct survey *c)
{
    for (size_t i = 0; i < SURVEY_GROWTHS; i++)
        if (c->growths[i].key && c->number - c->growths[i].last_growth > QUIET_MOST)
            c->growths[i].key = 0;
}

bool growth_knows(struct survey *c, enum survey_form form, uintptr_t key)
{
    return find(c, form, key) != NULL;
}

uint64_t growth_amount(const struct survey_growth *g)
{
    return g->points.at[g->points.count - 1].value - g->points.at[0].value;
}

bool growth_is_steady(const struct survey *c, const struct survey_growth *g)
{
    unsigned least = c->is_pair ? POINTS_OF_PAIR : POINTS_LEAST;
    return g->key && g->points.count >= least && c->number - g->last_growth <= QUIET_MOST / 2;
}
