/* plot/face.h: the two fonts of a picture: how wide a text is, and the outlines of its characters.
 * Private. */
#ifndef TIDEMARK_PLOT_FACE_H
#define TIDEMARK_PLOT_FACE_H

#include <stdbool.h>
#include <stdint.h>

#include <ft2build.h>
#include FT_FREETYPE_H

/*
 * The fonts are part of the program, so that a text is as wide on every machine. A character that
 * they lack is a box. One owner, one thread.
 */
struct faces {
    FT_Library library;
    FT_Face face[2]; /* regular, bold */
};

void faces_init(struct faces *f);
void faces_release(struct faces *f);

/* Loads the outline of a character, in units of the font; its advance in ems. Valid until the next
 * call. */
FT_Outline *faces_outline(struct faces *f, bool is_bold, uint32_t character, double *ret_advance);

/* Units of the font in an em. */
double faces_units(const struct faces *f, bool is_bold);

/* The width of a clean UTF-8 text, in ems. */
double faces_width(struct faces *f, bool is_bold, const char *text);

/* The character at a clean UTF-8 text, and where the next one is. */
uint32_t faces_character(const char **text);

#endif
