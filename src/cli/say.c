/* cli/say.c: messages on standard error, suggestions for mistyped words, statuses. */
#include "base/base.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

int cli_worse(int a, int b)
{
    static const int order[] = {STATUS_BROKEN, STATUS_ERROR, STATUS_OPEN};

    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (a == order[i] || b == order[i])
            return order[i];
    }
    return STATUS_FINE;
}

void cli_add_line(struct buf *out, const char *line)
{
    struct buf text = BUF_INIT;
    buf_add(&text, line, strcspn(line, "\n"));
    utf8_add_clean(out, buf_text(&text), false);
    buf_addc(out, '\n');
    buf_release(&text);
}

void cli_say(const char *format, ...)
{
    struct buf text = BUF_INIT, line = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vaddf(&text, format, args);
    va_end(args);
    utf8_add_clean(&line, buf_text(&text), false);
    fprintf(stderr, "tidemark: %s\n", buf_text(&line));
    buf_release(&text);
    buf_release(&line);
}

#define WORD_MAX 32u

/* Edits that turn one word into the other; words longer than WORD_MAX are never near. */
static unsigned distance(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b);
    unsigned row[WORD_MAX + 1];
    if (len_a > WORD_MAX || len_b > WORD_MAX)
        return WORD_MAX;
    for (unsigned k = 0; k <= len_b; k++)
        row[k] = k;
    for (size_t i = 0; i < len_a; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned) i + 1;
        for (size_t k = 0; k < len_b; k++) {
            unsigned replace = corner + (a[i] != b[k]);
            unsigned least = row[k] < row[k + 1] ? row[k] + 1 : row[k + 1] + 1;
            corner = row[k + 1];
            row[k + 1] = replace < least ? replace : least;
        }
    }
    return row[len_b];
}

const char *cli_suggest(const char *word, const char *const *names, unsigned count)
{
    const char *nearest = NULL;
    size_t len = strlen(word);
    unsigned best = len < 4 ? 1 : 2;
    for (unsigned i = 0; i < count; i++) {
        bool begins = len >= 2 && strncmp(names[i], word, len) == 0;
        unsigned edits = begins ? 0 : distance(word, names[i]);
        if (edits < best || (edits == best && !nearest)) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}
