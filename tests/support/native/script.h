/*
 * Tests that are scripts: "VERB WORD WORD; VERB WORD; VERB".
 *
 *   script_run("insert 0-3; use 1; evict 0 2 3; none", do_word);
 *
 * - do_word is called for each word, with the verb before it; a verb alone has
 *   the word "". It does what the verb means in its file, and checks.
 * - A check that fails prints the verb and the word, too.
 */
#ifndef SLUICE_NATIVE_SCRIPT_H
#define SLUICE_NATIVE_SCRIPT_H

#include "tests/support/native/test.h"

typedef void script_word(const char *verb, const char *word);

/* Run a script. */
void script_run(const char *steps, script_word *do_word);

/* A function for a whole step, which gets all its words in one string. */
typedef void script_step(const char *verb, const char *words);

/* Run a script by steps. A do_step may call script_words for its words. */
void script_run_steps(const char *steps, script_step *do_step);
void script_words(const char *verb, const char *words, script_word *do_word);

/* The numbers that a word names: "3" or "3-7". */
struct range {
    u64 first, last;
};
struct range range_of(const char *word);

/* The two parts of "NAME=VALUE"; the name is valid until the next call. */
const char *name_in(const char *word);
u64 value_in(const char *word);

#endif
