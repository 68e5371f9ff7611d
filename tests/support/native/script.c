/* Tests that are scripts (script.h): a script is cut at ";", a step at " ". */
#include "tests/support/native/script.h"

static char about[200]; /* test_step: the verb and the words or word */

/* Call do_step for each step, with its verb and the rest of its words. */
void script_run_steps(const char *steps, script_step *do_step)
{
    char *copy = strdup(steps), *to_step = NULL;
    test_step = about;
    for (char *step = strtok_r(copy, ";", &to_step); step;
         step = strtok_r(NULL, ";", &to_step)) {
        char *words;
        const char *verb = strtok_r(step, " ", &words);
        check(verb != NULL);
        words += strspn(words, " ");
        snprintf(about, sizeof about, "%s %s: ", verb, words);
        do_step(verb, words);
    }
    test_step = "";
    free(copy);
}

/* Call do_word for each word; for an empty one if there is none. */
void script_words(const char *verb, const char *words, script_word *do_word)
{
    char *copy = strdup(words), *to_word = NULL;
    const char *word = strtok_r(copy, " ", &to_word);
    do {
        snprintf(about, sizeof about, "%s %s: ", verb, word ? word : "");
        do_word(verb, word ? word : "");
    } while (word && (word = strtok_r(NULL, " ", &to_word)));
    free(copy);
}

static script_word *word_of_run;

/* Do each word of a step. */
static void do_words(const char *verb, const char *words)
{
    script_words(verb, words, word_of_run);
}

void script_run(const char *steps, script_word *do_word)
{
    word_of_run = do_word;
    script_run_steps(steps, do_words);
}

/* The number that the text begins with; *end is set behind it. */
static u64 number_at(const char *text, char **end)
{
    u64 n = strtoul(text, end, 10);
    check(*end > text);
    return n;
}

struct range range_of(const char *word)
{
    char *end;
    u64 first = number_at(word, &end);
    u64 last = *end == '-' ? number_at(end + 1, &end) : first;
    check(!*end && first <= last);
    return (struct range){first, last};
}

const char *name_in(const char *word)
{
    static char name[40];
    u64 n = strcspn(word, "=");
    check(n < sizeof name && word[n]);
    memcpy(name, word, n);
    name[n] = '\0';
    return name;
}

u64 value_in(const char *word)
{
    char *end;
    u64 value = number_at(word + strcspn(word, "=") + 1, &end);
    check(!*end);
    return value;
}
