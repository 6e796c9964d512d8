/* serve/access.c: who may ask. */
#include "serve/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_LEAST 16u
#define TOKEN_MOST 512u

int access_init(struct access *a, const char *token, unsigned port)
{
    unsigned char random[ACCESS_SECRET / 2];
    *a = (struct access){.token = token};
    if (getrandom(random, sizeof(random), 0) != (ssize_t) sizeof(random))
        return -EIO;
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(a->session + 2 * i, 3, "%02x", random[i]);
    snprintf(a->cookie, sizeof(a->cookie), "tidemark-%u", port);
    if (gethostname(a->machine, sizeof(a->machine) - 1) < 0)
        a->machine[0] = '\0';
    return 0;
}

/* ---- Host and Origin ---- */

static bool is_port(const char *text)
{
    size_t len = strspn(text, "0123456789");
    return len >= 1 && len <= 5 && text[len] == '\0';
}

/* Splits "name:port" and "[address]:port". False: it is neither. */
static bool split_host(const char *host, char name[256], bool *ret_is_v6)
{
    bool is_v6 = host[0] == '[';
    const char *begin = host + is_v6;
    size_t len = strcspn(begin, is_v6 ? "]" : ":");
    const char *rest = begin + len;
    if (is_v6 && *rest++ != ']')
        return false;
    if (len == 0 || len >= 256 || (*rest != '\0' && (*rest != ':' || !is_port(rest + 1))))
        return false;
    memcpy(name, begin, len);
    name[len] = '\0';
    *ret_is_v6 = is_v6;
    return true;
}

/* A name of the machine may be written with or without its domain. */
static bool is_machine(const char *machine, const char *name)
{
    size_t first = strcspn(machine, ".");
    return machine[0] != '\0' &&
           (strcasecmp(name, machine) == 0 ||
            (strlen(name) == first && strncasecmp(name, machine, first) == 0));
}

bool access_knows_host(const struct access *a, const char *host)
{
    char name[256];
    bool is_v6;
    unsigned char address[16];
    if (!host || !split_host(host, name, &is_v6))
        return false;
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, name, address) == 1)
        return true;
    return !is_v6 && (strcasecmp(name, "localhost") == 0 || is_machine(a->machine, name));
}

bool access_fits_origin(const char *origin, const char *host)
{
    if (!origin)
        return true;
    const char *rest = strncmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                             : NULL;
    return rest && host && strcasecmp(rest, host) == 0;
}

/* ---- tokens ---- */

bool access_is_same(const char *secret, const char *given)
{
    size_t secret_len = strlen(secret), len = strlen(given);
    volatile unsigned differs = secret_len != len;
    for (size_t i = 0; i < len; i++)
        differs |=
            (unsigned char) given[i] ^ (unsigned char) secret[secret_len ? i % secret_len : 0];
    return differs == 0;
}

/* The value of one cookie in "a=1; b=2"; false: there is none, or it is too long. */
static bool find_cookie(const char *cookies, const char *name, char *value, size_t size)
{
    size_t name_len = strlen(name);
    for (const char *s = cookies; *s;) {
        s += strspn(s, "; \t");
        size_t len = strcspn(s, ";");
        if (len > name_len && s[name_len] == '=' && memcmp(s, name, name_len) == 0 &&
            len - name_len - 1 < size) {
            memcpy(value, s + name_len + 1, len - name_len - 1);
            value[len - name_len - 1] = '\0';
            return true;
        }
        s += len;
    }
    return false;
}

bool access_is_granted(const struct access *a, const struct http_request *r)
{
    char session[ACCESS_SECRET + 1];
    if (!a->token)
        return true;
    if (r->authorization && strncasecmp(r->authorization, "Bearer ", 7) == 0)
        return access_is_same(a->token, r->authorization + 7);
    return r->cookie && find_cookie(r->cookie, a->cookie, session, sizeof(session)) &&
           access_is_same(a->session, session);
}

static bool is_token_text(const char *text)
{
    for (; *text; text++) {
        bool is_plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                        (*text >= '0' && *text <= '9') || strchr("-._~+/=", *text);
        if (!is_plain)
            return false;
    }
    return true;
}

static int check_token_file(int fd, struct buf *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode)) {
        buf_adds(why, "is not a regular file");
        return -EINVAL;
    }
    if ((st.st_mode & 077) != 0) {
        buf_adds(why, "others can read or write it: run 'chmod 600' on it");
        return -EPERM;
    }
    return 0;
}

static int take_token(char *text, struct buf *ret, struct buf *why)
{
    size_t len = strcspn(text, "\r\n");
    const char *rest = text + len;
    if (rest[strspn(rest, "\r\n")] != '\0' || len < TOKEN_LEAST || len > TOKEN_MOST) {
        buf_addf(why,
                 "expected one line of %u to %u characters, such as 'openssl rand -hex 24' prints",
                 TOKEN_LEAST, TOKEN_MOST);
        return -EINVAL;
    }
    text[len] = '\0';
    if (!is_token_text(text)) {
        buf_adds(why, "a token has letters, digits and -._~+/= alone");
        return -EINVAL;
    }
    buf_adds(ret, text);
    return 0;
}

int access_read_token(const char *path, struct buf *ret, struct buf *why)
{
    char text[TOKEN_MOST + 8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int r = check_token_file(fd, why);
    ssize_t n = r < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (n < 0)
        r = -errno;
    close(fd);
    if (r < 0)
        return r;
    text[n] = '\0';
    if (memchr(text, '\0', (size_t) n))
        text[0] = '\0'; /* no text: refused as too short */
    return take_token(text, ret, why);
}
