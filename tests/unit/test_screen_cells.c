/* tests/unit/test_screen_cells.c: what a process shows in each column. */
#include "screen/cells.h"
#include "unit.h"

#define MB 1048576.0

static struct view_process process;
static struct view_series series;
static struct entry entry;
static struct row row;

static void start(enum verdict verdict, enum severity severity)
{
    process = (struct view_process){.pid = 7,
                                    .label = "trainer 7",
                                    .command = "python train.py",
                                    .memory = {.pss = 30 * MB, .anon = 20 * MB, .gpu = NAN},
                                    .whole = 90 * MB,
                                    .descendants = 8,
                                    .moves = true};
    series = (struct view_series){.info = {.name = "trainer 7 host.anon", .kind = "host.anon"}};
    answer_clear(&series.answer);
    series.answer.verdict = verdict;
    series.answer.severity = severity;
    series.answer.floor_last = 25 * MB;
    series.answer.rate = 2048;
    entry = (struct entry){&process, &series, {.verdict = verdict, .severity = severity}};
    row = (struct row){0};
}

static const char *cell(enum column column)
{
    static struct buf out;
    buf_clear(&out);
    cell_text(&out, column, &entry, &entry, &row, 12, false);
    return buf_text(&out);
}

TEST(cell__has_a_word_for_every_verdict)
{
    start(VERDICT_LEAK, SEVERITY_HIGH);
    CHECK_TEXT(cell(COLUMN_VERDICT), "LEAK high");
    start(VERDICT_LEAK, SEVERITY_NEGLIGIBLE);
    CHECK_TEXT(cell(COLUMN_VERDICT), "negligible");
    start(VERDICT_NO_LEAK, SEVERITY_NONE);
    CHECK_TEXT(cell(COLUMN_VERDICT), "no leak");
    start(VERDICT_INCONCLUSIVE, SEVERITY_NONE);
    CHECK_TEXT(cell(COLUMN_VERDICT), "too early");
    series.answer.suspect = true;
    CHECK_TEXT(cell(COLUMN_VERDICT), "suspect");
}

TEST(cell__of_a_process_without_series_is_flat_or_too_early)
{
    start(VERDICT_INCONCLUSIVE, SEVERITY_NONE);
    entry.series = NULL;
    CHECK_TEXT(cell(COLUMN_VERDICT), "too early");
    process.moves = false;
    CHECK_TEXT(cell(COLUMN_VERDICT), "flat");
    CHECK_TEXT(cell(COLUMN_RATE), "");
    CHECK_TEXT(cell(COLUMN_HISTORY), "");
}

TEST(cell__is_empty_where_nothing_is_known)
{
    start(VERDICT_LEAK, SEVERITY_LOW);
    CHECK_TEXT(cell(COLUMN_GPU), "");
    CHECK_TEXT(cell(COLUMN_LIMIT), "");
    process.command = NULL;
    CHECK_TEXT(cell(COLUMN_COMMAND), "");
}

TEST(cell__shows_values_in_their_units)
{
    start(VERDICT_LEAK, SEVERITY_LOW);
    series.answer.forecast.limit_seconds = 7200;
    CHECK_TEXT(cell(COLUMN_MEMORY), "30.0 MB");
    CHECK_TEXT(cell(COLUMN_ANON), "20.0 MB");
    CHECK_TEXT(cell(COLUMN_FLOOR), "25.0 MB");
    CHECK_TEXT(cell(COLUMN_RATE), "2.00 KB/step");
    CHECK_TEXT(cell(COLUMN_LIMIT), "2 h");
    CHECK_TEXT(cell(COLUMN_KIND), "host.anon");
    series.info.device = "cuda:0";
    CHECK_TEXT(cell(COLUMN_KIND), "host.anon cuda:0");
}

TEST(cell__says_by_when_only_of_growth)
{
    start(VERDICT_NO_LEAK, SEVERITY_NONE);
    series.answer.forecast.limit_seconds = 7200;
    series.answer.rate_upper = 100;
    CHECK_TEXT(cell(COLUMN_LIMIT), "");
    CHECK_TEXT(cell(COLUMN_RATE), "≤ 100 B/step");
}

TEST(cell__of_a_folded_process_has_all_that_it_hides)
{
    start(VERDICT_NO_LEAK, SEVERITY_NONE);
    CHECK_TEXT(cell(COLUMN_PROCESS), "trainer 7");
    row.is_folded = true;
    CHECK_TEXT(cell(COLUMN_PROCESS), "+trainer 7 +8");
    CHECK_TEXT(cell(COLUMN_MEMORY), "90.0 MB");
}

TEST(urgency__goes_from_flat_to_the_most_severe_leak)
{
    double before = -1;
    static const struct {
        enum verdict verdict;
        enum severity severity;
        bool suspect;
    } order[] = {
        {VERDICT_NO_LEAK, SEVERITY_NONE, false},    {VERDICT_INCONCLUSIVE, SEVERITY_NONE, false},
        {VERDICT_LEAK, SEVERITY_NEGLIGIBLE, false}, {VERDICT_INCONCLUSIVE, SEVERITY_NONE, true},
        {VERDICT_LEAK, SEVERITY_LOW, false},        {VERDICT_LEAK, SEVERITY_HIGH, false}};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        start(order[i].verdict, order[i].severity);
        series.answer.suspect = order[i].suspect;
        CHECK(entry_urgency(&entry) > before);
        CHECK((entry_urgency(&entry) > URGENT) == (i >= 3));
        before = entry_urgency(&entry);
    }
}
