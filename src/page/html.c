/* page/html.c: the HTML around the document. */
#include "page/page.h"

#include "page_script_text.h"
#include "page_style_text.h"

#define POLICY_REST "img-src data:; base-uri 'none'; form-action 'none'"
#define POLICY_FILE                                                                                \
    "default-src 'none'; script-src 'sha256-" page_script_text_SHA256 "'; "                        \
    "style-src 'sha256-" page_style_text_SHA256 "'; " POLICY_REST
#define POLICY_LIVE                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " POLICY_REST    \
    "; frame-ancestors 'none'"

/* The rising tide mark, so that a browser asks for no icon. */
#define ICON                                                                                       \
    "<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' "      \
    "viewBox='0 0 16 16'%3E%3Cpath d='M1 13h4V9h3V6h3V3h4' fill='none' stroke='%232a6fdb' "        \
    "stroke-width='2'/%3E%3C/svg%3E\">\n"

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n";

const char *page_script(void)
{
    return page_script_text;
}

const char *page_style(void)
{
    return page_style_text;
}

const char *page_policy(enum page_form form)
{
    return form == PAGE_FILE ? POLICY_FILE : POLICY_LIVE;
}

/* A text as HTML, in an element or an attribute. Unsafe characters become '?', line ends stay. */
static void add_escaped(struct buf *out, const char *text)
{
    struct buf line = BUF_INIT, clean = BUF_INIT;
    for (const char *c = text; *c;) {
        size_t len = 0;
        while (c[len] && c[len] != '\n')
            len++;
        buf_clear(&line);
        buf_clear(&clean);
        buf_add(&line, c, len);
        utf8_add_clean(&clean, buf_text(&line), false);
        for (const char *s = buf_text(&clean); *s; s++) {
            const char *name = *s == '<'    ? "&lt;"
                               : *s == '>'  ? "&gt;"
                               : *s == '&'  ? "&amp;"
                               : *s == '"'  ? "&quot;"
                               : *s == '\'' ? "&#39;"
                                            : NULL;
            if (name)
                buf_adds(out, name);
            else
                buf_addc(out, *s);
        }
        c += len;
        if (*c == '\n') {
            buf_addc(out, '\n');
            c++;
        }
    }
    buf_release(&line);
    buf_release(&clean);
}

static void add_title(struct buf *out, const char *title)
{
    buf_adds(out, "<title>");
    add_escaped(out, title && *title ? title : "a run");
    buf_adds(out, " - tidemark</title>\n" ICON);
}

void page_file(struct buf *out, const char *title, const char *document, const char *report)
{
    buf_adds(out, head);
    buf_adds(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY_FILE "\">\n");
    add_title(out, title);
    buf_addf(out, "<style>%s</style>\n</head>\n<body>\n", page_style_text);
    buf_adds(out, "<main id=\"page\"></main>\n<noscript><pre>");
    add_escaped(out, report);
    buf_adds(out, "</pre></noscript>\n<script type=\"application/json\" id=\"data\">");
    buf_adds(out, document);
    buf_addf(out, "</script>\n<script>%s</script>\n</body>\n</html>\n", page_script_text);
}

void page_live(struct buf *out, const char *title, const char *script, const char *style,
               const char *home)
{
    buf_adds(out, head);
    add_title(out, title);
    buf_adds(out, "<link rel=\"stylesheet\" href=\"");
    add_escaped(out, style);
    buf_adds(out, "\">\n<script defer src=\"");
    add_escaped(out, script);
    buf_adds(out, "\"></script>\n</head>\n<body>\n<main id=\"page\"");
    if (home) {
        buf_adds(out, " data-home=\"");
        add_escaped(out, home);
        buf_addc(out, '"');
    }
    buf_adds(out, "></main>\n<noscript><p>This page needs JavaScript. Without it: tidemark show "
                  "RUN.tide</p></noscript>\n"
                  "</body>\n</html>\n");
}
