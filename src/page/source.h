/* page/source.h: what the files of page/ share: an open run, and the members of its document.
 * Private. */
#ifndef TIDEMARK_PAGE_SOURCE_H
#define TIDEMARK_PAGE_SOURCE_H

#include "page/page.h"
#include "replay/replay.h"

struct page_source {
    struct store *store;
    struct recording *recording; /* NULL until page_load() */
    struct view view;            /* the answer */
    struct view judged;          /* the recording judged again, for the accounts */
    bool has_view, is_judged;    /* `view` and `judged` are filled */
    bool finished;
    char *name;
};

/* Reads and judges the recording, unless that was done before. */
int page_load(struct page_source *s);

/* The series of the recording that a series of the view was recorded as; SIZE_MAX: none. */
size_t page_series_of(const struct page_source *s, const struct series_info *info);

/* How texts of the document look: one line, no colours. */
extern const struct report_style page_style_plain;

/* Lists of the document hold so many elements at most. */
#define PAGE_EVENTS 400u
#define PAGE_PROCESSES 400u
#define PAGE_STEPS 1024u
#define PAGE_TREE_ROWS 24u
#define PAGE_TREE_TIMES 240u
#define PAGE_CURVES 400u

/* A text that is cut to so many bytes. */
#define PAGE_TEXT 600u
void page_json_text(struct json *j, const char *key, const char *text);

/* A number for drawing: to so many decimals. */
void page_json_rounded(struct json *j, const char *key, double value, unsigned decimals);

/* Adds JSON text of ours on one line, with `<` escaped: no text in it can end the page's element.
 */
void page_add_compact(struct buf *out, const char *json);

/* ---- members of the document; each adds one ---- */

void opening_json(struct json *j, const char *key, const struct report_lines *lines);
void texts_json(struct json *j, const struct report_series *series, size_t count);
/* `ids`: of the curves; NULL: none. `bytes`: what they may take. */
void charts_json(struct json *j, const struct view *v, const size_t *ids, size_t bytes);
void chart_json(struct json *j, const struct report_series *s, const struct view *v, size_t id,
                bool is_range);
int curves_json(struct buf *out, struct page_source *s, const size_t *ids, size_t bytes);
int steps_json(struct json *j, struct page_source *s);
int events_json(struct json *j, struct page_source *s);
int processes_json(struct json *j, struct page_source *s);
int tree_json(struct json *j, struct page_source *s);
int objects_json(struct buf *out, struct page_source *s);
int flame_json(struct json *j, struct page_source *s);

#endif
