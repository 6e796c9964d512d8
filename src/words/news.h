/* words/news.h: what is announced while a job runs. */
#ifndef TIDEMARK_WORDS_NEWS_H
#define TIDEMARK_WORDS_NEWS_H

#include <stddef.h>

enum news_kind {
    NEWS_LEAK,       /* a series leaks: once each, or once for processes that run the same
                        code and leak alike; again when it is no longer negligible */
    NEWS_WITHDRAWN,  /* an announced leak is not one after all */
    NEWS_NEAR_LIMIT, /* memory is almost full, whatever the verdict */
    NEWS_ELSEWHERE,  /* the system grows and the job does not: the process that does */
    NEWS_COPIES,     /* data workers copy memory they could share */
    NEWS_CAUSE,      /* the holder of an announced leak, found since */
    NEWS_STORE,      /* the run file cannot be written, or can again */
    NEWS_END,        /* no more news */
};

struct news {
    enum news_kind kind;
    size_t series; /* NEWS_LEAK, NEWS_WITHDRAWN: the id of the series in a view */
    const char *text;
};

#endif
