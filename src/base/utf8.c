/* base/utf8.c: what is a character in bytes from outside. */
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

void utf8_add_clean(struct buf *b, const char *text, bool ascii)
{
    for (const char *s = text; *s;) {
        size_t len = utf8_length(s);
        unsigned char c = (unsigned char) s[0];
        /* 0xc2 0x80 to 0xc2 0x9f are the second set of control characters. */
        bool control = c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char) s[1] < 0xa0);
        bool repaired = strncmp(s, "\xef\xbf\xbd", 3) == 0;
        if (len == 0 || control || repaired || (ascii && len > 1))
            buf_addc(b, '?');
        else
            buf_add(b, s, len);
        s += len ? len : 1;
    }
}
