/* Text as JSON (json.h; RFC 8259, section 7). */
#include "user/lib/json.h"
#include "user/lib.h"

void json_print_string(const char *text)
{
    printf("\"");
    for (; *text; text++) {
        bool plain = *text != '"' && *text != '\\' && (u8)*text >= ' ';
        printf(plain ? "%c" : "\\u%04x", (u8)*text);
    }
    printf("\"");
}
