/* view/activity_rows.c: what each activity of the program did to the series. */
#include "view/series.h"

#include <stdlib.h>
#include <string.h>

static struct view_activity *add_phase(struct view *v)
{
    v->phases = reallocarray(v->phases, v->phase_count + 1, sizeof(*v->phases));
    if (!v->phases)
        base_out_of_memory();
    v->phases[v->phase_count] = (struct view_activity){0};
    return &v->phases[v->phase_count++];
}

static void add_series(struct view_activity *p, size_t series, const struct stay *s)
{
    p->series = reallocarray(p->series, p->count + 1, sizeof(*p->series));
    if (!p->series)
        base_out_of_memory();
    p->series[p->count++] = (struct view_activity_series){
        .series = series,
        .height = s->height,
        .kept = s->kept / (double) s->looked_at,
        .looked_at = s->looked_at,
        .given_back = s->given_back,
    };
}

void view_activities(const struct job *j, struct track *const *tracks, struct view *v)
{
    const struct activities *a = &j->activities;
    for (unsigned i = 0; i < a->count; i++) {
        struct stay found;
        if (a->totals[i].times == 0)
            continue;
        struct view_activity *p = add_phase(v);
        p->name = strdup(a->names[i]);
        if (!p->name)
            base_out_of_memory();
        p->times = a->totals[i].times;
        p->ended = a->totals[i].ended;
        p->seconds = a->totals[i].seconds;
        for (size_t k = 0; k < v->count; k++)
            if (tracks[k]->stays && stays_found(tracks[k]->stays, i, &found))
                add_series(p, k, &found);
    }
}
