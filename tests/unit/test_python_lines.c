/* tests/unit/test_python_lines.c: lines of instructions, as CPython itself says them. */
#include "probe/trace/python_lines.h"

#include "random.h"
#include "unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* How many instructions, of two bytes each, have that line; 0: none. */
struct run {
    int count, line;
};

/*
 * The tables and lines of one function, by four versions: calls over several lines, a loop, an
 * exception that is caught, a comprehension, 140 empty lines, and a line that goes back.
 */
static const uint8_t table_9[] = {0, 1, 2, 2, 2,  254, 4,  3, 8,  1,   4, 1,  2, 255,
                                  2, 1, 2, 1, 16, 1,   40, 2, 34, 127, 0, 16, 2, 255};
static const struct run runs_9[] = {{1, 2}, {1, 4}, {2, 2},  {4, 5},   {2, 6},   {1, 7},  {1, 6},
                                    {1, 7}, {8, 8}, {20, 9}, {17, 11}, {1, 154}, {1, 153}};

static const uint8_t table_10[] = {2, 1,   2,  2, 4,  254, 8,  3,  4, 1,   2, 1,
                                   2, 255, 2,  1, 16, 1,   28, 1,  8, 128, 2, 0,
                                   2, 128, 32, 2, 0,  127, 2,  16, 2, 255};
static const struct run runs_10[] = {{1, 2}, {1, 4},   {2, 2},   {4, 5},  {2, 6}, {1, 7},
                                     {1, 6}, {1, 7},   {8, 8},   {14, 9}, {4, 0}, {1, 9},
                                     {1, 0}, {16, 11}, {1, 154}, {1, 153}};

static const uint8_t table_11[] = {
    128, 0,   216, 9,   10,  224, 8,   9,   241, 5,   2,   10,  10,  128, 65,  240, 6,   0,  14,
    15,  240, 0,   7,   5,   23,  240, 0,   7,   5,   23,  136, 1,   216, 12,  13,  240, 0,  1,
    9,   25,  216, 12,  13,  240, 3,   1,   9,   25,  216, 16,  24,  216, 13,  14,  144, 33, 137,
    86,  136, 81,  136, 81,  248, 221, 15,  25,  208, 8,   37,  208, 8,   37,  208, 8,   37, 160,
    65,  160, 65,  160, 65,  160, 65,  160, 65,  160, 65,  248, 248, 248, 248, 208, 8,   37, 248,
    248, 248, 240, 4,   1,   17,  23,  240, 0,   1,   17,  23,  152, 65,  240, 0,   1,   17, 23,
    241, 0,   1,   17,  23,  244, 0,   1,   17,  23,  136, 65,  136, 65,  248, 240, 0,   1,  17,
    23,  240, 0,   1,   17,  23,  152, 65,  240, 0,   1,   17,  23,  241, 0,   1,   17,  23, 244,
    0,   1,   17,  23,  136, 65,  240, 0,   1,   13,  23,  240, 0,   1,   13,  23,  240, 0,  1,
    13,  23,  240, 0,   1,   13,  23,  240, 94,  4,   0,   3,   4,   240, 3,   1,   5,   5};
static const struct run runs_11[] = {{1, 1}, {1, 2},   {1, 4}, {3, 2},   {4, 5},   {2, 6},  {1, 7},
                                     {1, 6}, {1, 7},   {6, 8}, {1, 0},   {15, 9},  {4, 0},  {1, 9},
                                     {3, 0}, {13, 11}, {1, 0}, {16, 11}, {1, 154}, {1, 153}};

static const uint8_t table_13[] = {
    128, 0,   216, 9,   10,  224, 8,   9,   241, 5,   2,   10,  10,  128, 65,  243, 6,   0,   14,
    15,  136, 1,   222, 12,  13,  222, 12,  13,  145, 8,   216, 13,  14,  137, 86,  136, 81,  241,
    6,   0,   29,  30,  243, 0,   1,   17,  23,  153, 65,  144, 113, 220, 20,  21,  247, 3,   0,
    18,  19,  153, 65,  136, 65,  240, 0,   1,   17,  23,  137, 65,  241, 13,  0,   14,  15,  240,
    106, 4,   0,   3,   4,   240, 3,   1,   5,   5,   248, 244, 97,  4,   0,   16,  26,  211, 8,
    37,  165, 65,  251, 208, 8,   37,  252, 242, 4,   1,   17,  23,  248, 153, 65,  243, 0,   1,
    17,  23,  153, 65,  144, 113, 220, 20,  21,  247, 3,   0,   18,  19,  153, 65,  136, 65,  240,
    0,   1,   17,  23,  136, 65,  249, 242, 0,   1,   17,  23,  250};
static const struct run runs_13[] = {
    {1, 1},  {1, 2},   {1, 4}, {3, 2},   {5, 5},   {7, 6},   {9, 7},  {4, 8},  {9, 11},
    {5, 12}, {14, 11}, {2, 5}, {1, 154}, {1, 153}, {1, 0},   {15, 9}, {4, 0},  {1, 9},
    {5, 0},  {3, 11},  {1, 0}, {9, 11},  {5, 12},  {13, 11}, {2, 0},  {3, 11}, {3, 0}};

static bool agrees(const struct python_lines *t, const struct run *runs, size_t count)
{
    int at = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < runs[i].count; k++, at += 2)
            if (python_lines_find(t, at) != runs[i].line)
                return false;
    return true;
}

#define AGREES(minor, table, runs)                                                                 \
    agrees(&(struct python_lines){minor, 1, table, sizeof(table)}, runs,                           \
           sizeof(runs) / sizeof((runs)[0]))

TEST(python_lines__agree_with_each_version)
{
    CHECK(AGREES(9, table_9, runs_9));
    CHECK(AGREES(10, table_10, runs_10));
    CHECK(AGREES(11, table_11, runs_11));
    CHECK(AGREES(12, table_11, runs_11));
    CHECK(AGREES(13, table_13, runs_13));
}

TEST(python_lines__a_function_that_has_not_begun_is_in_its_first_line)
{
    for (int minor = 9; minor <= 13; minor++)
        CHECK(python_lines_find(&(struct python_lines){minor, 7, table_9, 0}, -2) == 7);
}

TEST(python_lines__behind_the_table_there_is_no_line)
{
    CHECK(python_lines_find(&(struct python_lines){10, 1, table_10, sizeof(table_10)}, 5000) == 0);
    CHECK(python_lines_find(&(struct python_lines){11, 1, table_11, sizeof(table_11)}, 5000) == 0);
    /* Up to 3.9 the last line has no end. */
    CHECK(python_lines_find(&(struct python_lines){9, 1, table_9, sizeof(table_9)}, 5000) == 153);
}

TEST(python_lines__a_table_without_end_is_given_up)
{
    size_t length = 1 << 20;
    uint8_t *table = malloc(length);
    CHECK(table);
    for (size_t i = 0; i < length; i++)
        table[i] = 1;
    CHECK(python_lines_find(&(struct python_lines){9, 1, table, length}, 1000) == 1001);
    CHECK(python_lines_find(&(struct python_lines){9, 1, table, length}, 400000) == 0);
    CHECK(python_lines_find(&(struct python_lines){10, 1, table, length}, 400000) == 0);
    free(table);
}

TEST(python_lines__any_bytes_are_read_within_their_bounds)
{
    struct random random = {1};
    for (int round = 0; round < 20000; round++) {
        size_t length = random_bits(&random) % 40;
        uint8_t *table = malloc(length ? length : 1);
        CHECK(table);
        for (size_t i = 0; i < length; i++)
            table[i] = (uint8_t) random_bits(&random);
        struct python_lines t = {9 + round % 5, 100, table, length};
        for (int at = -2; at < 300; at += 14)
            CHECK(python_lines_find(&t, at) >= 0);
        free(table);
    }
}
