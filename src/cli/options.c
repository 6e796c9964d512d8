/* cli/options.c: parses a table of long options. */
#include "cli/options.h"

#include "base/base.h"
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 48u

static const struct option_spec *find(const struct option_spec *specs, size_t count,
                                      const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(specs[i].name, name, len) == 0 && specs[i].name[len] == '\0')
            return &specs[i];
    }
    return NULL;
}

static void say_unknown(const struct option_spec *specs, size_t count, const char *command,
                        const char *argument)
{
    const char *names[MAX_OPTIONS];
    unsigned known = 0;
    for (size_t i = 0; i < count && known < MAX_OPTIONS; i++)
        names[known++] = specs[i].name;

    char word[64] = "";
    const char *begin = argument + strspn(argument, "-");
    strncat(word, begin, strcspn(begin, "=") < 63 ? strcspn(begin, "=") : 63);
    const char *meant = cli_suggest(word, names, known);
    if (meant)
        cli_say("%s: unknown option '%s'; did you mean --%s?", command, argument, meant);
    else
        cli_say("%s: unknown option '%s'; 'tidemark %s --help' lists them", command, argument,
                command);
}

static bool is_operand(const char *argument)
{
    return argument[0] != '-' || argument[1] == '\0';
}

static int parse_number(const char *text, double *target)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || number <= 0)
        return -EINVAL;
    *target = number;
    return 0;
}

static int parse_size(const char *text, double *target)
{
    double bytes;
    if (quantity_parse_size(text, &bytes) < 0 || bytes <= 0)
        return -EINVAL;
    *target = bytes;
    return 0;
}

static int store(const struct option_spec *spec, const char *value)
{
    switch (spec->type) {
    case OPTION_NUMBER:
        return parse_number(value, spec->target);
    case OPTION_SIZE:
        return parse_size(value, spec->target);
    case OPTION_PARSED:
    case OPTION_MAYBE:
        return spec->parse(value, spec->target);
    case OPTION_TEXT:
    case OPTION_OUTPUT:
        *(const char **) spec->target = value;
        return value[0] ? 0 : -EINVAL;
    case OPTION_FLAG:
        break;
    }
    return -EINVAL;
}

/* NULL: the option needs a value. */
static const char *value_if_absent(const struct option_spec *spec)
{
    return spec->type == OPTION_OUTPUT ? "-" : spec->type == OPTION_MAYBE ? "" : NULL;
}

/* Whether the argument after an option is its value. */
static bool has_next_value(const struct option_spec *spec, int argc, char **argv, int i)
{
    return i + 1 < argc && spec->type != OPTION_MAYBE &&
           (spec->type != OPTION_OUTPUT || is_operand(argv[i + 1]));
}

/* Parses one option at argv[i]. Returns how many arguments it took, or -EINVAL. */
static int parse_option(const struct option_spec *specs, size_t count, int argc, char **argv, int i)
{
    bool is_long = argv[i][1] == '-';
    const char *name = argv[i] + (is_long ? 2 : 1), *value = strchr(name, '=');
    size_t len = value ? (size_t) (value++ - name) : strlen(name);
    const struct option_spec *spec = find(specs, count, name, len);

    if (!spec || is_long != (len > 1)) {
        say_unknown(specs, count, argv[0], argv[i]);
        return -EINVAL;
    }
    if (spec->type == OPTION_FLAG) {
        if (value) {
            cli_say("%s: --%s takes no value", argv[0], spec->name);
            return -EINVAL;
        }
        *(bool *) spec->target = true;
        return 1;
    }
    bool is_next = !value && has_next_value(spec, argc, argv, i);
    if (!value && !is_next && !value_if_absent(spec)) {
        cli_say("%s: --%s: missing value, expected %s", argv[0], spec->name, spec->expected);
        return -EINVAL;
    }
    if (!value)
        value = is_next ? argv[i + 1] : value_if_absent(spec);
    if (store(spec, value) < 0) {
        cli_say("%s: --%s: got '%s', expected %s", argv[0], spec->name, value, spec->expected);
        return -EINVAL;
    }
    return is_next ? 2 : 1;
}

/* Takes an option at argv[i]; *ret_next is the index of the next argument. */
static int take_option(const struct option_spec *specs, size_t count, int argc, char **argv, int i,
                       int *ret_next)
{
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
        return OPTIONS_HELP;
    int taken = parse_option(specs, count, argc, argv, i);
    if (taken < 0)
        return taken;
    *ret_next = i + taken;
    return 0;
}

int options_parse(const struct option_spec *specs, size_t count, int argc, char **argv,
                  int *ret_operands)
{
    int operands = 0;
    bool only_operands = false;

    for (int i = 1; i < argc;) {
        if (only_operands || is_operand(argv[i])) {
            argv[++operands] = argv[i++];
        } else if (strcmp(argv[i], "--") == 0) {
            only_operands = true;
            i++;
        } else {
            int r = take_option(specs, count, argc, argv, i, &i);
            if (r != 0)
                return r;
        }
    }
    *ret_operands = operands;
    return 0;
}

int options_parse_before(const struct option_spec *specs, size_t count, int argc, char **argv,
                         int *ret_first)
{
    int i = 1;
    while (i < argc && !is_operand(argv[i])) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        int r = take_option(specs, count, argc, argv, i, &i);
        if (r != 0)
            return r;
    }
    *ret_first = i;
    return 0;
}
