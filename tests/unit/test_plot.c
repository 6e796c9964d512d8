/* tests/unit/test_plot.c: pictures of runs: their texts, their places, their files. */
#include "../../src/plot/chart.h"
#include "../../src/plot/labels.h"
#include "../../src/plot/lines.h"
#include "../../src/plot/picture.h"
#include "answers.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

/* ---- text ---- */

TEST(canvas__measures_text_by_its_characters)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    double one = canvas_text_width(&c, "m", &style);
    CHECK(one > 5 && one < 12);
    CHECK_NEAR(canvas_text_width(&c, "mmmm", &style), 4 * one, 1e-9);
    CHECK_NEAR(canvas_text_width(&c, "", &style), 0, 0);
    CHECK(canvas_text_width(&c, "i", &style) < one);
    style.size = 20;
    CHECK_NEAR(canvas_text_width(&c, "m", &style), 2 * one, 1e-9);
    style.is_bold = true;
    CHECK(canvas_text_width(&c, "m", &style) > 2 * one);
    canvas_release(&c);
}

TEST(canvas__has_every_character_that_tidemark_writes)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    for (const char *s = "aZ09 ·–•…→≤µéßŁΩλ×±‘’“”€"; *s;) {
        uint32_t character = faces_character(&s);
        CHECK(FT_Get_Char_Index(c.faces.face[0], character) != 0);
        CHECK(FT_Get_Char_Index(c.faces.face[1], character) != 0);
    }
    canvas_release(&c);
}

TEST(canvas__takes_a_box_for_a_character_it_lacks)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    CHECK_NEAR(canvas_text_width(&c, "\xe6\xbc\xa2", &style), 10, 1e-9);
    CHECK(canvas_text_width(&c, "\xd7\x90", &style) > 4);
    canvas_release(&c);
}

TEST(canvas__cleans_what_comes_from_outside)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    canvas_text(&c, (struct point){0, 10},
                "a\x1b[31m\xff\xe2\x80\xae"
                "b",
                &style);
    CHECK(c.count == 1);
    CHECK_TEXT(c.shapes[0].text, "a?[31m??b");
    canvas_release(&c);
}

TEST(canvas__cuts_a_text_in_its_middle)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    struct buf cut = BUF_INIT;
    for (double width = 0; width < 120; width += 3) {
        buf_clear(&cut);
        canvas_cut(&c, &cut, "train_epoch_0001_λ_end", width, &style);
        CHECK(canvas_text_width(&c, buf_text(&cut), &style) <= width);
    }
    canvas_cut(&c, &cut, "short", 1000, &style);
    CHECK(strstr(buf_text(&cut), "short"));
    buf_clear(&cut);
    canvas_cut(&c, &cut, "train_epoch_0001_end", 60, &style);
    CHECK(strncmp(buf_text(&cut), "tr", 2) == 0);
    CHECK(strstr(buf_text(&cut), "…") && strstr(buf_text(&cut), "nd"));
    buf_release(&cut);
    canvas_release(&c);
}

/* ---- lines ---- */

static const char sentence[] = "reaches the limit of 32.0 GB in about 970 steps (960 to 990 "
                               "steps), 1.3 s from the end of an_extraordinarily_long_name";

TEST(lines__fit_their_width_and_say_everything)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    for (double width = 130; width < 900; width += 11) {
        struct lines l;
        struct buf all = BUF_INIT;
        lines_wrap(&l, &c, sentence, 30, width, 8, &style);
        for (unsigned i = 0; i < l.count; i++) {
            double room = width - (i == 0 ? 30 : 0);
            CHECK(canvas_text_width(&c, buf_text(&l.text[i]), &style) <= room);
            buf_addf(&all, "%s%s", all.len > 0 ? " " : "", buf_text(&l.text[i]));
        }
        CHECK(l.is_cut || strstr(buf_text(&all), "…") || strcmp(buf_text(&all), sentence) == 0);
        CHECK(!l.is_cut || width < 250);
        buf_release(&all);
        lines_release(&l);
    }
    canvas_release(&c);
}

TEST(lines__keep_a_number_with_its_unit)
{
    struct canvas c;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    for (double width = 60; width < 500; width += 7) {
        struct lines l;
        lines_wrap(&l, &c, sentence, 0, width, 8, &style);
        for (unsigned i = 0; i < l.count; i++) {
            CHECK(strncmp(buf_text(&l.text[i]), "GB", 2) != 0);
            CHECK(strncmp(buf_text(&l.text[i]), "s ", 2) != 0);
        }
        lines_release(&l);
    }
    canvas_release(&c);
}

TEST(lines__end_with_dots_where_room_ends)
{
    struct canvas c;
    struct lines l;
    canvas_init(&c, 100, 100);
    struct text_style style = {.size = 10};
    lines_wrap(&l, &c, sentence, 0, 150, 2, &style);
    CHECK(l.count == 2 && l.is_cut);
    CHECK(strstr(buf_text(&l.text[1]), "…"));
    CHECK(canvas_text_width(&c, buf_text(&l.text[1]), &style) <= 150);
    lines_release(&l);
    lines_wrap(&l, &c, "  ", 0, 150, 2, &style);
    CHECK(l.count == 0);
    lines_release(&l);
    canvas_release(&c);
}

/* ---- places ---- */

TEST(labels__give_a_place_once_and_inside_alone)
{
    struct labels l;
    labels_init(&l, (struct box){0, 0, 100, 100});
    CHECK(labels_fit(&l, (struct box){10, 10, 40, 20}, 5));
    labels_take(&l, (struct box){10, 10, 40, 20});
    CHECK(!labels_fit(&l, (struct box){30, 15, 60, 25}, 0));
    CHECK(!labels_fit(&l, (struct box){42, 10, 60, 20}, 5));
    CHECK(labels_fit(&l, (struct box){46, 10, 60, 20}, 5));
    CHECK(labels_fit(&l, (struct box){10, 20, 40, 30}, 5));
    CHECK(!labels_fit(&l, (struct box){90, 50, 101, 60}, 0));
    CHECK(!labels_fit(&l, (struct box){-1, 50, 10, 60}, 0));
    labels_release(&l);
}

/* ---- whole pictures ---- */

/* A leak with everything that a chart can show. */
struct made_job {
    struct made_series m;
    struct job_answer answer;
    struct report_job job;
    struct plot_job plot;
};

static const char *const activities[] = {"evaluate", "<checkpoint>"};

static void add_phase(struct answer *a, enum phase_name name, double from, double to, double rate)
{
    a->phases[a->phase_count++] = (struct phase){.name = name,
                                                 .from = from,
                                                 .to = to,
                                                 .rate = rate,
                                                 .rate_low = 0.9 * rate,
                                                 .rate_high = 1.1 * rate};
}

static void add_spikes(struct made_job *j)
{
    struct answer *a = &j->m.answer;
    for (unsigned i = 20; i < j->m.history.count; i += 20) {
        j->m.history.blocks[i].peak += 3 * GB;
        j->m.history.blocks[i].activity = 1 + i / 20 % 2;
    }
    a->spikes.count = (j->m.history.count - 1) / 20;
    a->spikes.height = 3 * GB;
    a->spikes.during_count = 2;
    strcpy(a->spikes.during[0].name, activities[0]);
    strcpy(a->spikes.during[1].name, activities[1]);
    a->spikes.during[0].count = a->spikes.during[1].count = a->spikes.count / 2;
}

static void describe_leak(struct made_job *j)
{
    struct answer *a = &j->m.answer;
    a->verdict = VERDICT_LEAK;
    a->severity = SEVERITY_HIGH;
    a->onset_at = 60;
    a->alarm_at = 120;
    a->rate = 50 * MB;
    a->rate_low = 40 * MB;
    a->rate_high = 60 * MB;
    a->limit = 16 * GB;
    a->forecast.limit_at = a->last_at + 100;
    a->forecast.limit_low = a->last_at + 80;
    a->forecast.limit_high = a->last_at + 130;
    add_phase(a, PHASE_WARM_UP, a->first_at, 40, 90 * MB);
    add_phase(a, PHASE_STABLE, 40, 60, 0);
    add_phase(a, PHASE_GROWING, 60, a->last_at, 50 * MB);
}

static void make_job(struct made_job *j, const char *name, size_t count)
{
    double values[1000];
    for (size_t i = 0; i < count; i++)
        values[i] = i < 40 ? (1 + 0.05 * (double) i) * GB : (3 + 0.05 * (double) i) * GB;
    *j = (struct made_job){
        .answer = {.verdict = VERDICT_LEAK, .severity = SEVERITY_HIGH, .leaks = 1}};
    make_series(&j->m, name, "host.anon", CLOCK_STEP, values, count, 1, 1);
    describe_leak(j);
    add_spikes(j);
    j->job = (struct report_job){
        .series = &j->m.s, .count = 1, .answer = &j->answer, .source = "train.tide"};
    j->plot = (struct plot_job){.job = &j->job,
                                .command = "python train.py --epochs 3",
                                .seconds = 720,
                                .steps = (double) count,
                                .epochs = 3,
                                .processes = 9,
                                .activities = activities,
                                .activity_count = 2};
}

static struct box box_of(const struct shape *s)
{
    return (struct box){s->points[0].x, s->points[0].y - 0.7 * s->size, s->points[0].x + s->width,
                        s->points[0].y + 0.2 * s->size};
}

/* Texts that overlap, or reach out of the picture. */
static unsigned wrong_texts(const struct canvas *c)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct box a = box_of(&c->shapes[i]);
        if (c->shapes[i].kind != SHAPE_TEXT)
            continue;
        wrong += a.left < 0 || a.top < 0 || a.right > c->width || a.bottom > c->height;
        for (size_t k = i + 1; k < c->count; k++) {
            struct box b = box_of(&c->shapes[k]);
            wrong += c->shapes[k].kind == SHAPE_TEXT && boxes_overlap(&a, &b);
        }
    }
    return wrong;
}

static bool has_text(const struct canvas *c, const char *text)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->shapes[i].kind == SHAPE_TEXT && strstr(c->shapes[i].text, text))
            return true;
    return false;
}

TEST(picture__shows_everything_that_is_known)
{
    static const char *const texts[] = {
        "LEAK (high)",
        "why:",
        "fix:",
        "growing, ",
        "warm-up",
        "leak begins, step 60",
        "alarm, step 120",
        "evaluate: ",
        "<checkpoint>: ",
        "limit 16.0 GB",
        "reaches the limit of",
        "steps",
        "python train.py --epochs 3 · 12 min, 200 steps, 3 epochs, 9 processes",
        "tidemark "};
    struct made_job j;
    struct picture p;
    struct plot_options o = PLOT_OPTIONS_INIT;
    make_job(&j, "trainer 4242 host.anon", 200);
    CHECK(picture_init(&p, &j.plot, &o) == 0);
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!has_text(&p.canvas, texts[i]))
            UNIT_FAIL("the picture lacks \"%s\"", texts[i]);
    picture_release(&p);
    made_series_release(&j.m);
}

TEST(picture__keeps_its_texts_apart_at_every_size)
{
    static const double sides[] = {200, 320, 480, 675, 1200, 2160, 3840};
    struct made_job j;
    make_job(&j, "rank 3 (data worker 17) host.anon with quite a name", 200);
    for (unsigned i = 0; i < 49; i++) {
        struct plot_options o = PLOT_OPTIONS_INIT;
        struct picture p;
        o.width = sides[i / 7];
        o.height = sides[i % 7];
        CHECK(picture_init(&p, &j.plot, &o) == 0);
        unsigned wrong = wrong_texts(&p.canvas);
        picture_release(&p);
        if (wrong > 0)
            UNIT_FAIL("%u texts overlap at %.0fx%.0f", wrong, o.width, o.height);
    }
    made_series_release(&j.m);
}

TEST(picture__draws_one_sample_and_two)
{
    for (size_t count = 1; count <= 2; count++) {
        struct made_job j;
        struct picture p;
        struct plot_options o = PLOT_OPTIONS_INIT;
        make_job(&j, "x", count);
        j.m.answer.verdict = j.answer.verdict = VERDICT_INCONCLUSIVE;
        CHECK(picture_init(&p, &j.plot, &o) == 0);
        CHECK(wrong_texts(&p.canvas) == 0);
        picture_release(&p);
        made_series_release(&j.m);
    }
}

TEST(picture__says_what_it_cannot_draw)
{
    struct made_job j;
    struct buf out = BUF_INIT;
    struct plot_options o = PLOT_OPTIONS_INIT;
    make_job(&j, "x", 10);
    o.by_time = true;
    CHECK(plot_svg(&out, &j.plot, &o) == -ENOTSUP);
    o.by_time = false;
    j.m.history.count = 0;
    CHECK(plot_svg(&out, &j.plot, &o) == -ENODATA);
    CHECK(plot_png(&out, &j.plot, &o) == -ENODATA);
    j.job.count = 0;
    j.answer.deciding = SIZE_MAX;
    CHECK(plot_svg(&out, &j.plot, &o) == -ENODATA);
    CHECK(out.len == 0);
    made_series_release(&j.m);
}

TEST(picture__shows_many_charts_as_far_as_there_is_room)
{
    struct made_job j;
    struct report_series series[30];
    struct plot_options o = PLOT_OPTIONS_INIT;
    make_job(&j, "data worker host.anon", 200);
    for (unsigned i = 0; i < 30; i++)
        series[i] = j.m.s;
    j.job.series = series;
    for (size_t count = 2; count <= 30; count += 4) {
        struct picture p;
        j.job.count = count;
        o.choice = PLOT_ATTENTION;
        CHECK(picture_init(&p, &j.plot, &o) == 0);
        CHECK(wrong_texts(&p.canvas) == 0);
        CHECK(has_text(&p.canvas, "have no room here") == (count > 8));
        picture_release(&p);
    }
    made_series_release(&j.m);
}

TEST(picture__survives_numbers_of_every_size)
{
    static const double sizes[] = {1e-300, 1, 512, 1e6, 1e12, 9e17};
    for (unsigned i = 0; i < 6; i++) {
        struct made_job j;
        struct plot_options o = PLOT_OPTIONS_INIT;
        struct picture p;
        make_job(&j, "x", 60);
        for (unsigned k = 0; k < j.m.history.count; k++) {
            struct history_block *b = &j.m.history.blocks[k];
            b->min = b->mean = sizes[i] * (k % 2);
            b->max = b->peak = sizes[i];
        }
        j.m.answer.limit = sizes[i];
        j.m.answer.rate = j.m.answer.rate_low = j.m.answer.rate_high = sizes[i];
        CHECK(picture_init(&p, &j.plot, &o) == 0);
        for (size_t k = 0; k < p.canvas.count; k++)
            for (size_t n = 0; n < p.canvas.shapes[k].count; n++)
                CHECK(isfinite(p.canvas.shapes[k].points[n].x + p.canvas.shapes[k].points[n].y));
        CHECK(wrong_texts(&p.canvas) == 0);
        picture_release(&p);
        made_series_release(&j.m);
    }
}

/* ---- files ---- */

TEST(svg__escapes_names)
{
    struct made_job j;
    struct buf out = BUF_INIT;
    struct plot_options o = PLOT_OPTIONS_INIT;
    make_job(&j, "<script>alert('x')</script>&\x1b[0m\"", 200);
    j.plot.command = "</text></svg><script>\xe2\x80\xaex";
    CHECK(plot_svg(&out, &j.plot, &o) == 0);
    CHECK(!strstr(buf_text(&out), "<script"));
    CHECK(!strstr(buf_text(&out), "<checkpoint>"));
    CHECK(strstr(buf_text(&out), "&lt;script&gt;alert(&#39;x&#39;)"));
    CHECK(!strchr(buf_text(&out), '\x1b'));
    CHECK(strstr(buf_text(&out), "<title>LEAK (high): "));
    buf_release(&out);
    made_series_release(&j.m);
}

TEST(svg__writes_numbers_without_tails)
{
    struct buf out = BUF_INIT;
    struct canvas c;
    canvas_init(&c, 100, 50.5);
    canvas_stroke(&c, (struct point){0, -0.0001}, (struct point){10.25, 1e3}, 1.5, 3,
                  (struct paint){0x0b5cad, 0.5});
    canvas_svg(&out, &c);
    CHECK(strstr(buf_text(&out), "width=\"100\" height=\"50.5\" viewBox=\"0 0 100 50.5\""));
    CHECK(strstr(buf_text(&out),
                 "<polyline points=\"0,0 10.25,1000\" stroke=\"#0b5cad\" stroke-opacity=\"0.5\""
                 " stroke-width=\"1.5\" stroke-dasharray=\"3\"/>"));
    buf_release(&out);
    canvas_release(&c);
}

TEST(png__is_the_same_twice)
{
    struct made_job j;
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct plot_options o = PLOT_OPTIONS_INIT;
    make_job(&j, "x", 200);
    o.scale = 1.5;
    CHECK(plot_png(&a, &j.plot, &o) == 0 && plot_png(&b, &j.plot, &o) == 0);
    CHECK(a.len > 10000 && a.len == b.len && memcmp(a.text, b.text, a.len) == 0);
    CHECK(memcmp(a.text, "\x89PNG\r\n\x1a\n", 8) == 0);
    buf_release(&a);
    buf_release(&b);
    made_series_release(&j.m);
}
