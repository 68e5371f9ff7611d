/*
 * edit: a small editor for the whole screen. What its parts share.
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

#define MOST_BYTES (4U << 20) /* of a text; so memory is bounded */
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

/* Each is false, and changes nothing, if the text becomes too large or memory
 * is short; text_refused() then says why. */
bool text_begin(void); /* one empty line */
bool text_insert(u32 row, u32 column, const char *bytes, u32 n);
bool text_split(u32 row, u32 column);
bool text_join(u32 row); /* with the line below it */
const char *text_refused(void);

void text_delete(u32 row, u32 column, u32 n);
void text_delete_line(u32 row); /* the only one becomes empty */
/* Where the character before, or behind, this byte of a line begins. */
u32 text_before(u32 row, u32 column);
u32 text_behind(u32 row, u32 column);

/* ---- the file (file.c) ---- */

/* Into `text`; a file that is not there is an empty one. NULL, or why not. */
const char *file_read(const char *path);
/* The same outwards: the old contents stay until all of the new are written,
 * where the file is one that can be replaced. */
const char *file_write(const char *path);

/* ---- the screen (screen.c) ---- */

struct view {
    const char *path;
    u32 row, column; /* the cursor: a line and a byte in it */
    u32 wish;        /* the place in a line that up and down keep to */
    u32 top, left;   /* what the screen's first corner shows */
    char message[160];
};

void screen_begin(void);
void screen_end(void);
void screen_forget(void); /* draw all anew next time */
u32 screen_text_rows(void);
void screen_draw(struct view *);
/* Where a byte of a line is shown, from 0, if nothing is scrolled; and the
 * byte that is shown there. */
u32 screen_place(u32 row, u32 column);
u32 screen_byte_at(u32 row, u32 place);

/* ---- questions (question.c) ---- */

#define ANSWER_BYTES 100

/* Ask for a line. False: ^C. */
bool ask(struct view *, const char *question, char answer[ANSWER_BYTES]);
/* Ask for one of some keys, in lower case; 0: ^C. */
char ask_key(struct view *, const char *question, const char *keys);
/* Move to the next place of `what`, behind the cursor or from the top. */
bool find(struct view *, const char *what);

#endif
