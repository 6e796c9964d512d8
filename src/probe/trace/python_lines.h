/* probe/trace/python_lines.h: CPython's line tables, three encodings. No I/O, no globals. Private
 * to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_LINES_H
#define TIDEMARK_PROBE_TRACE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The table of a code object, and the line in which it begins. */
struct python_lines {
    int minor; /* of the CPython 3.x that wrote it: 9 to 13 */
    int first_line;
    const uint8_t *bytes;
    size_t length;
};

/* The line of an instruction, by its offset in the code in bytes; negative: before the first. 0:
 * the instruction has no line, or lies behind the table. Takes time with the length of the table,
 * of which it reads at most 64 KB, and stays inside of it whatever it holds. */
int python_lines_find(const struct python_lines *t, int instruction);

#endif
