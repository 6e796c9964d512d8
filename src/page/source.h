/* page/source.h: what the files of page/ share: an open run, and the members of its document.
 * Private. */
#ifndef TIDEMARK_PAGE_SOURCE_H
#define TIDEMARK_PAGE_SOURCE_H

#include "page/page.h"
#include "replay/replay.h"

struct page_source {
    struct store *store;
    struct recording *recording; /* NULL until page_read() */
    struct view view;            /* the answer */
    struct view judged;          /* the recording judged again, for the accounts */
    bool has_view, is_judged;    /* `view` and `judged` are filled */
    bool finished;
    char *name;
};

/* Reads the recording, unless that was done before. */
int page_read(struct page_source *s);
/* Reads and judges it. */
int page_load(struct page_source *s);

/* The series of the recording that a series of the view was recorded as; SIZE_MAX: none. */
size_t page_series_of(const struct page_source *s, const struct series_info *info);

/* How texts of the document look: one line, no colours. */
extern const struct report_style page_style_plain;

/* The tree always has so many rows and times at most, and the steps so many pairs. */
#define PAGE_STEPS 1024u
#define PAGE_TREE_ROWS 24u
#define PAGE_TREE_TIMES 200u

/* How much of a large run the document has. */
struct page_limits {
    size_t series, events, processes, censuses, curves; /* how many */
    size_t chart_bytes, why_bytes, flame_bytes;
};

/* A document that is being written. `shown`: which series of the view it has; `ids`: the curve of
 * each series of the view; SIZE_MAX: none. */
struct page_draft {
    struct page_source *source;
    struct page_limits limits;
    bool is_live;
    bool *shown;
    size_t *ids;
};

/* A text that is cut to so many bytes. */
#define PAGE_TEXT 600u
void page_json_text(struct json *j, const char *key, const char *text);

/* What every document begins with. `name`: NULL: absent. */
void page_json_head(struct json *j, const char *page, const char *name);

/* A number for drawing: to so many decimals. */
void page_json_rounded(struct json *j, const char *key, double value, unsigned decimals);

/* Adds JSON text of ours on one line, with `<` escaped: no text in it can end the page's element.
 */
void page_add_compact(struct buf *out, const char *json);

/* ---- members of the document; each adds one ---- */

void opening_json(struct json *j, const char *key, const struct report_lines *lines);
void text_json(struct json *j, const struct report_series *s);
/* `v`: what the program did is in it; NULL: of a log. `id`: of the curve; SIZE_MAX: none. */
void chart_json(struct json *j, const struct report_series *s, const struct view *v, size_t id,
                bool is_range);
/* False: the log has steps alone. They stand for seconds then, as `timed` says in the document. */
bool page_has_seconds(const struct history *h);
void texts_json(struct json *j, const struct page_draft *d);
void charts_json(struct json *j, const struct page_draft *d);
int steps_json(struct json *j, const struct page_draft *d);
int events_json(struct json *j, const struct page_draft *d);
int processes_json(struct json *j, const struct page_draft *d);
int tree_json(struct json *j, const struct page_draft *d);
int flame_json(struct json *j, const struct page_draft *d);
/* Of a log, from its history. */
void log_curves_json(struct json *j, const struct report_job *job);
/* These two add only its value. */
int objects_json(struct buf *out, const struct page_draft *d);
int curves_json(struct buf *out, const struct page_draft *d, size_t bytes);

/* How much a series of the view matters: 0 most. */
#define PAGE_RANKS 5
int page_rank(const struct view *v, size_t series);

#endif
