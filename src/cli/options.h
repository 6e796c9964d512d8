/* cli/options.h: a table of long options and its parser. */
#ifndef TIDEMARK_CLI_OPTIONS_H
#define TIDEMARK_CLI_OPTIONS_H

#include <stddef.h>

enum option_type {
    OPTION_FLAG,   /* target: bool, set to true; takes no value */
    OPTION_TEXT,   /* target: const char *, points into argv */
    OPTION_OUTPUT, /* the same for a file name; "-" if the next argument is another option */
    OPTION_NUMBER, /* target: double, above 0 */
    OPTION_SIZE,   /* target: double, bytes, above 0 */
    OPTION_PARSED, /* target: any type; `parse` writes it */
    OPTION_MAYBE,  /* the same; takes a value only as "--name=value", else `parse` gets "" */
};

struct option_spec {
    const char *name; /* without the dashes: "--name", or "-n" for a single letter */
    enum option_type type;
    void *target;
    const char *expected;                         /* for the message: "a size such as 32GB" */
    int (*parse)(const char *text, void *target); /* OPTION_PARSED: 0, or -EINVAL */
};

#define OPTIONS_HELP 1

/*
 * Reads argv[1] and what follows: "--name=value", "--name value"; "--" ends the options; "-" is an
 * operand. Moves operands to argv[1..*ret_operands] in order. 0; OPTIONS_HELP: --help or -h was
 * given; -EINVAL: a message named the option and the expected value.
 */
int options_parse(const struct option_spec *specs, size_t count, int argc, char **argv,
                  int *ret_operands);

/*
 * The same for options before a command: stops at the first operand or after "--". argv[*ret_first]
 * is the start of the command, argc if there is none.
 */
int options_parse_before(const struct option_spec *specs, size_t count, int argc, char **argv,
                         int *ret_first);

#endif
