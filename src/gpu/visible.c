/* gpu/visible.c: CUDA_VISIBLE_DEVICES. */
#include "gpu/gpu.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* One element of the list, without surrounding blanks. */
struct word {
    const char *text;
    size_t len;
};

struct list {
    const struct gpu_device *devices;
    size_t count;
};

/* Results for a word that is not a device: the list ends before it, or nobody can tell. */
#define NO_DEVICE (-ENODEV)
#define UNKNOWN (-EINVAL)

static bool begins(struct word word, const char *with)
{
    size_t len = strlen(with);
    return word.len >= len && memcmp(word.text, with, len) == 0;
}

static bool is_instance(const struct gpu_device *device)
{
    return strncmp(device->uuid, "MIG-", 4) == 0;
}

static bool has_instances(struct list l)
{
    for (size_t i = 0; i < l.count; i++)
        if (is_instance(&l.devices[i]))
            return true;
    return false;
}

/* Reads a number as strtoul() and CUDA do: ignores what follows the digits ("1st" is 1). */
static bool word_number(struct word word, unsigned *ret)
{
    size_t at = word.len > 0 && word.text[0] == '+' ? 1 : 0;
    size_t digits = at;
    unsigned number = 0;
    for (; at < word.len && isdigit((unsigned char) word.text[at]); at++) {
        unsigned digit = (unsigned) (word.text[at] - '0');
        number = number > (UINT_MAX - digit) / 10 ? UINT_MAX : number * 10 + digit;
    }
    if (at == digits)
        return false;
    *ret = number;
    return true;
}

static int find_number(struct word word, struct list l)
{
    unsigned number;
    if (!word_number(word, &number))
        return NO_DEVICE;
    if (has_instances(l))
        return UNKNOWN;
    for (size_t i = 0; i < l.count; i++)
        if (l.devices[i].index == number)
            return (int) i;
    return NO_DEVICE;
}

/* "MIG-GPU-.../1/0" named an instance before R470, and CUDA still accepts it. */
static bool is_old_name(struct word word)
{
    return begins(word, "MIG-GPU-") && memchr(word.text, '/', word.len);
}

static int find_uuid(struct word word, struct list l)
{
    int found = NO_DEVICE;
    for (size_t i = 0; i < l.count; i++) {
        if (strncmp(l.devices[i].uuid, word.text, word.len) != 0)
            continue;
        if (found >= 0)
            return NO_DEVICE; /* a prefix of two names */
        found = (int) i;
    }
    return found == NO_DEVICE && is_old_name(word) && has_instances(l) ? UNKNOWN : found;
}

static bool is_uuid(struct word word)
{
    return begins(word, "GPU-") || begins(word, "MIG-");
}

/* Returns the next element of the list at *at and moves *at past its comma, or to NULL at the end.
 * */
static struct word next_word(const char **at)
{
    const char *from = *at;
    const char *to = strchrnul(from, ',');
    *at = *to ? to + 1 : NULL;
    while (from < to && isspace((unsigned char) *from))
        from++;
    while (from < to && isspace((unsigned char) to[-1]))
        to--;
    return (struct word){from, (size_t) (to - from)};
}

static bool holds(const size_t *found, size_t count, size_t device)
{
    for (size_t i = 0; i < count; i++)
        if (found[i] == device)
            return true;
    return false;
}

static int all_devices(struct list l, size_t *ret)
{
    if (has_instances(l))
        return UNKNOWN;
    for (size_t i = 0; i < l.count; i++)
        ret[i] = i;
    return (int) l.count;
}

int gpu_visible_parse(const char *visible, const struct gpu_device *devices, size_t count,
                      size_t *ret)
{
    struct list l = {devices, count};
    if (!visible)
        return all_devices(l, ret);
    const char *at = visible;
    struct word word = next_word(&at);
    /* The first element decides whether the list has uuids or numbers. */
    int (*find)(struct word, struct list) = is_uuid(word) ? find_uuid : find_number;
    int found = 0;
    for (;;) {
        bool same_kind = is_uuid(word) == (find == find_uuid);
        int device = same_kind ? find(word, l) : NO_DEVICE;
        if (device == UNKNOWN)
            return UNKNOWN;
        if (device == NO_DEVICE)
            return found;
        if (holds(ret, (size_t) found, (size_t) device))
            return 0;
        ret[found++] = (size_t) device;
        if (!at)
            return found;
        word = next_word(&at);
    }
}
