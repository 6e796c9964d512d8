/* page/source.c: opens a run file and has its answer. */
#include "page/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct report_style page_style_plain = {.width = FORMAT_MAX_WIDTH};

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (!result)
        base_out_of_memory();
    return result;
}

/* ---- the answer ---- */

/* The final answer, from which its report was made. False: none that this version can read. */
static int recall(struct page_source *s)
{
    const char *json, *report = NULL;
    int r = store_answer(s->store, &json, &report);
    if (r < 0)
        return r;
    s->has_view = report && report_recall(report, strlen(report), &s->view) == 0;
    return 0;
}

/* What an unfinished recording does not have is not known, and not 0. */
static void forget_unrecorded(struct view *v)
{
    v->epochs = v->system_total = v->shm_first = v->shm_last = NAN;
    v->stall_seconds = NAN;
}

int page_read(struct page_source *s)
{
    return s->recording ? 0 : recording_new(s->store, &s->recording);
}

static int judge(struct page_source *s, struct view *ret)
{
    const struct recording_options options = {0};
    int r = page_read(s);
    if (r == 0)
        r = recording_judge(s->recording, &options, ret);
    if (r == 0)
        forget_unrecorded(ret);
    return r;
}

/* A recording is judged once: without a final answer, the accounts are of the answer itself. */
int page_load(struct page_source *s)
{
    if (s->is_judged)
        return 0;
    int r = judge(s, &s->judged);
    s->is_judged = r == 0;
    return r;
}

static int fill(struct page_source *s)
{
    int r = recall(s);
    if (r == 0 && !s->has_view)
        r = page_load(s);
    s->finished = store_is_finished(s->store);
    return r;
}

int page_open_samples(const char *path, struct page_source **ret, struct store_error *ret_error)
{
    struct page_source *s = calloc(1, sizeof(*s));
    if (!s)
        base_out_of_memory();
    const char *slash = strrchr(path, '/');
    s->name = copy(slash ? slash + 1 : path);
    int r = store_open(path, &s->store, ret_error);
    if (r < 0) {
        page_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

int page_open(const char *path, struct page_source **ret, struct store_error *ret_error)
{
    struct page_source *s;
    int r = page_open_samples(path, &s, ret_error);
    if (r < 0)
        return r;
    r = fill(s);
    if (r < 0) {
        store_explain(r, ret_error);
        page_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct page_source *page_free(struct page_source *s)
{
    if (!s)
        return NULL;
    if (s->has_view)
        view_release(&s->view);
    if (s->is_judged)
        view_release(&s->judged);
    recording_free(s->recording);
    store_free(s->store);
    free(s->name);
    free(s);
    return NULL;
}

bool page_is_finished(const struct page_source *s)
{
    return s->finished;
}

const struct view *page_view(const struct page_source *s)
{
    return s->has_view ? &s->view : &s->judged;
}

const char *page_title(const struct page_source *s)
{
    const char *title = store_run(s->store)->title;
    return title && *title ? title : s->name;
}

size_t page_series_of(const struct page_source *s, const struct series_info *info)
{
    for (size_t i = 0; i < recording_count(s->recording); i++) {
        const struct series_info *x = &recording_series(s->recording, i)->info;
        if (x->pid == info->pid && strcmp(x->kind, info->kind) == 0 &&
            strcmp(x->name, info->name) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* ---- values ---- */

void page_json_text(struct json *j, const char *key, const char *text)
{
    struct buf cut = BUF_INIT;
    size_t len = text ? strlen(text) : 0;
    if (len <= PAGE_TEXT) {
        json_string(j, key, text);
        return;
    }
    for (len = PAGE_TEXT; len > 0 && ((unsigned char) text[len] & 0xc0) == 0x80;)
        len--;
    buf_add(&cut, text, len);
    buf_adds(&cut, "…");
    json_string(j, key, buf_text(&cut));
    buf_release(&cut);
}

void page_json_rounded(struct json *j, const char *key, double value, unsigned decimals)
{
    double unit = pow(10, decimals);
    double rounded = round(value * unit) / unit;
    json_number(j, key, isfinite(rounded) ? rounded : value);
}
