/* page/facts.c: the steps, events and processes of a run. */
#include "page/source.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>

/* ---- steps ---- */

/* Of the last count that goes up. When all are used, every second one is dropped. */
struct steps {
    double seconds[PAGE_STEPS], step[PAGE_STEPS];
    size_t count;
    double last_seconds, last_step; /* NAN: none */
    unsigned stride, skipped;
};

static void halve(struct steps *s)
{
    for (size_t i = 0; i < s->count / 2; i++) {
        s->seconds[i] = s->seconds[2 * i];
        s->step[i] = s->step[2 * i];
    }
    s->count /= 2;
    s->stride *= 2;
}

static int add_mark(void *context, double seconds, double step, bool begins)
{
    struct steps *s = context;
    if (begins || step < s->last_step)
        *s = (struct steps){.stride = 1, .last_seconds = NAN, .last_step = NAN};
    if (!isfinite(step) || step == s->last_step || seconds == s->last_seconds)
        return 0;
    s->last_seconds = seconds;
    s->last_step = step;
    if (s->skipped++ % s->stride != 0)
        return 0;
    if (s->count == PAGE_STEPS)
        halve(s);
    s->seconds[s->count] = seconds;
    s->step[s->count++] = step;
    return 0;
}

static void end_steps(struct steps *s)
{
    if (s->count == 0 || s->step[s->count - 1] == s->last_step)
        return;
    if (s->count == PAGE_STEPS)
        s->count--;
    s->seconds[s->count] = s->last_seconds;
    s->step[s->count++] = s->last_step;
}

int steps_json(struct json *j, const struct page_draft *d)
{
    struct steps *steps = calloc(1, sizeof(*steps));
    if (!steps)
        base_out_of_memory();
    *steps = (struct steps){.stride = 1, .last_seconds = NAN, .last_step = NAN};
    int r = recording_each_mark(d->source->recording, add_mark, steps);
    end_steps(steps);
    if (steps->count > 1) {
        json_object_begin(j, "steps");
        json_array_begin(j, "seconds");
        for (size_t i = 0; i < steps->count; i++)
            page_json_rounded(j, NULL, steps->seconds[i], 3);
        json_array_end(j);
        json_array_begin(j, "step");
        for (size_t i = 0; i < steps->count; i++)
            page_json_rounded(j, NULL, steps->step[i], 2);
        json_array_end(j);
        json_object_end(j);
    }
    free(steps);
    return r;
}

/* ---- events ---- */

struct listed {
    struct json *json;
    size_t first, count; /* elements before `first` are left out ... */
    size_t most;         /* ... and those after so many */
};

static int count_event(void *context, double seconds, const char *what, const char *text)
{
    (void) seconds;
    (void) what;
    (void) text;
    ++*(size_t *) context;
    return 0;
}

static int add_event(void *context, double seconds, const char *what, const char *text)
{
    struct listed *l = context;
    if (l->count++ < l->first)
        return 0;
    json_object_begin(l->json, NULL);
    page_json_rounded(l->json, "seconds", seconds, 3);
    page_json_text(l->json, "what", what);
    page_json_text(l->json, "text", text);
    json_object_end(l->json);
    return 0;
}

/* The last ones. */
int events_json(struct json *j, const struct page_draft *d)
{
    struct store *store = d->source->store;
    size_t count = 0, most = d->limits.events;
    int r = store_each_event(store, count_event, &count);
    struct listed l = {.json = j, .first = count > most ? count - most : 0};
    json_array_begin(j, "events");
    if (r == 0)
        r = store_each_event(store, add_event, &l);
    json_array_end(j);
    return r;
}

/* ---- processes ---- */

static int add_process(void *context, int64_t id, const struct store_process *p)
{
    struct listed *l = context;
    (void) id;
    if (l->count++ >= l->most)
        return 0;
    json_object_begin(l->json, NULL);
    json_integer(l->json, "pid", p->pid);
    page_json_text(l->json, "role", p->role);
    if (p->rank >= 0)
        json_integer(l->json, "rank", p->rank);
    page_json_text(l->json, "command", p->command);
    page_json_rounded(l->json, "first", p->first_seconds, 3);
    page_json_rounded(l->json, "last", p->last_seconds, 3);
    json_number(l->json, "status", p->exit_status);
    json_object_end(l->json);
    return 0;
}

/* The first ones: the trainer is among them. */
int processes_json(struct json *j, const struct page_draft *d)
{
    struct listed l = {.json = j, .most = d->limits.processes};
    json_array_begin(j, "processes");
    int r = store_each_process(d->source->store, add_process, &l);
    json_array_end(j);
    if (l.count > l.most)
        json_integer(j, "more_processes", (int64_t) (l.count - l.most));
    return r;
}
