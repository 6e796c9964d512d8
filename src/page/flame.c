/* page/flame.c: where traced processes allocated their memory, as collapsed stacks. */
#include "page/source.h"

#include "sites/sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8u /* processes */
#define OTHERS "(smaller stacks)"

struct traced_process {
    int64_t id; /* in the store */
    struct sites *sites;
    char *name;
    int64_t pid;
};

struct flame {
    struct traced_process list[MOST];
    size_t count;
};

static int add_sites(void *context, int64_t process, const char *text)
{
    struct flame *f = context;
    struct sites *sites;
    if (f->count == MOST || sites_parse(text, strlen(text), &sites) < 0)
        return 0;
    f->list[f->count++] = (struct traced_process){.id = process, .sites = sites};
    return 0;
}

static int name_process(void *context, int64_t id, const struct store_process *p)
{
    struct flame *f = context;
    for (size_t i = 0; i < f->count; i++) {
        struct buf name = BUF_INIT;
        if (f->list[i].id != id || f->list[i].name)
            continue;
        buf_addf(&name, "%s%s%lld", p->role ? p->role : "", p->role ? " " : "", (long long) p->pid);
        f->list[i].name = name.text;
        f->list[i].pid = p->pid;
    }
    return 0;
}

/* Bytes of a line: the number after its last blank. */
static double bytes_of(const char *line, size_t len)
{
    while (len > 0 && line[len - 1] != ' ')
        len--;
    return strtod(line + len, NULL);
}

/* The stacks come with the largest first: the last ones become one where they are too many. */
static void add_cut(struct json *j, const char *key, const struct buf *stacks, size_t bytes)
{
    struct buf kept = BUF_INIT;
    const char *text = buf_text(stacks);
    double others = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (kept.len + len < bytes && others == 0)
            buf_add(&kept, text, len + 1);
        else
            others += bytes_of(text, len);
        text += len + (text[len] == '\n');
    }
    if (others > 0)
        buf_addf(&kept, OTHERS " %.0f\n", others);
    if (kept.len > 0)
        json_string(j, key, buf_text(&kept));
    buf_release(&kept);
}

static void add_stacks(struct json *j, const char *key, const struct traced_process *p,
                       enum report_value value, size_t bytes)
{
    struct report_sites sites = {.process = p->name, .pid = p->pid, .sites = p->sites};
    struct report_stacks stacks = {.started = NAN,
                                   .list = &sites,
                                   .count = 1,
                                   .value = value,
                                   .from = NAN,
                                   .to = NAN,
                                   .second_step = NAN,
                                   .last_step = NAN};
    struct buf text = BUF_INIT;
    sites.growth = NAN;
    if (report_collapsed(&text, &stacks) == 0)
        add_cut(j, key, &text, bytes);
    buf_release(&text);
}

int flame_json(struct json *j, const struct page_draft *d)
{
    struct flame f = {.count = 0};
    struct store *store = d->source->store;
    int r = store_each_sites(store, add_sites, &f);
    if (r == 0)
        r = store_each_process(store, name_process, &f);
    size_t each = d->limits.flame_bytes / (2 * (f.count > 0 ? f.count : 1));
    json_array_begin(j, "flame");
    for (size_t i = 0; i < f.count; i++) {
        struct traced_process *p = &f.list[i];
        if (p->name) {
            json_object_begin(j, NULL);
            json_string(j, "process", p->name);
            json_integer(j, "pid", p->pid);
            add_stacks(j, "growth", p, REPORT_GROWTH, each);
            add_stacks(j, "live", p, REPORT_LIVE, each);
            json_object_end(j);
        }
        sites_free(p->sites);
        free(p->name);
    }
    json_array_end(j);
    return r;
}
