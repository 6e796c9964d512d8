/* page/objects.c: what the processes hold by their last censuses. */
#include "page/source.h"

#include <stdlib.h>
#include <string.h>

#define MOST 16u /* processes */

struct held {
    int64_t process; /* in the store */
    struct wire_census *census;
    struct attached_process about;
};

struct objects {
    struct held list[MOST];
    size_t count, most;
};

static struct held *held_by(struct objects *o, int64_t process)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->list[i].process == process)
            return &o->list[i];
    if (o->count >= o->most)
        return NULL;
    o->list[o->count] = (struct held){.process = process};
    return &o->list[o->count++];
}

/* A later one of the same process replaces it. One that cannot be read is left out. */
static int add_census(void *context, int64_t process, const struct store_census *x)
{
    struct wire_census *census;
    if (wire_census_parse(x->text, strlen(x->text), &census) < 0)
        return 0;
    struct held *h = held_by(context, process);
    if (!h) {
        wire_census_free(census);
        return 0;
    }
    wire_census_free(h->census);
    h->census = census;
    return 0;
}

static int name_process(void *context, int64_t id, const struct store_process *p)
{
    struct objects *o = context;
    struct buf label = BUF_INIT, command = BUF_INIT;
    for (size_t i = 0; i < o->count; i++) {
        struct attached_process *about = &o->list[i].about;
        if (o->list[i].process != id || about->process)
            continue;
        buf_addf(&label, "%s%s%lld", p->role ? p->role : "", p->role ? " " : "",
                 (long long) p->pid);
        if (p->command)
            buf_adds(&command, p->command);
        *about = (struct attached_process){
            .pid = p->pid, .process = label.text, .command = command.text};
        return 0;
    }
    return 0;
}

static void release(struct objects *o)
{
    for (size_t i = 0; i < o->count; i++) {
        wire_census_free(o->list[i].census);
        free(o->list[i].about.process);
        free(o->list[i].about.command);
    }
    free(o);
}

/* A damaged file may lack the process. */
static size_t list_named(const struct objects *o, struct report_objects *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < o->count; i++)
        if (o->list[i].about.process)
            ret[count++] = (struct report_objects){o->list[i].census, &o->list[i].about};
    return count;
}

int objects_json(struct buf *out, const struct page_draft *d)
{
    static const struct findings none;
    struct report_objects list[MOST];
    struct objects *o = calloc(1, sizeof(*o));
    if (!o)
        base_out_of_memory();
    o->most = d->limits.censuses < MOST ? d->limits.censuses : MOST;
    int r = store_each_census(d->source->store, add_census, o);
    if (r == 0)
        r = store_each_process(d->source->store, name_process, o);
    report_objects_json(out, list, list_named(o, list), &none);
    release(o);
    return r;
}
