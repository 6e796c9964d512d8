/* report/pool.h: texts of any bytes, each kept once and numbered. Private. */
#ifndef TIDEMARK_REPORT_POOL_H
#define TIDEMARK_REPORT_POOL_H

#include <stddef.h>

/* Numbers count from 0 in the order in which texts came. One owner. */
struct pool {
    struct pool_text *list;
    size_t count;
    size_t *slots; /* a number and 1; 0: unused. A power of two, at most half of them used */
    size_t slot_count;
};

struct pool_text {
    char *bytes;
    size_t len;
};

#define POOL_INIT ((struct pool){.count = 0})
void pool_release(struct pool *p);

/* Adds the text if it is new. */
size_t pool_number(struct pool *p, const char *bytes, size_t len);

#endif
