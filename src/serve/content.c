/* serve/content.c: what is read from run files. */
#include "serve/content.h"

#include "page/page.h"
#include "serve/reading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static void add_href(const char *name, struct buf *out)
{
    buf_adds(out, "runs/");
    address_encode(out, name);
    buf_addc(out, '/');
}

void content_unread(const char *name, struct buf *out)
{
    content_problem(name, NULL, out);
}

void content_problem(const char *name, const char *why, struct buf *out)
{
    struct json j;
    struct buf href = BUF_INIT;
    add_href(name, &href);
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    json_string(&j, "href", buf_text(&href));
    json_string(&j, "name", name);
    json_string(&j, "summary", why);
    json_string(&j, "error", why);
    json_object_end(&j);
    buf_release(&href);
}

/* Whether the run has its final answer, and when it began. -errno: `error` says why. */
static int look(const char *file, bool *ret_finished, double *ret_started,
                struct store_error *error)
{
    struct store *store;
    int r = store_open(file, &store, error);
    if (r < 0)
        return r;
    *ret_finished = store_is_finished(store);
    *ret_started = store_run(store)->started;
    store_free(store);
    return 0;
}

/* Adds an object of the list with another name: that of a file in a folder below has the folder. */
static void add_renamed(const char *object, const char *name, struct buf *out)
{
    struct json_reader r;
    struct json_token token;
    struct json j;
    json_reader_init(&r, object, strlen(object));
    while (json_next(&r, &token) == 0 && token.type != JSON_END)
        if (token.type == JSON_KEY && json_token_is(&token, "name"))
            break;
    if (token.type != JSON_KEY || json_next(&r, &token) < 0 || token.type != JSON_STRING) {
        buf_adds(out, object);
        return;
    }
    const char *value = token.text - 1, *rest = token.text + token.len + 1;
    buf_add(out, object, (size_t) (value - object));
    json_init(&j, out, 0);
    json_string(&j, NULL, name);
    buf_adds(out, rest);
}

static void add_run(const struct page_source *source, const char *name, bool live, struct buf *out)
{
    struct json j;
    struct buf href = BUF_INIT, object = BUF_INIT;
    add_href(name, &href);
    json_init(&j, &object, 0);
    page_add_run(&j, source, buf_text(&href), live);
    add_renamed(buf_text(&object), name, out);
    buf_release(&href);
    buf_release(&object);
}

int content_summary(const struct place *p, const char *name, bool may_judge,
                    struct content_summary *ret)
{
    struct store_error error;
    struct page_source *source;
    bool finished = false;
    int r = look(p->file, &finished, &ret->started, &error);
    if (r == 0 && !finished && !may_judge)
        return 0;
    if (r == 0)
        r = page_open(p->file, &source, &error);
    if (r < 0) {
        snprintf(ret->problem, sizeof(ret->problem), "%s", error.text);
        return r;
    }
    add_run(source, name, p->is_live && !finished, &ret->text);
    page_free(source);
    return 0;
}

/* ---- one run ---- */

static void add_error(struct buf *out, const char *why)
{
    struct json j;
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    json_string(&j, "error", why);
    json_object_end(&j);
}

/* As `show --json`: the answer that was kept, or the present one. */
static int add_answer(const char *file, const struct page_source *source, struct buf *out,
                      struct store_error *error)
{
    struct store *store;
    const char *json = NULL, *report;
    if (!page_is_finished(source)) {
        report_run_json(out, page_view(source));
        return 0;
    }
    int r = store_open(file, &store, error);
    if (r < 0)
        return r;
    r = store_answer(store, &json, &report);
    if (r < 0)
        store_explain(r, error);
    else if (json)
        json_add_foreign(out, json);
    store_free(store);
    return r;
}

static int add_content(const struct content_wanted *w, const struct place *p,
                       struct page_source *source, struct buf *out, struct store_error *error)
{
    const struct span_wanted *s = &w->span;
    int r;
    switch (w->kind) {
    case CONTENT_ANSWER:
        return add_answer(p->file, source, out, error);
    case CONTENT_SPAN:
        r = page_span_json(out, source, s->series, s->from, s->to, s->points);
        snprintf(error->text, sizeof(error->text), "no series has that number");
        return r;
    case CONTENT_LIST:
    case CONTENT_DOCUMENT:
        break;
    }
    return page_json(out, source, p->is_live && !page_is_finished(source), error);
}

static int status_of(int error)
{
    return error == -ENOENT ? 404 : error == -EINVAL ? 400 : 422;
}

/* Computes the content, or says what is wrong. Returns the status. */
static int compute(const struct content_wanted *w, const struct place *p, struct buf *out,
                   bool *ret_finished)
{
    struct store_error error = {.text = "cannot be read"};
    struct page_source *source;
    int r = page_open(p->file, &source, &error);
    if (r < 0) {
        add_error(out, error.text);
        return 422;
    }
    r = add_content(w, p, source, out, &error);
    *ret_finished = page_is_finished(source);
    page_free(source);
    if (r == 0)
        return 200;
    buf_clear(out);
    add_error(out, error.text);
    return status_of(r);
}

/* True: nothing to do, *ret_status says why. */
static bool may_rest(const struct content_wanted *w, const struct place *p, int *ret_status)
{
    struct store_error error;
    bool finished = false;
    double started;
    if (strcmp(w->stamp, p->stamp) == 0) {
        *ret_status = CONTENT_SAME;
        return true;
    }
    *ret_status = CONTENT_LATER;
    return !w->may_compute && (look(p->file, &finished, &started, &error) < 0 || !finished);
}

int content_read(const struct content_wanted *w)
{
    struct content_head head = {.status = 404};
    struct place p;
    struct buf out = BUF_INIT;
    int r = place_enter(w->root, w->file, &p);
    if (r < 0) {
        add_error(&out, error_words(-r));
    } else {
        snprintf(head.stamp, sizeof(head.stamp), "%s", p.stamp);
        head.is_live = p.is_live;
        if (!may_rest(w, &p, &head.status))
            head.status = compute(w, &p, &out, &head.is_finished);
    }
    reading_write(&head, sizeof(head));
    reading_write(buf_text(&out), out.len);
    buf_release(&out);
    return 0;
}
