/* proc/secret_options.c: programs whose options hold secrets under names that mean other things in
 * other programs. */
#include "proc/command.h"

#include <string.h>

struct secret_option {
    const char *name; /* one letter: a short option */
    enum secret kind;
};

struct secret_program {
    const char *const *names;
    const char *subcommand; /* required before the option; NULL: none */
    const char *flags;      /* short options without a value, which may precede one with a value */
    struct secret_option options[7];
};

static const char *const curls[] = {"curl", NULL};
static const char *const https[] = {"http", "https", "httpie", "xh", NULL};
static const char *const mysqls[] = {
    "mysql",       "mysqldump",  "mysqladmin",  "mysqlimport",   "mysqlcheck", "mysqlshow",
    "mysqlbinlog", "mysqlslap",  "mysqlpump",   "mysqlsh",       "mariadb",    "mariadb-dump",
    "mycli",       "xtrabackup", "mariabackup", "mariadb-admin", NULL,
};
static const char *const dash_p[] = {
    "sshpass",     "mongo",     "mongosh",  "mongodump", "mongorestore", "mongoexport",
    "mongoimport", "mongostat", "mongotop", "cqlsh",     "influx",       "7z",
    "7za",         "7zr",       "unrar",    "rar",       NULL,
};
static const char *const logins[] = {"docker", "podman", "buildah", "skopeo", "nerdctl",
                                     "helm",   "az",     "oc",      "cf",     NULL};
static const char *const dash_capital_p[] = {"sqlcmd", "bcp",      "tsql", "zip",
                                             "unzip",  "ipmitool", NULL};
static const char *const redises[] = {"redis-cli", "valkey-cli", "keydb-cli", NULL};
static const char *const ldaps[] = {"ldapsearch", "ldapadd",    "ldapmodify",
                                    "ldapdelete", "ldapwhoami", NULL};
static const char *const sambas[] = {"smbclient", "rpcclient", NULL};

static const struct secret_program programs[] = {
    {curls,
     NULL,
     "sSkfgiILvNqaGjlnOJRZ012346#",
     {{"u", SECRET_USER},
      {"U", SECRET_USER},
      {"user", SECRET_USER},
      {"proxy-user", SECRET_USER},
      {"b", SECRET_COOKIE},
      {"H", SECRET_HEADER}}},
    {https, NULL, "vhbjfd", {{"a", SECRET_USER}, {"auth", SECRET_VALUE}}},
    {mysqls, NULL, "vsBNtEHXfnACwb", {{"p", SECRET_VALUE}}},
    {dash_p, NULL, "vqe", {{"p", SECRET_VALUE}}},
    {logins, "login", "", {{"p", SECRET_VALUE}}},
    {dash_capital_p, NULL, "", {{"P", SECRET_VALUE}}},
    {redises, NULL, "", {{"a", SECRET_VALUE}}},
    {ldaps, NULL, "xvZcn", {{"w", SECRET_VALUE}}},
    {sambas, NULL, "", {{"U", SECRET_SHARE}}},
};

static bool word_is(const char *word, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(word, text, len) == 0;
}

static const struct secret_program *find_program(const char *word, size_t len)
{
    const char *slash = memrchr(word, '/', len);
    size_t from = slash ? (size_t) (slash + 1 - word) : 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (const char *const *name = programs[i].names; *name; name++) {
            if (word_is(word + from, len - from, *name))
                return &programs[i];
        }
    }
    return NULL;
}

static enum secret find_option(const struct secret_program *p, const char *name, size_t len)
{
    for (const struct secret_option *o = p->options; o->name; o++) {
        if (word_is(name, len, o->name))
            return o->kind;
    }
    return SECRET_NONE;
}

/* "-p", "-pVALUE", "-su": first flags, then the option, then its value. */
static enum secret read_short(const struct secret_program *p, const char *word, size_t len,
                              size_t *ret_value)
{
    for (size_t i = 1; i < len; i++) {
        enum secret kind = find_option(p, word + i, 1);
        *ret_value = i + 1;
        if (kind != SECRET_NONE || !strchr(p->flags, word[i]))
            return kind;
    }
    return SECRET_NONE;
}

static enum secret read_long(const struct secret_program *p, const char *word, size_t len,
                             size_t *ret_value)
{
    const char *equals = memchr(word, '=', len);
    size_t end = equals ? (size_t) (equals - word) : len;
    *ret_value = equals ? end + 1 : len;
    return end > 3 ? find_option(p, word + 2, end - 2) : SECRET_NONE;
}

enum secret secret_options_read(struct secret_options *o, const char *word, size_t len,
                                size_t *ret_value)
{
    if (len == 0)
        return SECRET_NONE;
    if (word[0] != '-' || len == 1) {
        const struct secret_program *found = find_program(word, len);
        if (found)
            *o = (struct secret_options){.program = found, .is_ready = !found->subcommand};
        else if (o->program && o->program->subcommand)
            o->is_ready |= word_is(word, len, o->program->subcommand);
        return SECRET_NONE;
    }
    if (!o->is_ready)
        return SECRET_NONE;
    return word[1] == '-' ? read_long(o->program, word, len, ret_value)
                          : read_short(o->program, word, len, ret_value);
}

bool secret_is_in(enum secret kind, const char *value, size_t len)
{
    switch (kind) {
    case SECRET_VALUE:
        return len > 0;
    case SECRET_USER:
        return memchr(value, ':', len) != NULL;
    case SECRET_SHARE:
        return memchr(value, '%', len) != NULL;
    case SECRET_COOKIE:
        return memchr(value, '=', len) != NULL;
    default:
        return false;
    }
}
