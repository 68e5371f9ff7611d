/*
 * Keys typed at the console, which must be in raw mode.
 *
 * - Bytes are read one at a time, so that what was typed ahead stays with the
 *   kernel, for whatever reads next.
 * - Keys that have no byte come as an escape sequence: ESC [ letter, ESC O
 *   letter, or ESC [ numbers and a letter or ~.
 */
#include "user/lib.h"

#define MOST_NUMBER 9999

u32 screen_rows = 24, screen_columns = 80;

static int pushed_back = EOF;

/* Return the next byte of the console, or the one that was pushed back. */
static int next_byte(void)
{
    u8 c;
    int byte = pushed_back;
    if (byte == EOF)
        return read(0, &c, 1) == 1 ? c : EOF;
    pushed_back = EOF;
    return byte;
}

/* Return the key of a sequence that ends in `code`. number: the first number of
 * the sequence, or 0. */
static int sequence_key(u32 number, int code)
{
    static const struct {
        u32 number; /* of ESC [ number ~ */
        char code;
        int key;
    } keys[] = {
        {0, 'A', KEY_UP},        {0, 'B', KEY_DOWN},   {0, 'C', KEY_RIGHT},
        {0, 'D', KEY_LEFT},      {0, 'H', KEY_HOME},   {0, 'F', KEY_END},
        {1, '~', KEY_HOME},      {7, '~', KEY_HOME},   {4, '~', KEY_END},
        {8, '~', KEY_END},       {3, '~', KEY_DELETE}, {5, '~', KEY_PAGE_UP},
        {6, '~', KEY_PAGE_DOWN},
    };
    for (u32 i = 0; i < NELEM(keys); i++) {
        bool same = code != '~' || keys[i].number == number;
        if (keys[i].code == code && same)
            return keys[i].key;
    }
    return KEY_UNKNOWN;
}

/* ESC [ row ; column R: where the cursor is, as ask_screen_size asked. */
static int screen_size(u32 rows, u32 columns)
{
    if (rows == 0 || columns == 0)
        return KEY_UNKNOWN;
    screen_rows = rows;
    screen_columns = columns;
    return KEY_SCREEN_SIZE;
}

/* Return the key whose sequence follows an ESC: two numbers with a ; between
 * them, and a letter. R answers the question for the screen's size. */
static int escape_key(void)
{
    u32 number[2] = {0}, i = 0;
    int c = next_byte();
    if (c != '[' && c != 'O') {
        pushed_back = c; /* the ESC key was pressed, and then another key */
        return KEY_UNKNOWN;
    }
    while (c = next_byte(), isdigit(c) || c == ';') {
        if (c == ';')
            i = 1;
        else
            number[i] = MIN(10 * number[i] + c - '0', MOST_NUMBER);
    }
    return c == 'R' ? screen_size(number[0], number[1])
                    : sequence_key(number[0], c);
}

int read_key(void)
{
    int c = next_byte();
    return c == CTRL('[') ? escape_key() : c;
}

void ask_screen_size(void)
{
    static const char far_away_then_where[] = "\0337\033[999;999H\033[6n\0338";
    write_all(1, far_away_then_where, sizeof far_away_then_where - 1);
}
