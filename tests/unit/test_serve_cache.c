/* tests/unit/test_serve_cache.c: contents are kept once, and not without bound. */
#include "serve/cache.h"
#include "unit.h"

#include <stdio.h>

#define MANY 3000u

static struct cache new_cache(void)
{
    struct cache c;
    struct runs runs;
    if (runs_init(&runs, NULL, "x") < 0)
        runs = (struct runs){.count = 0};
    cache_init(&c, &runs, 0);
    return c;
}

static struct body *body_of(const char *text)
{
    struct buf b = BUF_INIT;
    buf_adds(&b, text);
    return body_new(&b);
}

TEST(body__has_a_tag_of_its_bytes)
{
    struct body *a = body_of("one"), *b = body_of("one"), *other = body_of("two");
    bool same = strcmp(a->tag, b->tag) == 0, differs = strcmp(a->tag, other->tag) != 0;
    CHECK(body_keep(a) == a && a->references == 2);
    body_release(a);
    CHECK(a->references == 1 && same && differs && a->tag[0] == '"');
    body_release(a);
    body_release(b);
    body_release(other);
    CHECK(!body_release(NULL));
}

TEST(cache__keeps_one_entry_for_one_content)
{
    struct cache c = new_cache();
    struct span_wanted one = {.series = 1, .points = 5, .from = 0, .to = 1}, other = one;
    other.to = 2;
    struct entry *document = cache_entry(&c, CONTENT_DOCUMENT, "a", NULL, 0);
    CHECK(cache_entry(&c, CONTENT_DOCUMENT, "a", NULL, 1) == document);
    CHECK(cache_entry(&c, CONTENT_DOCUMENT, "b", NULL, 1) != document);
    CHECK(cache_entry(&c, CONTENT_ANSWER, "a", NULL, 1) != document);
    CHECK(cache_list(&c, 1) == cache_list(&c, 2));
    CHECK(cache_entry(&c, CONTENT_SPAN, "a", &one, 1) ==
          cache_entry(&c, CONTENT_SPAN, "a", &one, 1));
    CHECK(cache_entry(&c, CONTENT_SPAN, "a", &one, 1) !=
          cache_entry(&c, CONTENT_SPAN, "a", &other, 1));
    CHECK(c.count == 6);
    cache_release(&c);
}

TEST(cache__is_bounded_and_keeps_what_is_used)
{
    struct cache c = new_cache();
    struct entry *list = cache_list(&c, 0),
                 *used = cache_entry(&c, CONTENT_DOCUMENT, "used", NULL, 0);
    used->users = 1;
    for (unsigned i = 0; i < MANY; i++) {
        struct span_wanted span = {.series = i, .points = 1, .from = 0, .to = 1};
        cache_entry(&c, CONTENT_SPAN, "a", &span, 1 + i);
    }
    CHECK(c.count < MANY / 2);
    CHECK(cache_list(&c, MANY) == list);
    CHECK(cache_entry(&c, CONTENT_DOCUMENT, "used", NULL, MANY) == used);
    cache_release(&c);
}

TEST(cache__is_bounded_in_bytes)
{
    struct cache c = new_cache();
    for (unsigned i = 0; i < 40; i++) {
        struct span_wanted span = {.series = i, .points = 1, .from = 0, .to = 1};
        struct buf text = BUF_INIT;
        buf_repeat(&text, "0123456789abcdef", 1 << 18);
        cache_entry(&c, CONTENT_SPAN, "a", &span, i)->body = body_new(&text);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < c.count; i++)
        bytes += c.entries[i]->body->text.len;
    cache_release(&c);
    CHECK(bytes <= (size_t) 72 << 20);
}

TEST(cache__is_fresh_until_it_may_be_read_again)
{
    struct cache c = new_cache();
    struct entry *e = cache_list(&c, 0);
    e->ready_at = 5;
    CHECK(!cache_is_fresh(e, 1));
    e->body = body_of("x");
    CHECK(cache_is_fresh(e, 4) && !cache_is_fresh(e, 5));
    cache_release(&c);
}

TEST(cache__allows_spans_for_a_share_of_the_time)
{
    struct cache c = new_cache();
    CHECK(cache_allows_span(&c, 0));
    c.span_seconds = -1;
    CHECK(!cache_allows_span(&c, 1) && !cache_allows_span(&c, 4));
    CHECK(cache_allows_span(&c, 6));
    cache_allows_span(&c, 1000);
    CHECK(c.span_seconds <= 2);
    cache_release(&c);
}
