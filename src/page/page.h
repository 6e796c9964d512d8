/* page/page.h: a run as a page: the document it draws from, one HTML file, or the page of a server.
 * docs/PAGE.md is the contract. */
#ifndef TIDEMARK_PAGE_H
#define TIDEMARK_PAGE_H

#include "report/report.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The room judges nothing. Verdicts, rates, parts and holders come from the view, the reports and
 * words/; samples and facts come from the run file. Everything that a run file says may be hostile:
 * the document is valid JSON in valid UTF-8 whatever the file holds, `<` in it is written \u003c,
 * and every list in it is bounded, so that a page takes less than PAGE_MOST_BYTES.
 */
#define PAGE_MOST_BYTES ((size_t) 1 << 20)

/* What the document may take of that; curves get what the rest of it leaves. */
#define PAGE_DOCUMENT_BYTES ((size_t) 750 << 10)

/* ---- a run ---- */

/*
 * A run file as it is now. It has the stored answer where there is one; otherwise what was recorded
 * is judged, as `tidemark show` does. Open it again to see how it went on. One owner, one thread.
 */
struct page_source;

/* -errno of store_open() or of reading; ret_error->text says it in words that follow the file's
 * name and a colon. The caller owns *ret. */
int page_open(const char *path, struct page_source **ret, struct store_error *ret_error);
struct page_source *page_free(struct page_source *s); /* accepts NULL, returns NULL */

/* The same for page_span_json() alone: it judges nothing, which takes most of the time of
 * page_open() where a run has no final answer. */
int page_open_samples(const char *path, struct page_source **ret, struct store_error *ret_error);

bool page_is_finished(const struct page_source *s);  /* it has its final answer */
const char *page_title(const struct page_source *s); /* the command; else the file's name */
/* Of the whole run; belongs to `s`. */
const struct view *page_view(const struct page_source *s);

/* Adds the whole document. `live`: the page says that the run still goes on. -errno of reading:
 * nothing was added. */
int page_json(struct buf *out, struct page_source *s, bool live, struct store_error *ret_error);

/* Adds the report for a pull request or an issue, as GitHub shows it. -errno of reading. */
int page_markdown(struct buf *out, struct page_source *s, struct store_error *ret_error);

/*
 * Adds span.json: one level of the series with that `id` between two seconds, in at most `points`
 * blocks (PAGE_SPAN_MOST at most). -ENOENT: no series has that id; -EINVAL: from is not before to;
 * -errno of reading.
 */
#define PAGE_SPAN_MOST 16384u
int page_span_json(struct buf *out, struct page_source *s, size_t series, double from, double to,
                   size_t points);

/* Adds the element of "runs" (docs/PAGE.md) for this run, one object. `href`: relative. */
void page_add_run(struct json *j, const struct page_source *s, const char *href, bool live);

/* ---- a log ---- */

/* Adds the document of a log or a table that was judged: its series, without processes, ledgers and
 * holders. `name`: of the file. */
void page_log_json(struct buf *out, const struct report_job *job, const char *name);

/* ---- a comparison ---- */

/* Adds the document that `compare --html` writes. */
void page_comparison_json(struct buf *out, const struct report_runs *runs, const char *name_a,
                          const char *name_b);

/* ---- the page ---- */

/* Adds one self-contained HTML file with the document in it. `title`: for people; `report`: the
 * same as text, for who runs no scripts. Both may be hostile. */
void page_file(struct buf *out, const char *title, const char *document, const char *report);

/* Adds the page of a server. It fetches `data.json` relative to its address; `script` and `style`
 * are where the server has page_script() and page_style(), relative to it too; `home` is where it
 * lists all runs, NULL: nowhere. */
void page_live(struct buf *out, const char *title, const char *script, const char *style,
               const char *home);

const char *page_script(void); /* text/javascript; charset=utf-8 */
const char *page_style(void);  /* text/css; charset=utf-8 */

enum page_form { PAGE_FILE, PAGE_LIVE };

/* The Content-Security-Policy of the page; PAGE_FILE: it has it in itself already. */
const char *page_policy(enum page_form form);

#endif
