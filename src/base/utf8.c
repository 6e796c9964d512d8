/* base/utf8.c: finds the characters in bytes from outside, and the unsafe ones. */
#include "base/utf8.h"

#include <string.h>

size_t utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *) text;
    if (s[0] < 0x80)
        return 1;
    size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
        return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

/* The character of `len` well-formed bytes. */
static uint32_t decode(const unsigned char *s, size_t len)
{
    uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (s[i] & 0x3f);
    return c;
}

struct range {
    uint32_t first, last;
};

/*
 * Unicode's Default_Ignorable_Code_Point without the variation selectors of ordinary text (U+FE00
 * to U+FE0F), and other invisible characters: line and paragraph separators, and the controls of
 * annotations and hieroglyphs. Includes all bidirectional controls.
 */
static const struct range hidden[] = {
    {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c},   {0x115f, 0x1160},
    {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

/* C0, DEL and C1. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

bool utf8_is_unsafe(const char *text, size_t len, uint32_t *ret_character)
{
    uint32_t c = decode((const unsigned char *) text, len);
    bool is_hidden = false;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && hidden[i].first <= c; i++)
        is_hidden |= c <= hidden[i].last;
    *ret_character = c;
    return is_hidden || is_control(c);
}

void utf8_add_clean(struct buf *b, const char *text, bool ascii)
{
    for (const char *s = text; *s;) {
        size_t len = utf8_length(s);
        uint32_t c;
        bool unsafe = len == 0 || utf8_is_unsafe(s, len, &c);
        bool repaired = strncmp(s, "\xef\xbf\xbd", 3) == 0;
        if (unsafe || repaired || (ascii && len > 1))
            buf_addc(b, '?');
        else
            buf_add(b, s, len);
        s += len ? len : 1;
    }
}
