/*
 * Line editing at the console, which is in raw mode: this file echoes.
 *
 * - Bytes are read one at a time, so that what was typed ahead of a command
 *   stays with the kernel, for the command.
 * - Text typed at the end of the line is sent as it is; only a change before
 *   the end redraws the rest. The cursor moves by backspaces, so a change in
 *   a line that has wrapped at the screen's edge looks wrong until ^L.
 */
#include "user/lib.h"

#define CTRL(c) ((c) - '@')
#define DELETE  0x7f

/* Keys that arrive as an escape sequence. */
enum {
    KEY_UP = 256,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_DELETE,
    KEY_UNKNOWN
};

struct edit {
    const char *prompt;
    char *line;
    size_t size, length, cursor; /* cursor <= length < size */
    struct history *history;
    int entry;   /* shown; history->count: the line being made */
    char *draft; /* that line, while an older one is shown */
};

void history_add(struct history *h, const char *line)
{
    if (h->count > 0 && strcmp(h->line[h->count - 1], line) == 0)
        return;
    if (h->count == HISTORY_LINES) {
        free(h->line[0]);
        h->count--;
        memmove(h->line, h->line + 1, h->count * sizeof h->line[0]);
    }
    h->line[h->count++] = strdup(line);
}

static void show(const char *text, size_t n)
{
    write_all(1, text, n);
}

static void back(size_t n)
{
    static const char backspaces[] = "\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b";
    for (size_t part; n > 0; n -= part) {
        part = MIN(n, sizeof backspaces - 1);
        show(backspaces, part);
    }
}

static void move_to(struct edit *e, size_t cursor)
{
    if (cursor < e->cursor)
        back(e->cursor - cursor);
    else
        show(e->line + e->cursor, cursor - e->cursor);
    e->cursor = cursor;
}

/* Show again what is behind the cursor, after it has changed. */
static void redraw_rest(struct edit *e)
{
    show(e->line + e->cursor, e->length - e->cursor);
    show("\033[K", 3);
    back(e->length - e->cursor);
}

/* Take out from..to and leave the cursor there. */
static void cut(struct edit *e, size_t from, size_t to)
{
    if (from == to)
        return;
    move_to(e, from);
    memmove(e->line + from, e->line + to, e->length - to);
    e->length -= to - from;
    redraw_rest(e);
}

static void insert(struct edit *e, char c)
{
    if (e->length == e->size - 1) {
        show("\a", 1);
        return;
    }
    memmove(e->line + e->cursor + 1, e->line + e->cursor,
            e->length - e->cursor);
    e->line[e->cursor++] = c;
    e->length++;
    show(&c, 1);
    if (e->cursor < e->length)
        redraw_rest(e);
}

static void replace_line(struct edit *e, const char *text)
{
    move_to(e, 0);
    e->length = MIN(strlcpy(e->line, text, e->size), e->size - 1);
    redraw_rest(e);
    move_to(e, e->length);
}

static void show_entry(struct edit *e, int entry)
{
    struct history *h = e->history;
    if (entry < 0 || entry > h->count)
        return;
    e->line[e->length] = 0;
    if (e->entry == h->count) {
        free(e->draft);
        e->draft = strdup(e->line);
    }
    e->entry = entry;
    replace_line(e, entry == h->count ? e->draft : h->line[entry]);
}

static size_t word_start(const struct edit *e)
{
    size_t at = e->cursor;
    while (at > 0 && e->line[at - 1] == ' ')
        at--;
    while (at > 0 && e->line[at - 1] != ' ')
        at--;
    return at;
}

static void clear_screen(struct edit *e)
{
    size_t cursor = e->cursor;
    show("\033[H\033[J", 6);
    show(e->prompt, strlen(e->prompt));
    e->cursor = 0;
    move_to(e, e->length);
    move_to(e, cursor);
}

static int next_byte(void)
{
    u8 c;
    return read(0, &c, 1) == 1 ? c : EOF;
}

/* ESC [ letter, ESC O letter, or ESC [ digit ~ */
static int escape_key(void)
{
    static const struct {
        char code;
        int key;
    } keys[] = {
        {'A', KEY_UP},   {'B', KEY_DOWN}, {'C', KEY_RIGHT},  {'D', KEY_LEFT},
        {'H', KEY_HOME}, {'F', KEY_END},  {'1', KEY_HOME},   {'7', KEY_HOME},
        {'4', KEY_END},  {'8', KEY_END},  {'3', KEY_DELETE},
    };
    int c = next_byte();
    if (c != '[' && c != 'O')
        return KEY_UNKNOWN;
    int code = next_byte();
    for (c = code; isdigit(c) || c == ';';)
        c = next_byte();
    for (u32 i = 0; i < NELEM(keys); i++) {
        if (keys[i].code == code)
            return keys[i].key;
    }
    return KEY_UNKNOWN;
}

static void edit_key(struct edit *e, int key)
{
    switch (key) {
    case CTRL('A'):
    case KEY_HOME:
        return move_to(e, 0);
    case CTRL('E'):
    case KEY_END:
        return move_to(e, e->length);
    case CTRL('B'):
    case KEY_LEFT:
        return move_to(e, e->cursor - (e->cursor > 0));
    case CTRL('F'):
    case KEY_RIGHT:
        return move_to(e, e->cursor + (e->cursor < e->length));
    case CTRL('P'):
    case KEY_UP:
        return show_entry(e, e->entry - 1);
    case CTRL('N'):
    case KEY_DOWN:
        return show_entry(e, e->entry + 1);
    case CTRL('H'):
    case DELETE:
        return cut(e, e->cursor - (e->cursor > 0), e->cursor);
    case CTRL('D'):
    case KEY_DELETE:
        return cut(e, e->cursor, e->cursor + (e->cursor < e->length));
    case CTRL('K'):
        return cut(e, e->cursor, e->length);
    case CTRL('U'):
        return cut(e, 0, e->cursor);
    case CTRL('W'):
        return cut(e, word_start(e), e->cursor);
    case CTRL('L'):
        return clear_screen(e);
    case '\t':
        return insert(e, ' ');
    }
    if (key >= ' ' && key < 256)
        insert(e, key);
}

static i64 edit(struct edit *e)
{
    for (;;) {
        int key = next_byte();
        if (key == '\r' || key == '\n') {
            show("\n", 1);
            return e->length;
        }
        if (key == CTRL('C')) {
            show("^C\n", 3);
            return EDIT_CANCEL;
        }
        if (key == EOF || (key == CTRL('D') && e->length == 0)) {
            show("\n", 1);
            return EDIT_EOF;
        }
        edit_key(e, key == CTRL('[') ? escape_key() : key);
    }
}

i64 edit_line(const char *prompt, char *line, size_t n, struct history *h)
{
    struct edit e = {.prompt = prompt, .line = line, .size = n, .history = h};
    e.entry = h->count;
    show(prompt, strlen(prompt));
    i64 result = edit(&e);
    line[e.length] = 0;
    free(e.draft);
    return result;
}
