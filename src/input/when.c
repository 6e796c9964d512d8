/* input/when.c: times as logs print them, in seconds. */
#include "input/when.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define DAY_SECONDS 86400.0

struct cursor {
    const char *p, *end;
};

static bool take_char(struct cursor *c, const char *allowed)
{
    for (; *allowed; allowed++) {
        if (c->p < c->end && *c->p == *allowed) {
            c->p++;
            return true;
        }
    }
    return false;
}

/* A number of `least` to `most` digits that no further digit follows. */
static bool take_digits(struct cursor *c, int least, int most, int *ret)
{
    const char *p = c->p;
    int value = 0, n = 0;
    for (; p < c->end && isdigit((unsigned char) *p) && n < most; p++, n++)
        value = value * 10 + (*p - '0');
    if (n < least || (p < c->end && isdigit((unsigned char) *p)))
        return false;
    c->p = p;
    *ret = value;
    return true;
}

/* ".5", or the ",250" of Python's logging; a comma before any other number of digits is a
 * separator. */
static double take_fraction(struct cursor *c)
{
    struct cursor at = *c;
    int thousandths;
    if (take_char(&at, ",") && take_digits(&at, 3, 3, &thousandths)) {
        *c = at;
        return thousandths / 1000.0;
    }
    if (c->end - c->p < 2 || *c->p != '.' || !isdigit((unsigned char) c->p[1]))
        return 0;
    double value = 0, scale = 1;
    for (c->p++; c->p < c->end && isdigit((unsigned char) *c->p); c->p++) {
        scale /= 10;
        value += scale * (*c->p - '0');
    }
    return value;
}

/* HH:MM:SS with a fraction. */
static bool take_time(struct cursor *c, double *ret_seconds)
{
    struct cursor at = *c;
    int hour, minute, second;
    if (!take_digits(&at, 1, 2, &hour) || !take_char(&at, ":") ||
        !take_digits(&at, 2, 2, &minute) || !take_char(&at, ":") ||
        !take_digits(&at, 2, 2, &second))
        return false;
    if (hour > 24 || minute > 59 || second > 60)
        return false;
    *ret_seconds = hour * 3600.0 + minute * 60.0 + second + take_fraction(&at);
    *c = at;
    return true;
}

/* Days since 1970 in the Gregorian calendar (counted from 1 March, so that leap days come last). */
static double days_since_1970(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int m = month <= 2 ? month + 9 : month - 3;
    int day_of_year = (153 * m + 2) / 5 + day - 1;
    return 365.0 * y + floor(y / 4.0) - floor(y / 100.0) + floor(y / 400.0) + day_of_year -
           719468.0;
}

/* "10/20/2025", as Hugging Face's scripts log it; "20/10/2025" where only that is possible. */
static bool take_american_date(struct cursor *c, int *ret_year, int *ret_month, int *ret_day)
{
    struct cursor at = *c;
    int first, second, year;
    if (!take_digits(&at, 1, 2, &first) || !take_char(&at, "/") ||
        !take_digits(&at, 1, 2, &second) || !take_char(&at, "/") || !take_digits(&at, 4, 4, &year))
        return false;
    *ret_year = year;
    *ret_month = first > 12 ? second : first;
    *ret_day = first > 12 ? first : second;
    *c = at;
    return true;
}

static bool take_iso_date(struct cursor *c, int *ret_year, int *ret_month, int *ret_day)
{
    struct cursor at = *c;
    int year, month, day;
    if (!take_digits(&at, 4, 4, &year) || !take_char(&at, "-/") ||
        !take_digits(&at, 1, 2, &month) || !take_char(&at, "-/") || !take_digits(&at, 1, 2, &day))
        return false;
    *ret_year = year;
    *ret_month = month;
    *ret_day = day;
    *c = at;
    return true;
}

static bool take_date(struct cursor *c, double *ret_seconds)
{
    struct cursor at = *c;
    int year, month, day;
    if (!take_iso_date(&at, &year, &month, &day) && !take_american_date(&at, &year, &month, &day))
        return false;
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    *ret_seconds = days_since_1970(year, month, day) * DAY_SECONDS;
    *c = at;
    return true;
}

/* "Oct 20", as syslog writes it, without a year: any leap year keeps the days apart. */
static bool take_short_date(struct cursor *c, double *ret_seconds)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct cursor at = *c;
    int month = 0, day;
    if (at.end - at.p < 5)
        return false;
    while (month < 12 && memcmp(at.p, months + 3 * (size_t) month, 3) != 0)
        month++;
    at.p += 3;
    if (month == 12 || !take_char(&at, " "))
        return false;
    take_char(&at, " ");
    if (!take_digits(&at, 1, 2, &day) || day < 1 || day > 31 || !take_char(&at, " "))
        return false;
    *ret_seconds = days_since_1970(2000, month + 1, day) * DAY_SECONDS;
    *c = at;
    return true;
}

/* "Z", "+02:00", "-0530": seconds east of Greenwich. */
static double take_zone(struct cursor *c)
{
    if (take_char(c, "Zz"))
        return 0;
    struct cursor at = *c;
    bool west = at.p < at.end && *at.p == '-';
    int hours, minutes = 0;
    if (!take_char(&at, "+-"))
        return 0;
    if (take_digits(&at, 4, 4, &hours)) {
        minutes = hours % 100;
        hours /= 100;
    } else if (!take_digits(&at, 2, 2, &hours) || !take_char(&at, ":") ||
               !take_digits(&at, 2, 2, &minutes)) {
        return 0;
    }
    *c = at;
    return (west ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
}

bool when_parse(const char *text, size_t len, struct when *ret)
{
    struct cursor c = {text, text + len};
    double date = 0, time = 0;
    if (take_short_date(&c, &date)) {
        if (!take_time(&c, &time))
            return false;
        *ret = (struct when){.seconds = date + time, .length = (size_t) (c.p - text)};
        return true;
    }
    bool has_date = take_date(&c, &date);
    struct cursor behind_date = c;
    if (has_date)
        take_char(&c, "T _");
    bool has_time = take_time(&c, &time);
    if (!has_time && !has_date)
        return false;
    if (!has_time)
        c = behind_date;
    double zone = has_date && has_time ? take_zone(&c) : 0;
    if (c.p < c.end && isdigit((unsigned char) *c.p))
        return false;
    *ret = (struct when){
        .seconds = date + time - zone, .time_of_day = !has_date, .length = (size_t) (c.p - text)};
    return true;
}

double wall_seconds(struct wall *w, const struct when *moment)
{
    double at = moment->seconds + w->days;
    if (moment->time_of_day && w->started && at < w->last - DAY_SECONDS / 2) {
        w->days += DAY_SECONDS;
        at += DAY_SECONDS;
    }
    if (!w->started) {
        bool own_clock = !moment->time_of_day && fabs(at) < 1e8;
        w->first = own_clock ? 0 : at;
        w->started = true;
    }
    w->last = at;
    return at - w->first;
}
