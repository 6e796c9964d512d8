/* input/names.c: the meaning of a column, a field or a label, from its name. */
#include "input/names.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 12
#define WORD_MAX 20

struct words {
    char word[WORDS_MAX][WORD_MAX];
    size_t count;
};

static bool begins_word(const char *name, size_t at)
{
    unsigned char before = (unsigned char) name[at - 1], c = (unsigned char) name[at];
    if (!isalnum(before))
        return true;
    if (before == 'i' && c == 'B' && at >= 2 && strchr("KMGT", name[at - 2]))
        return false;
    return (islower(before) && isupper(c)) || (!isdigit(before) != !isdigit(c));
}

static void split(const char *name, size_t len, struct words *w)
{
    size_t letters = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char) name[i];
        if (c == '%' && w->count < WORDS_MAX)
            snprintf(w->word[w->count++], WORD_MAX, "percent");
        if (!isalnum(c))
            continue;
        if (i == 0 || w->count == 0 || begins_word(name, i)) {
            if (w->count == WORDS_MAX)
                return;
            w->count++;
            letters = 0;
        }
        if (letters < WORD_MAX - 1)
            w->word[w->count - 1][letters++] = (char) tolower(c);
    }
}

/* True if `word` is in `list`, whose words are separated by single spaces. */
static bool in_list(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; len > 0 && (p = strstr(p, word)) != NULL; p += len) {
        if ((p == list || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
            return true;
    }
    return false;
}

static bool has_any(const struct words *w, const char *list)
{
    for (size_t i = 0; i < w->count; i++) {
        if (in_list(list, w->word[i]))
            return true;
    }
    return false;
}

static bool last_is(const struct words *w, const char *list)
{
    return w->count > 0 && in_list(list, w->word[w->count - 1]);
}

/* True if all words but numbers are in the list, and there is at least one. */
static bool only(const struct words *w, const char *list)
{
    size_t listed = 0;
    for (size_t i = 0; i < w->count; i++) {
        bool is_number = isdigit((unsigned char) w->word[i][0]);
        if (!is_number && !in_list(list, w->word[i]))
            return false;
        listed += !is_number;
    }
    return listed > 0;
}

#define UNIT_WORDS "byte bytes kb kib ki mb mib mi gb gib gi tb tib ti"
#define COUNT_WORDS "tensor tensors object objects fd fds threads handles"
#define MEMORY_WORDS                                                                               \
    "rss uss pss vms vsz vsize mem memory ram vram alloc allocated reserved anon heap swap "       \
    "shmem pinned hbm footprint nvml rssanon vmrss hwm"
#define NOISE_WORDS                                                                                \
    "percent pct perc util utilization utilisation delta diff change growth rate per speed "       \
    "bandwidth throughput free available avail limit capacity budget disk io read write net "      \
    "network sent recv received download downloaded upload loss losses lr acc accuracy grad norm " \
    "ppl perplexity reward fps tokens samples examples flops tflops temp temperature power "       \
    "eta error f1 bleu score clock"
#define OWNER_WORDS                                                                                \
    "process name series rank worker host hostname node run command cmd comm container pod role"
#define METRIC_WORDS "kind metric type variable key label"

static double unit_of(const struct words *w)
{
    for (size_t i = w->count; i-- > 0;) {
        size_t length;
        if (in_list(UNIT_WORDS, w->word[i]))
            return quantity_unit(w->word[i], strlen(w->word[i]), &length);
    }
    return NAN;
}

static const char *kind_of(const struct words *w)
{
    static const struct {
        const char *words, *kind;
    } kinds[] = {
        {"tensor tensors", "py.tensors"},
        {"object objects", "py.objects"},
        {"fd fds handles", "fds"},
        {"threads", "threads"},
        {"processes", "processes"},
        {"reserved", "torch.reserved"},
        {"allocated alloc", "torch.allocated"},
        {"pinned", "torch.pinned"},
        {"rssanon anon", "host.anon"},
        {"uss private", "host.private"},
        {"pss", "host.pss"},
        {"rss vmrss", "host.rss"},
        {"vms vsz vsize", "host.vsize"},
        {"swap", "host.swap"},
        {"shmem", "host.shmem"},
        {"gpu vram cuda nvml hbm", "gpu.used"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (has_any(w, kinds[i].words))
            return kinds[i].kind;
    }
    return has_any(w, "host") && last_is(w, "file") ? "host.file" : "memory";
}

static void find_device(const struct words *w, char *device, size_t size)
{
    for (size_t i = 0; i + 1 < w->count; i++) {
        const char *number = w->word[i + 1];
        if (in_list("gpu cuda", w->word[i]) && isdigit((unsigned char) number[0]))
            snprintf(device, size, "cuda:%.8s", number);
    }
}

/* Seconds per unit if the name means a time, else 0. */
static double time_unit_of(const struct words *w)
{
    static const struct {
        const char *words;
        double seconds;
    } units[] = {
        {"ms msec millis milliseconds", 1e-3}, {"us usec micros microseconds", 1e-6},
        {"ns nsec nanos nanoseconds", 1e-9},   {"min mins minutes", 60},
        {"h hr hrs hour hours", 3600},         {"day days", 86400},
    };
    if (!only(w, "time timestamp ts date datetime seconds secs sec s elapsed t wall clock runtime "
                 "uptime since start unix utc local total relative epoch ms msec millis "
                 "milliseconds us usec micros microseconds ns nsec nanos nanoseconds min mins "
                 "minutes h hr hrs hour hours day days at"))
        return 0;
    if (only(w, "epoch at start total local clock since relative"))
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (last_is(w, units[i].words))
            return units[i].seconds;
    }
    return 1;
}

static enum name_role clock_role(const struct words *w, double *ret_time_unit)
{
    if (last_is(w, "pid tgid") || (w->count == 2 && has_any(w, "process") && last_is(w, "id")))
        return NAME_PID;
    if (last_is(w, "step steps iter iters iteration iterations batch batches update updates it") &&
        !has_any(w, NOISE_WORDS))
        return NAME_STEP;
    if (last_is(w, "epoch epochs") && !has_any(w, NOISE_WORDS) && !has_any(w, "unix"))
        return NAME_EPOCH;
    *ret_time_unit = time_unit_of(w);
    return *ret_time_unit > 0 ? NAME_TIME : NAME_OTHER;
}

static enum name_role value_role(const struct words *w)
{
    bool numbered_gpu = w->count >= 2 && only(w, "gpu cuda");
    if (only(w, "gpu device cuda id uuid index name bus pci") &&
        has_any(w, "gpu device uuid cuda") &&
        !(numbered_gpu && isdigit((unsigned char) w->word[w->count - 1][0])))
        return NAME_DEVICE;
    bool is_capacity =
        has_any(w, "total") && only(w, "total mem memory ram gpu vram system swap " UNIT_WORDS);
    bool is_load = has_any(w, "cpu") && !has_any(w, MEMORY_WORDS) && !has_any(w, UNIT_WORDS);
    if (has_any(w, NOISE_WORDS) || is_capacity || is_load)
        return NAME_NOISE;
    if ((has_any(w, COUNT_WORDS) && !has_any(w, UNIT_WORDS)) || only(w, "processes"))
        return NAME_COUNT;
    if (numbered_gpu || has_any(w, MEMORY_WORDS) || has_any(w, UNIT_WORDS) ||
        (has_any(w, "gpu cuda host") && has_any(w, "used usage private file")))
        return NAME_MEMORY;
    if (only(w, METRIC_WORDS " name") && has_any(w, METRIC_WORDS))
        return NAME_METRIC;
    if (only(w, OWNER_WORDS " id local global") && has_any(w, OWNER_WORDS))
        return NAME_OWNER;
    return last_is(w, "count counts") ? NAME_COUNT : NAME_OTHER;
}

struct name_meaning name_read(const char *name, size_t len)
{
    struct words w = {.count = 0};
    split(name, len, &w);
    struct name_meaning m = {.kind = kind_of(&w), .unit = unit_of(&w), .time_unit = 1};
    m.role = clock_role(&w, &m.time_unit);
    if (m.role == NAME_OTHER)
        m.role = value_role(&w);
    m.is_generic = m.role == NAME_OTHER && only(&w, "value val v used usage current level");
    m.is_cpu = only(&w, "cpu host");
    m.is_gpu = only(&w, "gpu cuda");
    find_device(&w, m.device, sizeof m.device);
    return m;
}

struct name_meaning name_recall(struct name_memo *memo, const char *name, size_t len)
{
    if (len == 0 || len > sizeof memo->entries[0].name)
        return name_read(name, len);
    size_t mixed = len + 7 * (unsigned char) name[0] + 3 * (unsigned char) name[len - 1];
    size_t slot = mixed % (sizeof memo->entries / sizeof *memo->entries);
    if (memo->entries[slot].len != len || memcmp(memo->entries[slot].name, name, len) != 0) {
        memo->entries[slot].meaning = name_read(name, len);
        memo->entries[slot].len = len;
        memcpy(memo->entries[slot].name, name, len);
    }
    return memo->entries[slot].meaning;
}

bool name_listed(const char *list, const char *name, size_t len, size_t number)
{
    char digits[24];
    int digits_len = snprintf(digits, sizeof digits, "%zu", number);
    for (const char *p = list; *p;) {
        p += strspn(p, " ,");
        size_t n = strcspn(p, ",");
        size_t trimmed = n;
        while (trimmed > 0 && p[trimmed - 1] == ' ')
            trimmed--;
        if (trimmed > 0 && trimmed == len && strncasecmp(p, name, len) == 0)
            return true;
        if (trimmed == (size_t) digits_len && strncmp(p, digits, trimmed) == 0)
            return true;
        p += n;
    }
    return false;
}

double name_unit(const char *text, enum series_unit *ret_unit)
{
    if (strcasecmp(text, "count") == 0) {
        *ret_unit = SERIES_COUNT;
        return 1;
    }
    size_t length = 0;
    double factor = quantity_unit(text, strlen(text), &length);
    if (length != strlen(text))
        return 0;
    *ret_unit = SERIES_BYTES;
    return factor;
}

double name_assume_unit(double first, const char **ret_word)
{
    bool is_bytes = fabs(first) >= 0x1p20;
    *ret_word = is_bytes ? "bytes" : "MB";
    return is_bytes ? 1 : 0x1p20;
}
