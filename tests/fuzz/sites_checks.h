/* tests/fuzz/sites_checks.h: what holds for every struct sites, wherever it comes from. */
#ifndef TIDEMARK_FUZZ_SITES_CHECKS_H
#define TIDEMARK_FUZZ_SITES_CHECKS_H

#include "require.h"

#include "report/report.h"
#include "sites/sites.h"

#include <math.h>
#include <string.h>

static inline bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static inline size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char) *text & 0xc0) != 0x80;
    return count;
}

static inline void check_points(const struct site_point *points, unsigned count)
{
    REQUIRE(count <= SITE_POINTS);
    for (const struct site_point *p = points; p < points + count; p++)
        REQUIRE(isfinite(p->seconds) && (p == points || p->seconds > p[-1].seconds) &&
                is_amount(p->bytes) && is_amount(p->variance) && is_amount(p->allocated) &&
                is_amount(p->remains) && is_amount(p->remains_variance));
}

static inline void check_gain(struct site_gain g, unsigned points)
{
    REQUIRE(points == 0 ? isnan(g.bytes) : isfinite(g.bytes) && is_amount(g.error));
}

static inline void check_frames(const struct site *s)
{
    int own = site_own_frame(s);
    REQUIRE(s->frame_count <= SITES_MOST_FRAMES && own < (int) s->frame_count);
    REQUIRE(own < 0 ? !s->own : s->own == &s->frames[own]);
    for (unsigned i = 0; i < s->frame_count; i++)
        REQUIRE(s->frames[i].function && s->frames[i].file && s->frames[i].module &&
                s->frames[i].line >= 0);
}

static inline void check_site(const struct site *s, double from, double to)
{
    struct buf text = BUF_INIT;
    REQUIRE(s->kind < SITE_KINDS && s->device && is_amount(s->samples) && is_amount(s->live) &&
            is_amount(s->objects));
    check_points(s->points, s->point_count);
    check_frames(s);
    for (unsigned i = 0; i < SITE_COHORTS; i++)
        REQUIRE(is_amount(s->cohorts[i]));
    REQUIRE(site_habit(s) < SITE_HABITS && site_habit_name(site_habit(s)));
    check_gain(site_gain(s, from, to), s->point_count);
    check_gain(site_gain(s, from, from + (to - from) / 3), s->point_count);
    for (size_t most = 1; most < 200; most += 66) {
        buf_clear(&text);
        site_describe(s, most, &text);
        REQUIRE(!s->own || characters(buf_text(&text)) <= most);
    }
    buf_release(&text);
}

static inline void check_sites(const struct sites *s)
{
    double from = s->point_count ? s->points[0].seconds : 0;
    double to = s->point_count ? s->points[s->point_count - 1].seconds : 1;
    REQUIRE(s->count <= SITES_MOST && is_amount(s->kept) && is_amount(s->others));
    check_points(s->points, s->point_count);
    check_gain(sites_gain(s, from, to), s->point_count);
    for (size_t i = 0; i < s->count; i++)
        check_site(&s->list[i], from, to);
}

/* Every picture and export of them can be made. */
static inline void export_sites(const struct sites *s)
{
    struct buf out = BUF_INIT;
    const struct report_sites list = {"trainer 1", 1, s, NAN};
    for (unsigned value = 0; value < REPORT_VALUES; value++) {
        const struct report_stacks r = {.started = NAN,
                                        .list = &list,
                                        .count = 1,
                                        .value = (enum report_value) value,
                                        .from = NAN,
                                        .to = NAN};
        if (report_flame(&out, &r) == 0)
            REQUIRE(out.len <= FLAME_MOST_BYTES);
        buf_clear(&out);
        report_collapsed(&out, &r);
        report_speedscope(&out, &r);
        report_pprof(&out, &r);
        report_sites_json(&out, &r);
        buf_clear(&out);
    }
    buf_release(&out);
}

/* More digits than a double has: what is read back may differ in the last of them. */
static inline bool is_rounded(const char *text)
{
    size_t digits = 0;
    for (; *text && digits <= 15; text++)
        if (*text != '.')
            digits = *text >= '0' && *text <= '9' ? digits + 1 : 0;
    return digits > 15;
}

/* As the run file keeps them: read back and written again, nothing changes. */
static inline void check_text(const struct sites *s)
{
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct sites *back, *again;
    sites_write(s, &first);
    REQUIRE(first.len <= SITES_MOST_BYTES);
    REQUIRE(sites_parse(buf_text(&first), first.len, &back) == 0);
    check_sites(back);
    buf_clear(&first);
    sites_write(back, &first);
    REQUIRE(sites_parse(buf_text(&first), first.len, &again) == 0);
    sites_write(again, &second);
    REQUIRE(is_rounded(buf_text(&first)) || strcmp(buf_text(&first), buf_text(&second)) == 0);
    sites_free(back);
    sites_free(again);
    buf_release(&first);
    buf_release(&second);
}

#endif
