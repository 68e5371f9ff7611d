/* Dates from seconds since 1970 (UTC, the Gregorian calendar). */
#include "user/lib.h"

#define DAY_S 86400UL

static bool leap(u64 year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static u32 days_in(u32 month, u64 year)
{
    static const u8 days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && leap(year));
}

struct civil {
    u64 year;
    u32 month, day, hour, minute, second; /* month and day from 1 */
};

/* Take whole periods of 400 years, then years, then months off the days. */
static struct civil civil_time(u64 seconds)
{
    u64 day = seconds / DAY_S;
    u32 s = seconds % DAY_S;
    struct civil c = {1970, 1, 1, s / 3600, s / 60 % 60, s % 60};
    /* 400 years are always 146097 days. */
    c.year += day / 146097 * 400;
    for (day %= 146097; day >= 365U + leap(c.year); c.year++)
        day -= 365 + leap(c.year);
    for (; day >= days_in(c.month, c.year); c.month++)
        day -= days_in(c.month, c.year);
    c.day += day;
    return c;
}

char *date_text(char text[DATE_BYTES], u64 seconds)
{
    struct civil c = civil_time(seconds);
    snprintf(text, DATE_BYTES, "%04lu-%02u-%02u %02u:%02u:%02u", c.year,
             c.month, c.day, c.hour, c.minute, c.second);
    return text;
}
