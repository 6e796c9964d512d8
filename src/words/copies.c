/* words/copies.c: what data workers copy, as sentences. */
#include "words/copies.h"

#include <math.h>
#include <string.h>

/* "Files.samples, a list with about 46.0 MB of Python objects". */
static void add_attribute(struct buf *out, const struct copy_facts *f)
{
    if (f->owner[0])
        buf_addf(out, "%s.%s", f->owner, f->attribute);
    else
        buf_addf(out, "the dataset's attribute %s", f->attribute);
    buf_addf(out, ", a %s with about ", f->type);
    units_add_bytes(out, f->objects);
    buf_adds(out, " of Python objects");
}

/* "2 data workers of trainer 4242 ". */
static void add_who(struct buf *out, const struct copy_facts *f)
{
    if (f->workers == 1)
        buf_adds(out, "the data worker");
    else
        buf_addf(out, "%u data workers", f->workers);
    buf_addf(out, " of %s ", f->parent);
}

/* "52.0 MB each (104 MB in all)". */
static void add_amount(struct buf *out, const struct copy_facts *f)
{
    units_add_bytes(out, f->each);
    buf_adds(out, f->workers == 1 ? "" : " each");
    if (f->workers == 1 || f->measured < f->workers)
        return;
    buf_adds(out, " (");
    units_add_bytes(out, f->all);
    buf_adds(out, " in all)");
}

static void add_cause(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    if (!c->named && !c->part) {
        buf_adds(out, " A page is copied when it is written to, and reading a Python object "
                      "writes its reference count.");
        return;
    }
    buf_adds(out, c->named ? " It is mostly " : " Part of that may be ");
    add_attribute(out, f);
    buf_adds(out, ": reading an object writes its reference count, which copies its page.");
}

static void add_end(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    bool grows = f->trend == COPIES_GROW, one = f->workers == 1;
    const char *each = one ? "" : " each";
    if (grows) {
        buf_adds(out, " It still grows by ");
        series_add_rate(out, f->rate, SERIES_BYTES, f->clock);
        buf_adds(out, each);
    }
    if (isfinite(c->ends_at)) {
        buf_adds(out, grows ? ", to at most " : " It ends at ");
        buf_adds(out, c->named ? "about " : "");
        units_add_bytes(out, c->ends_at);
        buf_addf(out, "%s%s%s", grows ? "" : " at most", each,
                 !c->named ? ""
                 : one     ? ", when it has read every object"
                           : ", when each has read "
                             "every object");
    } else {
        buf_adds(out, grows                      ? ", and is close to its end"
                      : f->trend == COPIES_STAND ? " It does not grow any more"
                      : c->named                 ? " That is almost all of it"
                                                 : " It cannot exceed what was shared at the fork");
    }
    buf_adds(out, ": not a leak.");
}

static void add_fix(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    bool known = c->named || c->part, dict = known && strcmp(f->type, "dict") == 0;
    buf_adds(out, known ? " To share it, keep it as one numpy array"
                        : " To share it, keep large lists and dicts as one numpy array");
    buf_adds(out, ", torch tensor or Arrow table");
    if (known)
        buf_addf(out,
                 dict ? " (self.%s: one array of keys, one of values)"
                      : " (self.%s: one array for each field, not of objects)",
                 f->attribute);
    buf_adds(out, f->workers == 1 ? "." : ", or use fewer workers.");
}

static void describe_spawned(struct buf *out, const struct copy_facts *f)
{
    bool one = f->workers == 1;
    buf_addf(out, "%s spawned, not forked, and %s nothing with it: up to ", one ? "was" : "were",
             one ? "shares" : "share");
    add_amount(out, f);
    buf_addf(out, " of %s own. Part of that is ", one ? "its" : "their");
    add_attribute(out, f);
    buf_adds(out, one ? ", copied at its start." : ", copied at the start of each.");
}

void copies_describe(struct buf *out, const struct copy_facts *f, const struct copies *c)
{
    add_who(out, f);
    if (f->spawned) {
        describe_spawned(out, f);
        add_fix(out, f, c);
        return;
    }
    buf_adds(out, f->workers == 1 ? "has copied " : "have copied ");
    add_amount(out, f);
    buf_adds(out, " of the ");
    units_add_bytes(out, f->inherited);
    buf_adds(out, f->workers == 1 ? " it shared at the fork." : " they shared at the fork.");
    add_cause(out, f, c);
    add_end(out, f, c);
    if (c->may_matter)
        buf_adds(out, " Every worker copies some of the interpreter. Whether part of this is the "
                      "dataset is only known if the job is started with 'tidemark run'.");
    else if (c->needs_probe)
        buf_adds(out, " Which attribute of the dataset it is is only known if the job is started "
                      "with 'tidemark run'.");
    if (!c->may_matter)
        add_fix(out, f, c);
}
