/* screen/paint.h: text on the screen: cleaned, cut to its columns. Private to screen/. */
#ifndef TIDEMARK_SCREEN_PAINT_H
#define TIDEMARK_SCREEN_PAINT_H

#include "verdict/verdict.h"

#include <stdbool.h>

enum ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_RED, INK_GREEN, INK_YELLOW, INK_TITLE, INK_SELECTED };

void paint_start(bool color);
unsigned paint_rows(void);
unsigned paint_columns(void);

/* The text may come from outside: it is cleaned. Returns the columns it took, at most `width`; what
 * does not fit is cut. */
unsigned paint_text(unsigned row, unsigned column, unsigned width, const char *text, enum ink ink,
                    bool selected);
/* The same at the right end of its columns. */
void paint_right(unsigned row, unsigned column, unsigned width, const char *text, enum ink ink,
                 bool selected);
/* Blanks over a whole span, in this ink. */
void paint_blank(unsigned row, unsigned column, unsigned width, enum ink ink);

enum ink ink_of_verdict(enum verdict verdict, enum severity severity, bool suspect);

#endif
