/*
 * Line editing at the console, which is in raw mode: this file echoes.
 *
 * - Text typed at the end of the line is sent as it is; only a change before
 *   the end redraws the rest. The cursor moves by backspaces, so a change in
 *   a line that has wrapped at the screen's edge looks wrong until ^L.
 */
#include "user/sh/sh.h"

struct edit {
    const char *prompt;
    char *line;
    size_t size, length, cursor; /* cursor <= length < size */
    int entry;                   /* of the history; history.count: a new line */
    char *draft;                 /* the new line, while an older one is shown */
};

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

/* Draw the text from the cursor on again, after a change. */
static void redraw_rest(struct edit *e)
{
    show(e->line + e->cursor, e->length - e->cursor);
    show("\033[K", 3);
    back(e->length - e->cursor);
}

/* Delete the bytes from..to and put the cursor there. */
static void cut(struct edit *e, size_t from, size_t to)
{
    if (from == to)
        return;
    move_to(e, from);
    memmove(e->line + from, e->line + to, e->length - to);
    e->length -= to - from;
    redraw_rest(e);
}

/* Insert a character at the cursor, or ring the bell if the line is full. */
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

/* Show a line of the history by its number, or the line that was being typed:
 * the draft, whose number is history.count. */
static void show_entry(struct edit *e, int entry)
{
    if (entry < 0 || entry > history.count)
        return;
    e->line[e->length] = 0;
    if (e->entry == history.count) {
        free(e->draft);
        e->draft = strdup(e->line);
    }
    e->entry = entry;
    replace_line(e, entry == history.count ? e->draft : history.line[entry]);
}

/* Return where the word before the cursor begins. */
static size_t word_start(const struct edit *e)
{
    size_t at = e->cursor;
    while (at > 0 && e->line[at - 1] == ' ')
        at--;
    while (at > 0 && e->line[at - 1] != ' ')
        at--;
    return at;
}

/* Draw the prompt and the line on an empty line of the screen. */
static void show_again(struct edit *e, size_t cursor)
{
    show(e->prompt, strlen(e->prompt));
    e->cursor = 0;
    move_to(e, e->length);
    move_to(e, cursor);
}

static void clear_screen(struct edit *e)
{
    show("\033[H\033[J", 6);
    show_again(e, e->cursor);
}

/* ---- Tab ---- */

#define MOST_SHOWN 200 /* names in a list of candidates */

/* Insert text that completes a word, with a backslash before what is
 * special. */
static void insert_text(struct edit *e, const char *text, size_t n, char quote)
{
    for (size_t i = 0; i < n; i++) {
        bool special = strchr(" \t'\"\\$*?[&|;<>()#", text[i]);
        if (special && !quote)
            insert(e, '\\');
        insert(e, text[i]);
    }
}

/* The length of the longest prefix that all names share. */
static size_t shared_bytes(const struct strings *names)
{
    const char *first = names->at[0];
    size_t n = strlen(first);
    for (int i = 1; i < names->count; i++) {
        size_t same = 0;
        while (same < n && names->at[i][same] == first[same])
            same++;
        n = same;
    }
    return n;
}

/* List the names in columns below the line, then draw the line again. They are
 * in order from top to bottom, so entry i of the output, which goes row by row,
 * is name i % columns * rows + i / columns. */
static void list_names(struct edit *e, const struct strings *names)
{
    char text[NAME_BYTES + 16];
    size_t width = 0, cursor = e->cursor;
    int count = MIN(names->count, MOST_SHOWN);
    for (int i = 0; i < count; i++)
        width = MAX(width, strlen(names->at[i]) + 2);
    int columns = MAX(79 / (int)width, 1), rows = (count - 1) / columns + 1;
    move_to(e, e->length);
    for (int i = 0; i < rows * columns; i++) {
        int at = i % columns * rows + i / columns;
        if (i % columns == 0)
            show("\n", 1);
        if (at < count)
            show(text, MIN((size_t)snprintf(text, sizeof text, "%-*s",
                                            (int)width, names->at[at]),
                           sizeof text - 1));
    }
    if (count < names->count)
        show(text, snprintf(text, sizeof text, "\n... and %d more",
                            names->count - count));
    show("\n", 1);
    show_again(e, cursor);
}

/* Complete the word as far as all candidates agree; if that adds nothing, list
 * the candidates. At the beginning of a line Tab inserts a blank, because a
 * text with tabs may have been pasted. */
static void tab(struct edit *e)
{
    if (strspn(e->line, " ") >= e->cursor)
        return insert(e, ' ');
    struct block *mark = newest_block();
    e->line[e->length] = 0;
    struct completion c = complete(e->line, e->cursor);
    int count = c.names.count;
    if (count > 0) {
        const char *first = c.names.at[0];
        size_t n = shared_bytes(&c.names);
        insert_text(e, first + c.typed, n - c.typed, c.quote);
        if (count == 1 && first[n - 1] != '/') {
            if (c.quote)
                insert(e, c.quote);
            insert(e, ' ');
        } else if (count > 1 && n == c.typed) {
            list_names(e, &c.names);
        }
    } else {
        show("\a", 1);
    }
    release(mark);
}

/* ---- keys ---- */

/* Do what a key asks for: move, cut, show an older line, complete, or insert
 * the character. Other keys do nothing. */
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
    case KEY_DELETE_BACK:
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
        return tab(e);
    }
    if (key >= ' ' && key < 256)
        insert(e, key);
}

/* Take keys until the line ends. Returns its length, EDIT_CANCEL or
 * EDIT_EOF. */
static i64 edit(struct edit *e)
{
    for (;;) {
        int key = read_key();
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
        edit_key(e, key);
    }
}

i64 edit_line(const char *prompt, char *line, size_t n)
{
    struct edit e = {.prompt = prompt, .line = line, .size = n};
    e.entry = history.count;
    show(prompt, strlen(prompt));
    i64 result = edit(&e);
    line[e.length] = 0;
    free(e.draft);
    return result;
}
