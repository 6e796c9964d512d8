/* tests/unit/test_account.c: the sentences that explain a judgement. */
#include "unit.h"
#include "words/account.h"

#define MB (1024.0 * 1024)

static char text[400];

static const char *taken(struct buf *b)
{
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

static const char *rule(enum ledger_rule rule, enum verdict verdict, double value, double bound)
{
    struct buf b = BUF_INIT;
    account_add_rule(&b, &(struct ledger_judgement){
                             .verdict = verdict, .rule = rule, .value = value, .bound = bound});
    return taken(&b);
}

TEST(account__a_rule_names_what_it_compared)
{
    enum verdict no = VERDICT_NO_LEAK, open = VERDICT_INCONCLUSIVE, leak = VERDICT_LEAK;
    CHECK_TEXT(rule(RULE_NO_GROWTH, no, NAN, NAN), "no leak: the engine sees no lasting growth");
    CHECK_TEXT(rule(RULE_EXPLAINED, no, MB, 2 * MB),
               "no leak: all but 1.00 MB is bounded or free; up to 2.00 MB may stay unexplained");
    CHECK_TEXT(rule(RULE_SMALL, no, MB, 2 * MB),
               "no leak: up to 1.00 MB may be endless; less than 2.00 MB is not a leak");
    CHECK_TEXT(rule(RULE_DOES_NOT_FIT, open, 2 * MB, MB),
               "inconclusive: it is bounded, but only at up to 2.00 MB; the limit is 1.00 MB");
    CHECK_TEXT(rule(RULE_ENDLESS, leak, 2 * MB, MB),
               "leak: at least 2.00 MB is endless; more than 1.00 MB is a leak");
    CHECK_TEXT(rule(RULE_PINNED, leak, 2 * MB, MB),
               "leak: 2.00 MB is endless, or free between objects that stay; more than 1.00 MB is "
               "a leak");
    CHECK_TEXT(rule(RULE_OPEN, open, 2 * MB, MB),
               "inconclusive: the engine cannot tell yet whether it lasts; up to 2.00 MB may be "
               "endless, and up to 1.00 MB may stay unexplained");
    CHECK_TEXT(rule(RULE_LITTLE, open, MB, 2 * MB),
               "inconclusive: nothing explains it, but libraries retain as much: 1.00 MB of 2.00 "
               "MB");
    CHECK_TEXT(rule(RULE_TOO_WIDE, open, MB, 2 * MB),
               "inconclusive: at least 1.00 MB is endless; more than 2.00 MB would be a leak");
}

TEST(account__a_rule_of_time_counts_horizons)
{
    CHECK_TEXT(rule(RULE_LASTING, VERDICT_LEAK, 3.2, 3),
               "leak: nothing explains it, and it has lasted 3.2 horizons; 3 are required");
    CHECK_TEXT(rule(RULE_LASTING, VERDICT_LEAK, 3.2, 0),
               "leak: nothing explains it, and it has lasted 3.2 horizons");
    CHECK_TEXT(rule(RULE_TOO_SHORT, VERDICT_INCONCLUSIVE, 0.5, 1),
               "inconclusive: it has lasted 0.5 horizons; 1 is required");
}

static const char *needs(enum ledger_rule rule, double value, double bound, bool is_censused,
                         const char *widest)
{
    struct buf b = BUF_INIT;
    const struct ledger_judgement j = {
        .verdict = VERDICT_INCONCLUSIVE, .rule = rule, .value = value, .bound = bound};
    account_add_needs(&b, &j, is_censused, widest);
    return taken(&b);
}

TEST(account__says_what_would_settle_it)
{
    CHECK_TEXT(needs(RULE_TOO_WIDE, MB, MB, false, NULL),
               "a complete census of its objects would narrow it most");
    CHECK_TEXT(needs(RULE_TOO_WIDE, MB, MB, true, "list 'losses'"),
               "the widest interval is that of: list 'losses'");
    CHECK_TEXT(needs(RULE_TOO_SHORT, 0.8, 3, true, NULL), "2.2 more horizons would settle it");
    CHECK_TEXT(needs(RULE_LITTLE, MB, MB, true, NULL), "");
}

static const char *part(enum ledger_kind kind, const struct wire_census_growing *g,
                        enum ledger_rest rest)
{
    struct buf b = BUF_INIT;
    account_add_part(&b, &(struct ledger_part){.kind = kind}, g, NULL, rest);
    return taken(&b);
}

TEST(account__names_every_part)
{
    struct wire_census_growing g = {.form = WIRE_CENSUS_CONTAINER, .what = {.type = "list"}};
    g.holders[0] = (struct wire_census_holder){.path = "losses", .file = "/a/train.py", .line = 7};
    g.holder_count = 1;
    CHECK_TEXT(part(LEDGER_HOLDER, &g, REST_NATIVE), "list 'losses' (train.py:7)");
    CHECK_TEXT(part(LEDGER_FREE_HEAP, NULL, REST_NATIVE), "free heap memory (malloc's count)");
    CHECK_TEXT(part(LEDGER_RESERVED, NULL, REST_NATIVE), "memory retained by torch's allocator");
    CHECK_TEXT(part(LEDGER_REST, NULL, REST_NOT_FOUND), "not found by the censuses");
    CHECK_TEXT(part(LEDGER_REST, NULL, REST_NATIVE),
               "native: in use by malloc's count, and no Python object holds it");
}

TEST(account__an_interval_is_one_value_where_its_ends_read_the_same)
{
    struct buf b = BUF_INIT;
    account_add_interval(&b, (struct interval){MB, MB});
    CHECK_TEXT(taken(&b), "1.00 MB");
    account_add_interval(&b, (struct interval){MB, INFINITY});
    CHECK_TEXT(taken(&b), "1.00 MB or more");
}
