/* tests/unit/unit.h: the whole unit-test framework. */
#ifndef TIDEMARK_UNIT_H
#define TIDEMARK_UNIT_H

#include <math.h>
#include <stdio.h>
#include <string.h>

/* gcc defines this macro itself; clang reports it by __has_feature only. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/*
 * A file with any number of TEST(part__says_what_holds) { CHECK(...); } is a program. It runs every
 * case, prints one line per failure, and "N passed, N failed" last. Exit status 1 if a case failed.
 * A failed CHECK ends its case.
 */
struct unit_case {
    const char *name;
    void (*run)(void);
    struct unit_case *next;
};

static struct unit_case *unit_cases, **unit_tail = &unit_cases;
static int unit_failed;

#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    static struct unit_case unit_case_##name = {#name, name, NULL};                                \
    __attribute__((constructor)) static void unit_register_##name(void)                            \
    {                                                                                              \
        *unit_tail = &unit_case_##name;                                                            \
        unit_tail = &unit_case_##name.next;                                                        \
    }                                                                                              \
    static void name(void)

#define UNIT_FAIL(...)                                                                             \
    do {                                                                                           \
        printf("  %s:%d: ", __FILE__, __LINE__);                                                   \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        unit_failed = 1;                                                                           \
        return;                                                                                    \
    } while (0)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            UNIT_FAIL("%s", #condition);                                                           \
    } while (0)

#define CHECK_NEAR(got, want, tolerance)                                                           \
    do {                                                                                           \
        double unit_got = (got), unit_want = (want);                                               \
        if (!(fabs(unit_got - unit_want) <= (tolerance)))                                          \
            UNIT_FAIL("%s is %.10g, not %.10g", #got, unit_got, unit_want);                        \
    } while (0)

#define CHECK_TEXT(got, want)                                                                      \
    do {                                                                                           \
        const char *unit_got = (got), *unit_want = (want);                                         \
        if (strcmp(unit_got, unit_want) != 0)                                                      \
            UNIT_FAIL("%s is \"%s\", not \"%s\"", #got, unit_got, unit_want);                      \
    } while (0)

int main(void)
{
    int passed = 0, failed = 0;
    /* A sanitizer ends the program without flushing. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (struct unit_case *c = unit_cases; c; c = c->next) {
        unit_failed = 0;
        c->run();
        if (unit_failed)
            printf("FAIL %s\n", c->name);
        *(unit_failed ? &failed : &passed) += 1;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

#endif
