/* tests/fuzz/fuzz_source.c: any text as source code: the line found is one of its lines. The
 * first line of the input is a path, the second a scope (empty: none), the rest the source. */
#include "sample/source.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts the first line off; NULL: there is none. */
static char *cut_line(char **text, size_t *len)
{
    char *end = memchr(*text, '\n', *len), *line = *text;
    if (!end)
        return NULL;
    *end = '\0';
    *len -= (size_t) (end + 1 - line);
    *text = end + 1;
    return line;
}

static int count_lines(const char *text, size_t len)
{
    int lines = 1;
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1), *text = copy;
    struct source_name names[SOURCE_NAMES];
    if (!copy)
        abort();
    memcpy(copy, data, size);
    copy[size] = '\0';
    char *path = cut_line(&text, &size), *scope = path ? cut_line(&text, &size) : NULL;
    unsigned count = scope ? source_names(path, names) : 0;
    if (count > 0) {
        for (unsigned i = 0; i < 16; i++) {
            const struct source_query query = {.name = names[count - 1].text,
                                               .is_attribute = i & 1,
                                               .only_there = i & 2,
                                               .scope = scope[0] ? scope : NULL,
                                               .by = (enum source_by)(i / 4)};
            int line = source_find_addition(text, size, &query);
            if (line < 0 || line > count_lines(text, size))
                abort();
        }
    }
    free(copy);
    return 0;
}
