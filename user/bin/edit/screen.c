/*
 * Draw the terminal: rows of text, a row with the file's name and the cursor's
 * place, and a row for messages. Each row is built as a string, and sent if it
 * differs from the row sent last.
 */
#include "user/bin/edit/edit.h"

#define MOST_ROWS    200
#define MOST_COLUMNS 500
#define ROW_BYTES    (4 * MOST_COLUMNS + 16) /* UTF-8, and the colours */
#define TAB          8

static char shown[MOST_ROWS][ROW_BYTES];

static const char keys[] = "^S save  ^Q quit  ^F find  ^G go to line  "
                           "^K cut line  ^Y paste it  ^C cancel";

static u32 rows(void)
{
    return MIN(MAX(screen_rows, 4U), (u32)MOST_ROWS);
}

static u32 columns(void)
{
    return MIN(MAX(screen_columns, 20U), (u32)MOST_COLUMNS);
}

u32 screen_text_rows(void)
{
    return rows() - 2;
}

static void send(const char *s)
{
    write_all(1, s, strlen(s));
}

void screen_forget(void)
{
    send("\033[H\033[2J");
    for (u32 i = 0; i < MOST_ROWS; i++)
        shown[i][0] = 0;
}

void screen_begin(void)
{
    ioctl(0, TTY_RAW, 0);
    send("\033[?1049h"); /* another screen: what is on this one comes back */
    screen_forget();
    ask_screen_size();
}

void screen_end(void)
{
    char to_the_last_row[20];
    snprintf(to_the_last_row, sizeof to_the_last_row, "\033[%u;1H\033[K",
             rows());
    send(to_the_last_row);
    send("\033[?1049l");
    ioctl(0, TTY_COOKED, 0);
}

static bool is_control(u8 c)
{
    return c < ' ' || c == KEY_DELETE_BACK;
}

/* Columns that a byte takes where `place` columns are before it. */
static u32 width(u8 c, u32 place)
{
    if (c == '\t')
        return TAB - place % TAB;
    return is_control(c) ? 2 : (c & 0xc0) != 0x80;
}

u32 screen_place(u32 row, u32 column)
{
    u32 place = 0;
    for (u32 i = 0; i < column; i++)
        place += width(text.line[row].at[i], place);
    return place;
}

/* Return the byte of a row that is shown at that place, or the last one before
 * it. */
u32 screen_byte_at(u32 row, u32 wanted)
{
    const struct line *l = &text.line[row];
    u32 place = 0, i = 0;
    while (i < l->length && place + width(l->at[i], place) <= wanted)
        place += width(l->at[i++], place);
    while (i < l->length && i > 0 && width(l->at[i], 0) == 0)
        i++;
    return i;
}

/* Append a byte as it is shown, without the part to the left of the screen. */
static char *show_byte(char *to, u8 c, u32 place, u32 left)
{
    char cells[TAB + 1] = "        ";
    u32 n = width(c, place), hidden = MIN(n, left > place ? left - place : 0);
    if (n == 0 || !is_control(c)) {
        *to = c;
        return to + (place >= left + (n == 0));
    }
    if (c != '\t') {
        cells[0] = '^';
        cells[1] = c ^ 0x40;
    }
    memcpy(to, cells + hidden, n - hidden);
    return to + n - hidden;
}

/* Make a row of the screen: the line from column `left` on, and > in the last
 * column if the line goes on. */
static void make_row(char *to, u32 row, u32 left)
{
    const struct line *l = &text.line[row];
    u32 place = 0, end = left + columns() - 1;
    char *full = to + ROW_BYTES - 2 * TAB; /* by bytes that take no column */
    for (u32 i = 0; i < l->length && to < full; i++) {
        u32 next = place + width(l->at[i], place);
        if (next > end) {
            for (; place < end && to < full; place++)
                *to++ = ' ';
            *to++ = '>';
            break;
        }
        to = show_byte(to, l->at[i], place, left);
        place = next;
    }
    *to = 0;
}

/* Draw a row of the screen, unless it is shown already. */
static void send_row(u32 y, const char *row)
{
    char go[20];
    if (strcmp(shown[y], row) == 0)
        return;
    strlcpy(shown[y], row, ROW_BYTES);
    snprintf(go, sizeof go, "\033[%u;1H", y + 1);
    send(go);
    send(row);
    send("\033[K");
}

/* Make the inverse row: path and state at the left, the cursor's place at the
 * right. */
static void make_status(char *to, const struct view *v)
{
    char left[ROW_BYTES], right[80];
    snprintf(right, sizeof right, " line %u of %u, column %u ", v->row + 1,
             text.count, screen_place(v->row, v->column) + 1);
    u32 room = columns() - MIN((u32)strlen(right), columns() - 1);
    snprintf(left, sizeof left, " %s%s", v->path,
             text.changed ? "  (changed)" : "");
    snprintf(to, ROW_BYTES, "\033[7m%-*.*s%s\033[m", room, room, left, right);
}

/* Scroll down or up no further than to the cursor's row. If the cursor's column
 * is not on the screen, scroll so that half a screen is left of the cursor. */
static void scroll(struct view *v)
{
    u32 place = screen_place(v->row, v->column), most = columns() - 2;
    v->top = MIN(v->top, v->row);
    if (v->row >= v->top + screen_text_rows())
        v->top = v->row - screen_text_rows() + 1;
    if (place < v->left || place > v->left + most)
        v->left = place > most ? place - most / 2 : 0;
}

void screen_draw(struct view *v)
{
    char row[ROW_BYTES];
    scroll(v);
    for (u32 y = 0; y < screen_text_rows(); y++) {
        strlcpy(row, "~", sizeof row);
        if (v->top + y < text.count)
            make_row(row, v->top + y, v->left);
        send_row(y, row);
    }
    make_status(row, v);
    send_row(rows() - 2, row);
    snprintf(row, sizeof row, "%.*s", columns() - 1,
             *v->message ? v->message : keys);
    send_row(rows() - 1, row);
    snprintf(row, sizeof row, "\033[%u;%uH", v->row - v->top + 1,
             screen_place(v->row, v->column) - v->left + 1);
    send(row);
}
