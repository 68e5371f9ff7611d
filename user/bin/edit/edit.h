/*
 * edit: the interfaces of a small full-screen editor's parts.
 *
 * - main.c      the keys, and what each does
 *   text.c      the lines of the text in memory
 *   file.c      reading and writing it
 *   screen.c    what the terminal shows; only rows that change are sent
 *   question.c  a line asked of the user; finding text
 * - The text is bytes: whatever a file holds is written back as it was. A
 *   character of UTF-8 moves and is deleted as one.
 * - A text has at least one line. The last has no newline behind it, so a
 *   file that ends in a newline has an empty last line.
 */
#ifndef SLUICE_EDIT_H
#define SLUICE_EDIT_H

#include "user/lib.h"

#define MOST_BYTES (4U << 20) /* of a text: this bounds memory */
#define MOST_LINES 100000U

/* ---- the text (text.c) ---- */

struct line {
    char *at; /* no 0 at its end */
    u32 length, room;
};

struct text {
    struct line *line;
    u32 count, room;
    u32 bytes; /* with the newlines */
    bool changed;
};
extern struct text text;

/* Each returns false and changes nothing if the text would become too large or
 * memory is short; text_refused() then says why. */
bool text_begin(void); /* one empty line */
bool text_insert(u32 row, u32 column, const char *bytes, u32 n);
bool text_split(u32 row, u32 column);
bool text_join(u32 row); /* with the line below it */
const char *text_refused(void);

void text_delete(u32 row, u32 column, u32 n);
void text_delete_line(u32 row); /* the only one becomes empty */
/* Where the character before or after this byte of a line begins. */
u32 text_before(u32 row, u32 column);
u32 text_behind(u32 row, u32 column);

/* ---- the file (file.c) ---- */

/* Read a file into `text`; one that does not exist is empty. NULL, or an error
 * message. */
const char *file_read(const char *path);
/* Write `text` to a file. The old contents stay until the new ones are whole,
 * if the file can be replaced. NULL, or an error message. */
const char *file_write(const char *path);

/* ---- the screen (screen.c) ---- */

struct view {
    const char *path;
    u32 row, column; /* the cursor: a line and a byte in it */
    u32 kept_column; /* the screen column that moving up and down keeps */
    u32 top, left;   /* the line and column in the screen's corner */
    char message[160];
};

void screen_begin(void);
void screen_end(void);
void screen_forget(void); /* the next draw sends every row */
u32 screen_text_rows(void);
void screen_draw(struct view *);
/* The screen column, from 0, of a byte of a line without scrolling; and the
 * byte that a column shows. */
u32 screen_place(u32 row, u32 column);
u32 screen_byte_at(u32 row, u32 place);

/* ---- questions (question.c) ---- */

#define ANSWER_BYTES 100

/* Ask for a line. False after ^C. */
bool ask(struct view *, const char *question, char answer[ANSWER_BYTES]);
/* Ask for one of these keys. Returns it in lower case, or 0 after ^C. */
char ask_key(struct view *, const char *question, const char *keys);
/* Move to the next place of `what`: after the cursor, then from the top. */
bool find(struct view *, const char *what);

#endif
