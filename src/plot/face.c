/* plot/face.c: the two fonts of a picture, by FreeType. */
#include "plot/face.h"
#include "base/base.h"
#include "plot/font_bold_bytes.h"
#include "plot/font_regular_bytes.h"

/* East Asian and later characters, emoji too, are about an em wide in any font. */
#define FIRST_WIDE 0x1100

void faces_init(struct faces *f)
{
    *f = (struct faces){0};
    if (FT_Init_FreeType(&f->library) != 0 ||
        FT_New_Memory_Face(f->library, font_regular_bytes, sizeof(font_regular_bytes), 0,
                           &f->face[0]) != 0 ||
        FT_New_Memory_Face(f->library, font_bold_bytes, sizeof(font_bold_bytes), 0, &f->face[1]) !=
            0)
        base_out_of_memory(); /* the fonts themselves are sound */
}

void faces_release(struct faces *f)
{
    FT_Done_Face(f->face[0]);
    FT_Done_Face(f->face[1]);
    FT_Done_FreeType(f->library);
    *f = (struct faces){0};
}

double faces_units(const struct faces *f, bool is_bold)
{
    return f->face[is_bold]->units_per_EM;
}

uint32_t faces_character(const char **text)
{
    uint32_t character;
    size_t len = utf8_length(*text);
    utf8_is_unsafe(*text, len > 0 ? len : 1, &character);
    *text += len > 0 ? len : 1;
    return character;
}

FT_Outline *faces_outline(struct faces *f, bool is_bold, uint32_t character, double *ret_advance)
{
    FT_Face face = f->face[is_bold];
    FT_UInt glyph = FT_Get_Char_Index(face, character);
    if (FT_Load_Glyph(face, glyph, FT_LOAD_NO_SCALE | FT_LOAD_NO_BITMAP) != 0)
        base_out_of_memory();
    bool is_wide = glyph == 0 && character >= FIRST_WIDE;
    *ret_advance = is_wide ? 1 : (double) face->glyph->metrics.horiAdvance / face->units_per_EM;
    return &face->glyph->outline;
}

double faces_width(struct faces *f, bool is_bold, const char *text)
{
    double width = 0, advance;
    while (*text) {
        faces_outline(f, is_bold, faces_character(&text), &advance);
        width += advance;
    }
    return width;
}
