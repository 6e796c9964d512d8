/* tests/unit/test_finding.c: the sentence of a finding, with and without its advice. */
#include "unit.h"
#include "words/finding.h"

#include <stdlib.h>

static struct finding_facts facts_of_counters(void)
{
    return (struct finding_facts){.clock = CLOCK_STEP,
                                  .count_rate = NAN,
                                  .host_rate = NAN,
                                  .device_rate = NAN,
                                  .process = "trainer 7"};
}

static void check_sentence(const struct finding_facts *f, const char *sentence, const char *growth)
{
    struct finding made = {.line = NAN};
    struct buf text = BUF_INIT;
    finding_words(f, &made);
    CHECK_TEXT(made.sentence, sentence);
    finding_add_growth(&text, &made);
    CHECK_TEXT(buf_text(&text), growth);
    buf_release(&text);
    free(made.sentence);
    free(made.cause);
    free(made.fix);
    free(made.advice);
}

TEST(finding__names_the_evidence_of_the_counters)
{
    struct finding_facts f = facts_of_counters();
    f.evidence = "the number of threads grows";
    check_sentence(&f, "trainer 7: the number of threads grows",
                   "trainer 7: the number of threads grows");
}

TEST(finding__its_growth_is_the_sentence_without_the_advice)
{
    struct finding_facts f = facts_of_counters();
    f.evidence = "the number of threads grows";
    f.cause = cause_words(CAUSE_PROCESSES);
    struct buf sentence = BUF_INIT;
    buf_addf(&sentence, "trainer 7: the number of threads grows: %s", f.cause->fix);
    check_sentence(&f, buf_text(&sentence), "trainer 7: the number of threads grows");
    buf_release(&sentence);
}

/* Neither a cause nor evidence: there is still something to say. */
TEST(finding__without_cause_and_evidence_says_that_memory_grows)
{
    struct finding_facts f = facts_of_counters();
    check_sentence(&f, "trainer 7: its memory grows", "trainer 7: its memory grows");
}
