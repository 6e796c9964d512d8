/* watch/additions.h: the lines that add to what grows. Private to watch/. */
#ifndef TIDEMARK_WATCH_ADDITIONS_H
#define TIDEMARK_WATCH_ADDITIONS_H

struct watch;
struct member;
struct found;
struct wire_census;

/* Of each holder in a census the line of the source that adds to it, as the census before had it or
 * by looking into the source, with the rights of the process. */
void additions_find(const struct watch *w, struct member *m, const struct found *before,
                    struct wire_census *c);

#endif
