/* edit FILE: the keys of the editor. edit.h says what the parts are. */
#include "user/bin/edit/edit.h"

static struct view view;
static struct line cut; /* the line that ^K cut last */
static bool is_new;     /* the file did not exist */
static char sought[ANSWER_BYTES];

static void say(const char *fmt, ...) PRINTF(1, 2);
static void say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(view.message, sizeof view.message, fmt, args);
    va_end(args);
}

static u32 line_length(void)
{
    return text.line[view.row].length;
}

/* ---- moving ---- */

static void move_to(u32 row, u32 column)
{
    view.row = row;
    view.column = column;
    view.kept_column = screen_place(row, column);
}

/* Move up or down in the screen column view.kept_column. */
static void move_rows(i64 n)
{
    i64 row = (i64)view.row + n;
    view.row = row < 0 ? 0 : MIN((u32)row, text.count - 1);
    view.column = screen_byte_at(view.row, view.kept_column);
}

static void move_left(void)
{
    if (view.column > 0)
        move_to(view.row, text_before(view.row, view.column));
    else if (view.row > 0)
        move_to(view.row - 1, text.line[view.row - 1].length);
}

static void move_right(void)
{
    if (view.column < line_length())
        move_to(view.row, text_behind(view.row, view.column));
    else if (view.row + 1 < text.count)
        move_to(view.row + 1, 0);
}

static void go_to_line(void)
{
    char answer[ANSWER_BYTES], *end;
    if (!ask(&view, "Go to line: ", answer) || !*answer)
        return;
    u64 n = strtoul(answer, &end, 10);
    if (*end || n == 0 || n > text.count)
        say("%s is not a line from 1 to %u", answer, text.count);
    else
        move_to(n - 1, 0);
}

static void find_text(void)
{
    char question[ANSWER_BYTES + 40] = "Find: ", answer[ANSWER_BYTES];
    if (*sought)
        snprintf(question, sizeof question, "Find (Enter: %s again): ", sought);
    if (!ask(&view, question, answer))
        return;
    if (*answer)
        strlcpy(sought, answer, sizeof sought);
    if (!*sought)
        return;
    if (find(&view, sought))
        move_to(view.row, view.column);
    else
        say("%s is not in the text", sought);
}

/* ---- changing ---- */

static void insert(char c)
{
    if (text_insert(view.row, view.column, &c, 1))
        move_to(view.row, view.column + 1);
    else
        say("not inserted: %s", text_refused());
}

static void new_line(void)
{
    if (text_split(view.row, view.column))
        move_to(view.row + 1, 0);
    else
        say("not inserted: %s", text_refused());
}

/* The character under the cursor, or the line's end. */
static void delete_here(void)
{
    u32 behind = text_behind(view.row, view.column);
    if (behind > view.column)
        text_delete(view.row, view.column, behind - view.column);
    else if (view.row + 1 < text.count && !text_join(view.row))
        say("not joined: %s", text_refused());
}

static void delete_before(void)
{
    if (view.row == 0 && view.column == 0)
        return;
    move_left();
    delete_here();
}

static void cut_line(void)
{
    struct line *l = &text.line[view.row];
    char *copy = malloc(l->length + 1);
    if (!copy)
        return say("not cut: there is no more memory");
    memcpy(copy, l->at, l->length);
    free(cut.at);
    cut = (struct line){copy, l->length, l->length};
    text_delete_line(view.row);
    move_to(MIN(view.row, text.count - 1), 0);
}

/* Insert the line that was cut above the line of the cursor. */
static void paste_line(void)
{
    if (!cut.at)
        return say("nothing was cut: ^K cuts a line");
    if (!text_split(view.row, 0))
        return say("not pasted: %s", text_refused());
    if (!text_insert(view.row, 0, cut.at, cut.length)) {
        say("not pasted: %s", text_refused());
        text_delete_line(view.row);
        return;
    }
    move_to(view.row + 1, 0);
}

/* ---- leaving ---- */

/* A new file ends in a newline; an old one ends as it did. */
static void end_last_line(void)
{
    u32 last = text.count - 1, length = text.line[last].length;
    if (is_new && length > 0)
        text_split(last, length);
}

static bool save(void)
{
    end_last_line();
    const char *why = file_write(view.path);
    if (why)
        say("NOT saved: %s: %s", view.path, why);
    else
        say("saved: %u lines, %u bytes",
            text.count - (text.line[text.count - 1].length == 0), text.bytes);
    return !why;
}

static bool may_leave(void)
{
    if (!text.changed)
        return true;
    char key = ask_key(&view,
                       "Save the changes? y: yes, n: no, they are lost, "
                       "^C: go on editing ",
                       "yn");
    return key == 'n' || (key == 'y' && save());
}

/* ---- keys ---- */

static const struct {
    int key;
    void (*act)(void);
} actions[] = {
    {KEY_LEFT, move_left},
    {KEY_RIGHT, move_right},
    {KEY_DELETE, delete_here},
    {CTRL('D'), delete_here},
    {KEY_DELETE_BACK, delete_before},
    {CTRL('H'), delete_before},
    {'\r', new_line},
    {'\n', new_line},
    {CTRL('F'), find_text},
    {CTRL('G'), go_to_line},
    {CTRL('K'), cut_line},
    {CTRL('Y'), paste_line},
    {KEY_SCREEN_SIZE, screen_forget},
};

static void press(int key)
{
    i64 page = screen_text_rows() - 1;
    for (u32 i = 0; i < NELEM(actions); i++) {
        if (actions[i].key == key)
            return actions[i].act();
    }
    switch (key) {
    case KEY_UP:
        return move_rows(-1);
    case KEY_DOWN:
        return move_rows(1);
    case KEY_PAGE_UP:
        return move_rows(-page);
    case KEY_PAGE_DOWN:
        return move_rows(page);
    case KEY_HOME:
    case CTRL('A'):
        return move_to(view.row, 0);
    case KEY_END:
    case CTRL('E'):
        return move_to(view.row, line_length());
    case CTRL('S'):
        save();
        return;
    case CTRL('L'):
        screen_forget();
        ask_screen_size();
        return;
    }
    if (key == '\t' || (key >= ' ' && key < 256))
        insert(key);
}

static void edit(void)
{
    screen_begin();
    int key;
    do {
        screen_draw(&view);
        key = read_key();
        if (key != KEY_SCREEN_SIZE)
            view.message[0] = 0;
        press(key);
    } while (key != EOF && (key != CTRL('Q') || !may_leave()));
    screen_end();
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "edit FILE: change a file on the screen; ^S saves, ^Q leaves";
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind != 1)
        usage_exit(usage);
    if (!isatty(0) || !isatty(1))
        diex("edit works at the console only; a script can use echo and >");
    view.path = argv[optind];
    const char *why = file_read(view.path);
    if (why)
        diex("%s: %s", view.path, why);
    struct stat st;
    is_new = stat(view.path, &st) < 0;
    if (is_new)
        say("a new file; ^S saves, ^Q leaves");
    edit();
    return 0;
}
