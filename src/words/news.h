/* words/news.h: what of a job is worth announcing at once. */
#ifndef TIDEMARK_WORDS_NEWS_H
#define TIDEMARK_WORDS_NEWS_H

#include <stddef.h>

enum news_kind {
    NEWS_LEAK,       /* a series has turned to leak: once for each, or for the processes
                        that run the same code and leak alike, and once more where it was
                        negligible then and no longer is */
    NEWS_WITHDRAWN,  /* a series that was announced as a leak has turned out to be none */
    NEWS_NEAR_LIMIT, /* memory is nearly used up, whatever the verdict */
    NEWS_ELSEWHERE,  /* the system grows and the job does not: who does */
    NEWS_COPIES,     /* data workers copy what they could share */
    NEWS_CAUSE,      /* what grows, and who holds it: known after the leak was announced */
    NEWS_STORE,      /* the run file cannot be written, or can again */
    NEWS_END,        /* no more news */
};

struct news {
    enum news_kind kind;
    size_t series; /* NEWS_LEAK, NEWS_WITHDRAWN: the id of the series in a view */
    const char *text;
};

#endif
