/* plot/head.h: what stands above a chart: the verdict, why and what to do. Private. */
#ifndef TIDEMARK_PLOT_HEAD_H
#define TIDEMARK_PLOT_HEAD_H

#include "plot/labels.h"
#include "plot/lines.h"
#include "plot/look.h"
#include "report/report.h"

/* How many lines each part may take. */
struct head_room {
    unsigned title, why, next;
};

/* A label, then a text in lines. */
struct saying {
    struct buf label;
    struct lines lines;
    struct text_style style;
    double indent;  /* of the first line */
    bool has_plate; /* behind the label */
    uint32_t plate, label_rgb;
};

/* "LEAK (low)" on a plate, then the sentence. `size` in units. */
void saying_verdict(struct saying *s, struct canvas *c, const struct look *look,
                    enum verdict verdict, enum severity severity, const char *sentence, double size,
                    double width, unsigned most);
/* "fix:" in bold, then the sentence. */
void saying_plain(struct saying *s, struct canvas *c, const struct look *look, const char *label,
                  const char *sentence, double width, unsigned most);
double saying_height(const struct saying *s);
void saying_draw(const struct saying *s, struct canvas *c, struct labels *l, struct point at);
void saying_release(struct saying *s);

/* The three of a report. */
struct head {
    struct saying title, why, next;
};

void head_init(struct head *h, struct canvas *c, const struct look *look,
               const struct report_job *job, double width, const struct head_room *room);
double head_height(const struct head *h);
void head_draw(const struct head *h, struct canvas *c, struct labels *l, struct point at);
void head_release(struct head *h);

#endif
