/* tests/unit/test_page.c: the document of the page: what adds up, and what a hostile run does to
 * it. */
#include "page/page.h"

#include "base/json_reader.h"
#include "random.h"
#include "store_files.h"
#include "unit.h"

#include <errno.h>

#define MB 1048576.0
#define HOUR 3600.0

/* ---- reading a document ---- */

/* The reader before the value at a path such as "tree/rows/2/bytes". False: there is none. */
static bool find(const char *text, size_t len, const char *path, struct json_reader *ret)
{
    struct json_token t;
    json_reader_init(ret, text, len);
    while (*path) {
        size_t n = strcspn(path, "/");
        char *end;
        long index = strtol(path, &end, 10);
        if (json_next(ret, &t) < 0)
            return false;
        if (t.type == JSON_ARRAY_BEGIN && end == path + n) {
            for (long i = 0; i < index; i++)
                if (json_skip(ret) < 0)
                    return false;
        } else if (t.type == JSON_OBJECT_BEGIN) {
            while (json_next(ret, &t) == 0 && t.type == JSON_KEY &&
                   !(t.len == n && strncmp(t.text, path, n) == 0))
                if (json_skip(ret) < 0)
                    return false;
            if (t.type != JSON_KEY)
                return false;
        } else {
            return false;
        }
        path += n + (path[n] == '/');
    }
    return true;
}

static bool has(const struct buf *doc, const char *path)
{
    struct json_reader r;
    return find(buf_text(doc), doc->len, path, &r);
}

static struct json_token token_at(const struct buf *doc, const char *path)
{
    struct json_token t = {.type = JSON_END};
    struct json_reader r;
    if (!find(buf_text(doc), doc->len, path, &r) || json_next(&r, &t) < 0)
        t.type = JSON_END;
    return t;
}

static double number_at(const struct buf *doc, const char *path)
{
    struct json_token t = token_at(doc, path);
    return t.type == JSON_NUMBER ? t.number : (double) NAN;
}

/* Valid until the next call. */
static const char *text_at(const struct buf *doc, const char *path)
{
    static char text[4096];
    struct json_token t = token_at(doc, path);
    struct buf b = BUF_INIT;
    if (t.type == JSON_STRING)
        json_token_text(&t, &b);
    snprintf(text, sizeof text, "%s", buf_text(&b));
    buf_release(&b);
    return text;
}

/* The array's length; -1: no such array. */
static long length_at(const struct buf *doc, const char *path)
{
    struct json_reader r, at;
    struct json_token t;
    long count = 0;
    if (!find(buf_text(doc), doc->len, path, &r) || json_next(&r, &t) < 0 ||
        t.type != JSON_ARRAY_BEGIN)
        return -1;
    for (at = r; json_next(&at, &t) == 0 && t.type != JSON_ARRAY_END; at = r, count++)
        if (json_skip(&r) < 0)
            return -1;
    return count;
}

/* Adds the numbers of an array to `sums`; returns how many. */
static size_t add_numbers(const struct buf *doc, const char *path, double *sums, size_t most)
{
    struct json_reader r;
    struct json_token t;
    size_t count = 0;
    if (!find(buf_text(doc), doc->len, path, &r) || json_next(&r, &t) < 0)
        return 0;
    while (json_next(&r, &t) == 0 && t.type == JSON_NUMBER && count < most)
        sums[count++] += t.number;
    return count;
}

/* The whole text is one JSON value. */
static bool is_json(const struct buf *doc)
{
    struct json_reader r;
    struct json_token t = {.type = JSON_NULL};
    json_reader_init(&r, buf_text(doc), doc->len);
    int e = 0;
    while (e == 0 && t.type != JSON_END)
        e = json_next(&r, &t);
    return e == 0;
}

static bool is_utf8(const struct buf *doc)
{
    for (const char *s = buf_text(doc); *s;) {
        size_t len = utf8_length(s);
        if (len == 0)
            return false;
        s += len;
    }
    return strlen(buf_text(doc)) == doc->len;
}

/* The document of a run file; empty: it cannot be read. */
static struct buf document_of(const struct folder *f)
{
    struct buf doc = BUF_INIT;
    struct page_source *s;
    struct store_error error;
    if (page_open(f->file, &s, &error) < 0)
        return doc;
    (void) page_json(&doc, s, false, &error);
    page_free(s);
    return doc;
}

/* ---- writing runs ---- */

static int64_t add_process(struct store *s, int64_t pid, const char *role, double last)
{
    struct store_process p = {.pid = pid,
                              .start = (uint64_t) pid,
                              .role = role,
                              .rank = -1,
                              .command = "python train.py",
                              .last_seconds = last,
                              .exit_status = NAN};
    return store_add_process(s, &p);
}

static int64_t add_of(struct store *s, int64_t process, const char *kind)
{
    enum series_unit unit = strcmp(kind, "fds") == 0 ? SERIES_COUNT : SERIES_BYTES;
    struct store_series x = {.process = process, .kind = kind, .unit = unit};
    return store_add_series(s, &x);
}

/* `processes` with their shares, anonymous memory and files, and the job's sum of the shares. */
static void write_job(const struct folder *f, unsigned processes, double seconds, double every)
{
    struct store *s = create_plain(f);
    struct random random = {17};
    int64_t *series = calloc(3 * (size_t) processes, sizeof(*series));
    if (!s || !series)
        abort();
    for (unsigned i = 0; i < processes; i++) {
        int64_t id = add_process(s, 1000 + i, i == 0 ? "trainer" : "data worker", seconds);
        series[3 * i] = add_of(s, id, "host.anon");
        series[3 * i + 1] = add_of(s, id, "host.pss");
        series[3 * i + 2] = add_of(s, id, "fds");
    }
    int64_t total = add_of(s, 0, "host.pss");
    for (double t = 0; t < seconds; t += every) {
        double sum = 0;
        store_add_mark(s, t, floor(t / every), NAN);
        for (unsigned i = 0; i < processes; i++) {
            double bytes = (100 + i) * MB + floor(random_uniform(&random) * 2000) * 4096 +
                           (i == 0 ? t * MB : 0);
            store_add_sample(s, series[3 * i], t, bytes);
            store_add_sample(s, series[3 * i + 1], t, bytes + MB);
            store_add_sample(s, series[3 * i + 2], t, floor(random_uniform(&random) * 100));
            sum += bytes + MB;
        }
        store_add_sample(s, total, t, sum);
        /* Not at every look: each waits for the disk. */
        if (fmod(t, 10 * every) == 0 && store_commit(s, t) < 0)
            abort();
    }
    if (store_close(s, seconds) < 0)
        abort();
    free(series);
}

/* ---- what is in it ---- */

TEST(page__has_the_answer_of_the_view)
{
    struct folder f = folder_begin();
    struct page_source *s;
    struct store_error error;
    struct buf doc = BUF_INIT;
    write_job(&f, 2, 300, 1);
    CHECK(page_open(f.file, &s, &error) == 0);
    CHECK(page_json(&doc, s, true, &error) == 0);
    const struct view *v = page_view(s);
    CHECK(is_json(&doc) && is_utf8(&doc));
    CHECK_TEXT(text_at(&doc, "page"), "run");
    CHECK_TEXT(text_at(&doc, "name"), "run.tide");
    CHECK_TEXT(text_at(&doc, "title"), "python train.py");
    CHECK(token_at(&doc, "live").type == JSON_TRUE && !page_is_finished(s));
    CHECK_TEXT(text_at(&doc, "answer/verdict"), verdict_name(v->answer.verdict));
    CHECK(strncmp(text_at(&doc, "opening/verdict"), "LEAK", 4) == 0);
    CHECK(number_at(&doc, "deciding") == (double) v->answer.deciding);
    CHECK(length_at(&doc, "answer/series") == (long) v->count);
    CHECK(length_at(&doc, "texts") == (long) v->count);
    CHECK(length_at(&doc, "charts") == (long) v->count);
    page_free(s);
    buf_release(&doc);
    folder_end(&f);
}

TEST(page__charts_name_the_curve_of_their_series)
{
    struct folder f = folder_begin();
    write_job(&f, 3, 120, 1);
    struct buf doc = document_of(&f);
    long count = length_at(&doc, "charts"), found = 0;
    for (long i = 0; i < count; i++) {
        char path[64], name[256];
        snprintf(path, sizeof path, "answer/series/%ld/name", i);
        snprintf(name, sizeof name, "%s", text_at(&doc, path));
        snprintf(path, sizeof path, "charts/%ld/id", i);
        double id = number_at(&doc, path);
        for (long k = 0; k < length_at(&doc, "curves"); k++) {
            snprintf(path, sizeof path, "curves/%ld/id", k);
            if (number_at(&doc, path) != id)
                continue;
            snprintf(path, sizeof path, "curves/%ld/name", k);
            CHECK_TEXT(text_at(&doc, path), name);
            found++;
        }
    }
    CHECK(count > 0 && found == count);
    buf_release(&doc);
    folder_end(&f);
}

/* ---- what adds up ---- */

#define TIMES 400u

/* The largest difference between rows and total, as a share of the total. */
static double worst_difference(const struct buf *doc)
{
    double rows[TIMES] = {0}, total[TIMES] = {0}, worst = 0;
    size_t times = add_numbers(doc, "tree/total", total, TIMES);
    for (long i = 0; i < length_at(doc, "tree/rows"); i++) {
        char path[64];
        snprintf(path, sizeof path, "tree/rows/%ld/bytes", i);
        if (add_numbers(doc, path, rows, TIMES) != times)
            return INFINITY;
    }
    for (size_t i = 0; i < times; i++)
        worst = fmax(worst, fabs(rows[i] - total[i]) / total[i]);
    return times > 1 ? worst : INFINITY;
}

TEST(page__rows_of_the_tree_sum_to_the_job)
{
    struct folder f = folder_begin();
    write_job(&f, 5, 300, 1);
    struct buf doc = document_of(&f);
    CHECK_TEXT(text_at(&doc, "tree/kind"), "host.pss");
    CHECK(length_at(&doc, "tree/rows") == 5);
    CHECK_NEAR(worst_difference(&doc), 0, 1e-9);
    buf_release(&doc);
    folder_end(&f);
}

/* The largest keep a row; the others share one with their role, and nothing is lost. */
TEST(page__three_hundred_processes_are_few_rows_that_sum_to_the_job)
{
    struct folder f = folder_begin();
    write_job(&f, 300, 60, 1);
    struct buf doc = document_of(&f);
    CHECK(is_json(&doc));
    CHECK(length_at(&doc, "tree/rows") <= 24);
    CHECK_NEAR(worst_difference(&doc), 0, 1e-9);
    CHECK(length_at(&doc, "processes") == 300);
    CHECK(doc.len < PAGE_DOCUMENT_BYTES + 2048);
    CHECK(length_at(&doc, "answer/series") == length_at(&doc, "texts"));
    CHECK(length_at(&doc, "charts") == length_at(&doc, "texts"));
    CHECK((double) length_at(&doc, "texts") + number_at(&doc, "more_series") > 500);
    buf_release(&doc);
    folder_end(&f);
}

/* Shares are read every minute, anonymous memory every second. */
TEST(page__the_tree_moves_between_two_readings_of_shares)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    double bytes[TIMES] = {0};
    int64_t id = add_process(s, 7, "trainer", 600);
    int64_t anon = add_of(s, id, "host.anon"), pss = add_of(s, id, "host.pss");
    for (int t = 0; t < 600; t++) {
        store_add_sample(s, anon, t, (100 + t) * MB);
        if (t % 60 == 0)
            store_add_sample(s, pss, t, (150 + t) * MB);
    }
    CHECK(store_close(s, 600) == 0);
    struct buf doc = document_of(&f);
    size_t times = add_numbers(&doc, "tree/rows/0/bytes", bytes, TIMES);
    CHECK(times > 100);
    for (size_t i = 1; i < times; i++)
        CHECK(bytes[i] > bytes[i - 1] && bytes[i] < bytes[i - 1] + 10 * MB);
    CHECK_NEAR(bytes[times - 1], 749 * MB, 2 * MB);
    buf_release(&doc);
    folder_end(&f);
}

TEST(page__a_process_that_has_ended_leaves_the_tree)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    double bytes[TIMES] = {0};
    int64_t stays = add_of(s, add_process(s, 7, "trainer", 600), "host.pss");
    int64_t ends = add_of(s, add_process(s, 8, "helper", 300), "host.pss");
    for (int t = 0; t < 600; t++) {
        store_add_sample(s, stays, t, 100 * MB);
        if (t <= 300)
            store_add_sample(s, ends, t, 50 * MB);
    }
    CHECK(store_close(s, 600) == 0);
    struct buf doc = document_of(&f);
    size_t times = add_numbers(&doc, "tree/rows/1/bytes", bytes, TIMES);
    CHECK(times > 100 && bytes[times / 4] == 50 * MB && bytes[times * 3 / 4] == 0);
    buf_release(&doc);
    folder_end(&f);
}

/* ---- size ---- */

TEST(page__of_a_day_with_sixty_processes_is_below_its_bound)
{
    struct folder f = folder_begin();
    struct buf html = BUF_INIT;
    write_job(&f, 60, 24 * HOUR, 60);
    struct buf doc = document_of(&f);
    CHECK(is_json(&doc) && length_at(&doc, "curves") > 100);
    CHECK(doc.len <= PAGE_DOCUMENT_BYTES + 2048);
    page_file(&html, "train", buf_text(&doc), "report");
    CHECK(html.len < PAGE_MOST_BYTES);
    /* The series that the verdict rests on is not thinned further than the run file did. */
    CHECK(number_at(&doc, "curves/0/samples") > 400);
    CHECK(length_at(&doc, "curves/0/levels/0/t") == (long) number_at(&doc, "curves/0/samples"));
    buf_release(&doc);
    buf_release(&html);
    folder_end(&f);
}

/* ---- spans ---- */

TEST(page__a_span_has_the_samples_within_it)
{
    struct folder f = folder_begin();
    struct page_source *s;
    struct store_error error;
    struct buf span = BUF_INIT;
    write_job(&f, 1, 300, 1);
    CHECK(page_open_samples(f.file, &s, &error) == 0);
    CHECK(page_span_json(&span, s, 0, 100, 109, 1000) == 0);
    CHECK(is_json(&span) && length_at(&span, "t") == 10 && number_at(&span, "t/0") == 100000);
    buf_clear(&span);
    CHECK(page_span_json(&span, s, 0, 0, 300, 16) == 0);
    CHECK(length_at(&span, "t") <= 16 && length_at(&span, "low") == length_at(&span, "t"));
    buf_clear(&span);
    CHECK(page_span_json(&span, s, 99, 0, 300, 16) < 0);
    CHECK(page_span_json(&span, s, 0, 300, 0, 16) < 0);
    CHECK(page_span_json(&span, s, 0, NAN, 300, 16) < 0);
    CHECK(page_span_json(&span, s, 0, 5000, 6000, 16) == 0 && length_at(&span, "t") == 0);
    page_free(s);
    buf_release(&span);
    folder_end(&f);
}

/* ---- a folder of runs ---- */

TEST(page__a_run_in_a_list_has_its_verdict)
{
    struct folder f = folder_begin();
    struct page_source *s;
    struct store_error error;
    struct buf text = BUF_INIT;
    struct json j;
    write_job(&f, 1, 300, 1);
    CHECK(page_open(f.file, &s, &error) == 0);
    json_init(&j, &text, 0);
    page_add_run(&j, s, "runs/run/", true);
    CHECK(is_json(&text));
    CHECK_TEXT(text_at(&text, "href"), "runs/run/");
    CHECK_TEXT(text_at(&text, "name"), "run.tide");
    CHECK_TEXT(text_at(&text, "verdict"), "leak");
    CHECK_TEXT(text_at(&text, "command"), "python train.py");
    CHECK(strncmp(text_at(&text, "summary"), "LEAK (", 6) == 0);
    CHECK(number_at(&text, "started") == 1.75e9 && token_at(&text, "live").type == JSON_TRUE);
    page_free(s);
    buf_release(&text);
    folder_end(&f);
}

/* ---- files as they come ---- */

TEST(page__of_an_empty_run_is_valid)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    CHECK(store_close(s, 0) == 0);
    struct buf doc = document_of(&f);
    CHECK(is_json(&doc) && length_at(&doc, "curves") == 0 && length_at(&doc, "charts") == 0);
    CHECK(!has(&doc, "deciding") && !has(&doc, "tree") && !has(&doc, "steps"));
    CHECK_TEXT(text_at(&doc, "answer/verdict"), "inconclusive");
    buf_release(&doc);
    folder_end(&f);
}

TEST(page__of_one_sample_is_valid)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_of(s, add_process(s, 7, "trainer", 0), "host.anon");
    store_add_sample(s, series, 0, 5 * MB);
    CHECK(store_close(s, 0) == 0);
    struct buf doc = document_of(&f);
    CHECK(is_json(&doc) && length_at(&doc, "curves") == 1);
    CHECK(length_at(&doc, "curves/0/levels/0/t") == 1);
    CHECK(number_at(&doc, "curves/0/levels/0/low/0") * number_at(&doc, "curves/0/levels/0/scale") ==
          5 * MB);
    buf_release(&doc);
    folder_end(&f);
}

/* Another process still writes it. */
TEST(page__of_a_file_that_is_being_written_is_valid)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_of(s, add_process(s, 7, "trainer", 0), "host.anon");
    for (int t = 0; t < 50; t++) {
        store_add_sample(s, series, t, t * MB);
        CHECK(store_commit(s, t) == 0);
    }
    struct buf doc = document_of(&f);
    CHECK(is_json(&doc) && token_at(&doc, "finished").type == JSON_FALSE);
    CHECK(number_at(&doc, "curves/0/samples") >= 49);
    buf_release(&doc);
    store_free(s);
    folder_end(&f);
}

TEST(page__of_what_is_no_run_file_is_an_error)
{
    struct folder f = folder_begin();
    struct page_source *s;
    struct store_error error;
    CHECK(page_open(f.file, &s, &error) == -ENOENT);
    FILE *log = fopen(f.file, "w");
    CHECK(log && fputs("step 1 memory 5 MB\n", log) >= 0 && fclose(log) == 0);
    CHECK(page_open(f.file, &s, &error) == -EINVAL && strstr(error.text, "not a run file"));
    CHECK(page_open(f.path, &s, &error) == -EISDIR);
    folder_end(&f);
}

struct bytes {
    char text[1 << 20];
    size_t len;
};

static void read_file(const struct folder *f, struct bytes *ret)
{
    FILE *file = fopen(f->file, "r");
    ret->len = file ? fread(ret->text, 1, sizeof ret->text, file) : 0;
    if (!file || fclose(file) != 0 || ret->len < 8192)
        abort();
}

/* The file with `count` bytes overwritten, anywhere but in its first page. */
static void write_damaged(const struct folder *f, const struct bytes *whole, struct random *random,
                          unsigned count)
{
    static struct bytes damaged;
    damaged = *whole;
    for (unsigned i = 0; i < count; i++) {
        size_t at = 4096 + (size_t) (random_uniform(random) * (double) (whole->len - 4096));
        damaged.text[at] = (char) random_bits(random);
    }
    FILE *file = fopen(f->file, "w");
    if (!file || fwrite(damaged.text, 1, damaged.len, file) != damaged.len || fclose(file) != 0)
        abort();
}

/* It is an error with a sentence, or a document of what can be read. */
TEST(page__of_a_damaged_file_is_valid_or_an_error)
{
    static struct bytes whole;
    struct folder f = folder_begin();
    struct random random = {23};
    unsigned read = 0, refused = 0;
    write_job(&f, 2, 40, 1);
    read_file(&f, &whole);
    for (unsigned i = 0; i < 60; i++) {
        struct page_source *s = NULL;
        struct store_error error = {""};
        struct buf doc = BUF_INIT;
        write_damaged(&f, &whole, &random, 1 + i);
        int r = page_open(f.file, &s, &error);
        if (r == 0)
            r = page_json(&doc, s, false, &error);
        CHECK(r == 0 ? is_json(&doc) && is_utf8(&doc) : error.text[0] != '\0' && doc.len == 0);
        *(r == 0 ? &read : &refused) += 1;
        page_free(s);
        buf_release(&doc);
    }
    CHECK(read > 0 && refused > 0);
    folder_end(&f);
}

/* ---- hostile texts ---- */

static const char hostile[] =
    "</script><!--<script>alert(1)\xff\xfe\x80\"\\\x1b[31m\xe2\x80\xae&#x3c;";

static void write_hostile(const struct folder *f)
{
    struct store_run run = plain_run();
    struct store *s;
    struct store_process p = {
        .pid = 7, .role = hostile, .rank = -1, .command = hostile, .exit_status = NAN};
    run.title = run.host = run.limit_source = hostile;
    run.command = "[\"</script>\", 5, ";
    run.limit_bytes = 1e300;
    if (store_create(f->file, &run, &s) < 0)
        abort();
    int64_t id = store_add_process(s, &p);
    struct store_series x = {.process = id, .kind = hostile, .device = hostile, .name = hostile};
    int64_t series = store_add_series(s, &x);
    x.kind = "host.pss";
    x.device = NULL;
    int64_t shares = store_add_series(s, &x);
    for (int t = 0; t < 40; t++) {
        store_add_sample(s, series, t, t % 2 ? 1e300 : -1e300);
        store_add_sample(s, shares, t, t * 1e20);
        store_add_mark(s, t, t % 3 ? t * 1e18 : -5, NAN);
    }
    store_add_event(s, 1, hostile, hostile);
    store_set_census(s, id, &(struct store_census){true, 0, hostile});
    store_set_sites(s, id, hostile);
    store_set_answer(s, "{\"</script>", "not a report");
    if (store_close(s, 40) < 0)
        abort();
}

TEST(page__hostile_texts_stay_texts)
{
    struct folder f = folder_begin();
    write_hostile(&f);
    struct buf doc = document_of(&f);
    CHECK(doc.len > 0 && is_json(&doc) && is_utf8(&doc));
    CHECK(!strchr(buf_text(&doc), '<') && !strchr(buf_text(&doc), '\x1b'));
    CHECK(strncmp(text_at(&doc, "title"), "</script><!--<script>alert(1)", 29) == 0);
    CHECK(strncmp(text_at(&doc, "processes/0/role"), "</script>", 9) == 0);
    buf_release(&doc);
    folder_end(&f);
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *s = strstr(text, word); s; s = strstr(s + 1, word))
        count++;
    return count;
}

TEST(page__a_hostile_title_and_report_are_no_markup)
{
    struct buf html = BUF_INIT;
    page_file(&html, hostile, "{}", hostile);
    CHECK(is_utf8(&html) && occurrences(buf_text(&html), "</script>") == 2);
    CHECK(occurrences(buf_text(&html), "<!--") == occurrences(page_script(), "<!--"));
    CHECK(occurrences(buf_text(&html), "alert(1)") == 2);
    buf_clear(&html);
    page_live(&html, hostile, "../page.js?\"<", "../page.css", "../\"<");
    CHECK(is_utf8(&html) && strstr(buf_text(&html), "../page.js?&quot;&lt;"));
    CHECK(strstr(buf_text(&html), "<main id=\"page\" data-home=\"../&quot;&lt;\"></main>"));
    CHECK(occurrences(buf_text(&html), "</script>") == 1);
    buf_release(&html);
}

/* Neither may end the element it stands in. */
TEST(page__the_bundle_can_stand_in_a_page)
{
    CHECK(!strcasestr(page_script(), "</script") && !strstr(page_script(), "<!--"));
    CHECK(!strcasestr(page_style(), "</style"));
    CHECK(strstr(page_policy(PAGE_FILE), "default-src 'none'"));
    CHECK(!strstr(page_policy(PAGE_FILE), "unsafe") && !strstr(page_policy(PAGE_LIVE), "unsafe"));
}

TEST(page__long_lists_are_cut)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    struct buf long_text = BUF_INIT;
    buf_repeat(&long_text, "\xc3\xa4", 5000);
    for (int i = 0; i < 1000; i++) {
        store_add_event(s, i, "leak", buf_text(&long_text));
        CHECK(i % 500 > 0 || store_commit(s, i) == 0);
    }
    CHECK(store_commit(s, 1000) == 0);
    for (int i = 0; i < 3000; i++)
        (void) add_process(s, 1000 + i, "helper", 5);
    for (int i = 0; i < 20000; i++)
        store_add_mark(s, i, i, NAN);
    CHECK(store_close(s, 3000) == 0);
    struct buf doc = document_of(&f);
    CHECK(is_json(&doc) && is_utf8(&doc) && doc.len < PAGE_MOST_BYTES);
    CHECK(length_at(&doc, "processes") == 400 && number_at(&doc, "more_processes") == 2600);
    CHECK(length_at(&doc, "events") == 200);
    CHECK(length_at(&doc, "steps/step") > 500 && length_at(&doc, "steps/step") <= 1024);
    CHECK(strlen(text_at(&doc, "events/0/text")) < 700);
    buf_release(&long_text);
    buf_release(&doc);
    folder_end(&f);
}
