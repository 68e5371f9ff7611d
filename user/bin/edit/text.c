/* The text in memory: an array of lines, each with room to grow. */
#include "user/bin/edit/edit.h"

struct text text;
static const char *refused = "";

const char *text_refused(void)
{
    return refused;
}

/* Make *at large enough for n elements; *room: how many it has memory for. */
static bool make_room(void **at, u32 *room, u32 n, size_t size)
{
    u32 wanted = MAX(n, *room + *room / 2);
    if (n <= *room)
        return true;
    void *bigger = realloc(*at, wanted * size);
    refused = "there is no more memory";
    if (!bigger)
        return false;
    *at = bigger;
    *room = wanted;
    return true;
}

/* True if the text may grow by so many bytes. Sets the reason for
 * text_refused() in advance, in case it may not. */
static bool fits(u32 bytes)
{
    refused = "the text has reached 4 MiB, the most that edit holds";
    return text.bytes + bytes <= MOST_BYTES;
}

/* Make room for an empty line before that row. */
static bool make_line(u32 row)
{
    refused = "the text has reached 100000 lines, the most that edit holds";
    if (text.count == MOST_LINES)
        return false;
    if (!make_room((void **)&text.line, &text.room, text.count + 1,
                   sizeof text.line[0]))
        return false;
    memmove(text.line + row + 1, text.line + row,
            (text.count - row) * sizeof text.line[0]);
    text.line[row] = (struct line){0};
    text.count++;
    return true;
}

bool text_begin(void)
{
    return make_line(0);
}

/* Insert bytes into one line. False: there is no memory. */
static bool put(struct line *l, u32 column, const char *bytes, u32 n)
{
    if (!make_room((void **)&l->at, &l->room, l->length + n, 1))
        return false;
    memmove(l->at + column + n, l->at + column, l->length - column);
    memcpy(l->at + column, bytes, n);
    l->length += n;
    return true;
}

bool text_insert(u32 row, u32 column, const char *bytes, u32 n)
{
    if (!fits(n) || !put(&text.line[row], column, bytes, n))
        return false;
    text.bytes += n;
    text.changed = true;
    return true;
}

bool text_split(u32 row, u32 column)
{
    if (!fits(1) || !make_line(row + 1))
        return false;
    struct line *l = &text.line[row];
    if (!put(l + 1, 0, l->at + column, l->length - column)) {
        text_delete_line(row + 1);
        return false;
    }
    l->length = column;
    text.bytes++;
    text.changed = true;
    return true;
}

static void drop_line(u32 row)
{
    free(text.line[row].at);
    text.count--;
    memmove(text.line + row, text.line + row + 1,
            (text.count - row) * sizeof text.line[0]);
}

bool text_join(u32 row)
{
    struct line *l = &text.line[row];
    if (!put(l, l->length, l[1].at, l[1].length))
        return false;
    drop_line(row + 1);
    text.bytes--;
    text.changed = true;
    return true;
}

void text_delete(u32 row, u32 column, u32 n)
{
    struct line *l = &text.line[row];
    memmove(l->at + column, l->at + column + n, l->length - column - n);
    l->length -= n;
    text.bytes -= n;
    text.changed = true;
}

void text_delete_line(u32 row)
{
    text_delete(row, 0, text.line[row].length);
    if (text.count == 1)
        return;
    drop_line(row);
    text.bytes--;
}

static bool continues(const struct line *l, u32 column)
{
    return column < l->length && (l->at[column] & 0xc0) == 0x80;
}

/* Return where the character before the column begins. A character may have
 * several bytes. */
u32 text_before(u32 row, u32 column)
{
    const struct line *l = &text.line[row];
    column -= column > 0;
    while (column > 0 && continues(l, column))
        column--;
    return column;
}

/* Return where the next character begins. */
u32 text_behind(u32 row, u32 column)
{
    const struct line *l = &text.line[row];
    column += column < l->length;
    while (continues(l, column))
        column++;
    return column;
}
