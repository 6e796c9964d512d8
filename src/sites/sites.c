/* sites/sites.c: the kinds of sites, and their end. */
#include "sites/sites.h"

#include "sites/texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *site_kind_name(enum site_kind kind)
{
    static const char *const names[SITE_KINDS] = {
        [SITE_MALLOC] = "malloc", [SITE_PYTHON] = "python", [SITE_MAPPED] = "mapped",
        [SITE_DEVICE] = "device", [SITE_PINNED] = "pinned",
    };
    return names[kind];
}

bool site_kind_is_anon(enum site_kind kind)
{
    return kind == SITE_MALLOC || kind == SITE_PYTHON || kind == SITE_MAPPED;
}

double sites_from(const struct sites *s)
{
    double from = s->armed;
    for (unsigned i = 0; i < s->memory_count; i++)
        from = fmin(from, s->memories[i].armed); /* NAN gives way */
    return from;
}

const struct site_memory *sites_memory(const struct sites *s, enum site_kind kind,
                                       const char *device)
{
    for (unsigned i = 0; i < s->memory_count; i++)
        if (s->memories[i].kind == kind && strcmp(s->memories[i].device, device) == 0)
            return &s->memories[i];
    return NULL;
}

struct sites *sites_free(struct sites *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].frames);
    free(s->list);
    site_texts_free(s->texts);
    free(s);
    return NULL;
}
