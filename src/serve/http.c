/* serve/http.c: the head of a request. */
#include "serve/http.h"

#include <string.h>
#include <strings.h>

size_t http_head_length(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);
    return end ? (size_t) (end - bytes) + 4 : 0;
}

/* A character of a method or a field's name (RFC 9110, 5.6.2). */
static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_length(const char *text)
{
    size_t len = 0;
    while (is_token(text[len]))
        len++;
    return len;
}

/* Of a field's value, or of a target: no control characters. */
static bool is_printable(const char *text, bool with_blanks)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        if (c == 0x7f || c < (with_blanks ? ' ' : '!'))
            if (!with_blanks || c != '\t')
                return false;
    }
    return true;
}

static int parse_method(const char *text, size_t len, struct http_request *r)
{
    if (len == 0)
        return 400;
    r->is_head = len == 4 && memcmp(text, "HEAD", 4) == 0;
    bool is_get = len == 3 && memcmp(text, "GET", 3) == 0;
    return r->is_head || is_get ? 0 : 405;
}

static int parse_version(const char *text, struct http_request *r)
{
    if (strcmp(text, "HTTP/1.1") != 0 && strcmp(text, "HTTP/1.0") != 0)
        return strncmp(text, "HTTP/", 5) == 0 ? 505 : 400;
    r->keeps_open = text[7] == '1';
    return 0;
}

/* "GET /path HTTP/1.1" */
static int parse_request_line(char *line, struct http_request *r)
{
    size_t method = token_length(line);
    char *target = line + method + 1;
    if (line[method] != ' ' || target[0] != '/')
        return 400;
    char *version = strchr(target, ' ');
    if (!version)
        return 400;
    *version++ = '\0';
    int status = parse_version(version, r);
    if (status == 0 && !is_printable(target, false))
        status = 400;
    r->target = target;
    return status != 0 ? status : parse_method(line, method, r);
}

static int keep_once(const char **field, const char *value)
{
    bool is_second = *field != NULL;
    *field = value;
    return is_second ? 400 : 0;
}

/* "close", also as one of several words. */
static bool says_close(const char *value)
{
    for (const char *word = value; *word;) {
        word += strspn(word, " \t,");
        size_t len = strcspn(word, " \t,");
        if (len == 5 && strncasecmp(word, "close", 5) == 0)
            return true;
        word += len;
    }
    return false;
}

static int keep_field(const char *name, const char *value, struct http_request *r)
{
    const struct {
        const char *name;
        const char **field;
    } kept[] = {
        {"Host", &r->host},
        {"Origin", &r->origin},
        {"Cookie", &r->cookie},
        {"Authorization", &r->authorization},
        {"If-None-Match", &r->if_none_match},
    };
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (strcasecmp(name, kept[i].name) == 0)
            return keep_once(kept[i].field, value);
    if (strcasecmp(name, "Connection") == 0)
        r->keeps_open = r->keeps_open && !says_close(value);
    if (strcasecmp(name, "Content-Length") == 0)
        return strcmp(value, "0") == 0 ? 0 : 413;
    if (strcasecmp(name, "Transfer-Encoding") == 0)
        return 501;
    return strcasecmp(name, "Expect") == 0 ? 417 : 0;
}

/* "Name: value" */
static int parse_field(char *line, struct http_request *r)
{
    size_t name = token_length(line);
    if (name == 0 || line[name] != ':')
        return 400;
    line[name] = '\0';
    char *value = line + name + 1;
    value += strspn(value, " \t");
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        value[--len] = '\0';
    return is_printable(value, true) ? keep_field(line, value, r) : 400;
}

/* The end of the line that begins here, now terminated; NULL: it does not end as lines have to. */
static char *end_line(char *line)
{
    size_t len = strcspn(line, "\r\n");
    if (line[len] != '\r' || line[len + 1] != '\n')
        return NULL;
    line[len] = '\0';
    return line + len + 2;
}

int http_parse(char *head, size_t len, struct http_request *ret)
{
    struct http_request r = {.is_head = false};
    if (len < 4 || len > HTTP_HEAD_MOST)
        return len < 4 ? 400 : 431;
    head[len - 2] = '\0'; /* of the empty line: every line before it has its end */
    if (memchr(head, '\0', len - 2))
        return 400;
    char *line = head, *next = end_line(head);
    int status = next ? parse_request_line(line, &r) : 400;
    for (unsigned i = 0; status == 0 && next[0] != '\0'; i++) {
        line = next;
        next = end_line(line);
        status = !next ? 400 : i == HTTP_FIELDS_MOST ? 431 : parse_field(line, &r);
    }
    if (status == 0)
        *ret = r;
    return status;
}

bool http_tag_matches(const char *if_none_match, const char *tag)
{
    if (!if_none_match)
        return false;
    size_t tag_len = strlen(tag);
    for (const char *s = if_none_match; *s;) {
        s += strspn(s, " \t,");
        size_t len = strcspn(s, " \t,");
        const char *word = len > 2 && s[0] == 'W' && s[1] == '/' ? s + 2 : s;
        size_t word_len = len - (size_t) (word - s);
        if ((word_len == 1 && word[0] == '*') ||
            (word_len == tag_len && memcmp(word, tag, tag_len) == 0))
            return true;
        s += len;
    }
    return false;
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {301, "Moved Permanently"},
        {303, "See Other"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Error";
}
