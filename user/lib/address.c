/* Addresses of hosts as text: four numbers below 256 with dots between them. */
#include "user/lib.h"

/* Parse four numbers with dots between them. False: the text is no address. */
bool parse_host(const char *text, u32 *host)
{
    u32 value = 0;
    for (u32 i = 0; i < 4; i++) {
        u32 part = 0, digits = 0;
        if (i && *text++ != '.')
            return false;
        for (; isdigit(*text) && digits < 3; digits++)
            part = part * 10 + (*text++ - '0');
        if (digits == 0 || part > 255)
            return false;
        value = value << 8 | part;
    }
    *host = value;
    return *text == 0;
}

u32 host_arg(const char *text)
{
    u32 host;
    if (!parse_host(text, &host))
        diex("%s: not an address such as 10.0.0.1", text);
    return host;
}

char *host_text(char text[HOST_BYTES], u32 host)
{
    snprintf(text, HOST_BYTES, "%u.%u.%u.%u", host >> 24, host >> 16 & 255,
             host >> 8 & 255, host & 255);
    return text;
}
