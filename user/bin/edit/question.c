/* Questions to the user in the last row, and finding text. */
#include "user/bin/edit/edit.h"

/* Show question and answer, the cursor after them, and wait for a key. */
static int key_after(struct view *v, const char *question, const char *answer)
{
    snprintf(v->message, sizeof v->message, "%s%s", question, answer);
    screen_draw(v);
    char go[20];
    snprintf(go, sizeof go, "\033[%u;%luH", screen_text_rows() + 2,
             strlen(v->message) + 1);
    write_all(1, go, strlen(go));
    return read_key();
}

/* Ask for a line at the foot of the screen. False: it was cancelled. */
bool ask(struct view *v, const char *question, char answer[ANSWER_BYTES])
{
    u32 n = 0;
    int key;
    answer[0] = 0;
    while (key = key_after(v, question, answer), key != '\r' && key != '\n') {
        if (key == CTRL('C') || key == EOF) {
            v->message[0] = 0;
            return false;
        }
        if ((key == KEY_DELETE_BACK || key == CTRL('H')) && n > 0)
            n--;
        else if (key >= ' ' && key < 256 && key != KEY_DELETE_BACK &&
                 n + 1 < ANSWER_BYTES)
            answer[n++] = key;
        answer[n] = 0;
    }
    v->message[0] = 0;
    return true;
}

/* Ask for one of these keys; 0: it was cancelled. */
char ask_key(struct view *v, const char *question, const char *keys)
{
    int key;
    do
        key = key_after(v, question, "");
    while (key != CTRL('C') && key != EOF &&
           (key >= 256 || !key || !strchr(keys, tolower(key))));
    v->message[0] = 0;
    return key == CTRL('C') || key == EOF ? 0 : tolower(key);
}

/* The column of the first `what` in a line, from column `from` on; or -1. */
static i64 find_in(u32 row, u32 from, const char *what)
{
    const struct line *l = &text.line[row];
    u32 n = strlen(what);
    for (u32 i = from; i + n <= l->length; i++) {
        if (memcmp(l->at + i, what, n) == 0)
            return i;
    }
    return -1;
}

/* Move to the next place of a text, from behind the cursor on and round to
 * it. */
bool find(struct view *v, const char *what)
{
    for (u32 i = 0; i <= text.count; i++) {
        u32 row = (v->row + i) % text.count;
        i64 at = find_in(row, i == 0 ? v->column + 1 : 0, what);
        if (at < 0)
            continue;
        v->row = row;
        v->column = at;
        return true;
    }
    return false;
}
