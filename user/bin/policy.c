/*
 * policy: shows the policies and their tunables, and changes them.
 *   policy                             all policies; more of those in use
 *   policy KIND, policy NAME           what each does, and its tunables
 *   policy use sched clook
 *   policy set pu.interval_ms 1000
 *
 * It reads the text of /dev/policy: lines `KIND: NAME [NAME-IN-USE] ...`, then
 * `KIND/POLICY: about`, then `POLICY.TUNABLE = VALUE UNIT (LOW to HIGH):
 * about`. If the kernel refuses a change, nothing changes, and the kernel's
 * reason is printed.
 */
#include "user/lib.h"

#define SCREEN_COLUMNS 80

static const char device[] = "/dev/policy";
static const char last_error[] = "last error: ";

static const char usage[] =
    "policy [KIND | NAME | use KIND NAME | set POLICY.TUNABLE VALUE]";

static char *policies(void)
{
    char *text = read_printed(device);
    if (!text)
        die("%s", device);
    return text;
}

/* ---- showing ---- */

/* Return a line's policies, the text after `KIND:`; NULL for another line. */
static char *names_of(char *line)
{
    char *colon = line + strcspn(line, ":/ ");
    return *colon == ':' ? colon + 1 + (colon[1] == ' ') : NULL;
}

/* True if a word, perhaps in brackets, is this name of the length n. */
static bool is_name(const char *word, const char *name, size_t n)
{
    word += *word == '[';
    return strncmp(word, name, n) == 0 && (!word[n] || strchr(" ]", word[n]));
}

static bool has_name(const char *names, const char *name, size_t n)
{
    for (const char *word = names; *word; word += strspn(word, " ")) {
        if (is_name(word, name, n))
            return true;
        word += strcspn(word, " ");
    }
    return false;
}

static bool in_use(const char *names, const char *name, size_t n)
{
    const char *used = strchr(names, '[');
    return used && is_name(used, name, n);
}

/* True if the line is of the kind `asked`. The user may have asked for
 * everything (""), for a kind, or for a policy. */
static bool is_kind(const char *line, const char *asked)
{
    size_t n = strlen(asked);
    return strncmp(line, asked, n) == 0 && line[n] == ':';
}

/* True if the question asks for this policy, of a line of a kind. */
static bool asks_for(const char *asked, const char *kind_line,
                     const char *names, const char *policy, size_t n)
{
    if (!*asked)
        return in_use(names, policy, n);
    if (is_kind(kind_line, asked))
        return has_name(names, policy, n);
    return strlen(asked) == n && strncmp(asked, policy, n) == 0;
}

/* `wow.spare = 1 0 or 1 (0 to 1): about` becomes `wow.spare = 1 (0 or 1)` and
 * a line about it: a unit that is a list of values is the better range. */
static void print_tunable(char *line)
{
    char *rest = line, *name = strsep(&rest, " ");
    strsep(&rest, " "); /* = */
    char *value = strsep(&rest, " "), *unit = strsep(&rest, "(");
    char *range = strsep(&rest, ")"), *about = rest ? rest + 2 : "";
    unit[strlen(unit) - (*unit != 0)] = 0;
    bool is_list = isdigit(*unit);
    printf("  %s = %s%s%s (%s)\n      %s\n", name, value, is_list ? "" : " ",
           is_list ? "" : unit, is_list ? unit : range, about);
}

/* A kind and its policies, on lines of a screen. */
static void print_kind(const char *kind, int n, const char *names)
{
    int column = printf("%-9.*s", n, kind);
    while (*names) {
        int length = strcspn(names, " ");
        if (column + 1 + length >= SCREEN_COLUMNS)
            column = printf("\n%9s", "") - 1;
        column += printf(" %.*s", length, names);
        names += length + strspn(names + length, " ");
    }
    printf("\n");
}

/* True if this is a row, false at the end of the rows. */
static bool is_row(const char *line)
{
    return *line && strncmp(line, last_error, strlen(last_error)) != 0;
}

/* Print what each policy of a kind does, if the question is about it. */
static void print_abouts(const char *asked, const char *kind_line,
                         const char *names, char *const *rows)
{
    size_t kind = strcspn(kind_line, ":");
    for (; is_row(*rows); rows++) {
        if (strncmp(*rows, kind_line, kind) != 0 || (*rows)[kind] != '/')
            continue;
        const char *name = *rows + kind + 1;
        size_t n = strcspn(name, ":");
        if (asks_for(asked, kind_line, names, name, n))
            printf("  %-13.*s %s\n", (int)n, name, name + n + 2);
    }
}

/* Print the lines of the kinds that the question is about. Returns how many. */
static int print_kinds(const char *asked, char *const *all)
{
    int count = 0;
    for (char *const *rows = all; is_row(*rows) && names_of(*rows); rows++) {
        const char *names = names_of(*rows);
        if (*asked && !is_kind(*rows, asked) &&
            !has_name(names, asked, strlen(asked)))
            continue;
        print_kind(*rows, strcspn(*rows, ":"), names);
        print_abouts(asked, *rows, names, all);
        count++;
    }
    return count;
}

/* True if the question is about a tunable's policy. */
static bool is_wanted(const char *asked, char *const *rows, const char *policy)
{
    size_t n = strcspn(policy, ".");
    for (; is_row(*rows) && names_of(*rows); rows++) {
        const char *names = names_of(*rows);
        if (has_name(names, policy, n) &&
            asks_for(asked, *rows, names, policy, n))
            return true;
    }
    return false;
}

static int print_tunables(const char *asked, char **rows)
{
    int count = 0;
    for (char **row = rows; is_row(*row); row++) {
        if (names_of(*row) || !is_wanted(asked, rows, *row))
            continue;
        if (count++ == 0)
            printf("\ntunables%s, with their ranges:\n",
                   *asked ? "" : " of the policies in use");
        print_tunable(*row);
    }
    return count;
}

/* The lines of /dev/policy; the last is empty. */
static char **read_rows(void)
{
    char *rest = policies(), *line, **rows = NULL;
    int count = 0;
    while ((line = strsep(&rest, "\n"))) {
        rows = xrealloc(rows, (count + 2) * sizeof *rows);
        rows[count++] = line;
    }
    rows[count] = "";
    return rows;
}

static void show(const char *asked)
{
    char **rows = read_rows();
    if (print_kinds(asked, rows) == 0)
        diex("there is no kind and no policy \"%s\": `policy` lists them",
             asked);
    if (print_tunables(asked, rows) == 0)
        printf("\nno tunables\n");
    if (!*asked)
        printf("\n[in use]; `policy KIND` and `policy NAME` show tunables of "
               "others;\n`policy use KIND NAME` and `policy set "
               "POLICY.TUNABLE VALUE` change them\n");
}

/* ---- changing ---- */

/* End with the kernel's reason why a line was refused; /dev/policy has it. */
static void refused(void)
{
    char *text = policies(), *reason = strstr(text, last_error);
    if (!reason)
        diex("%s", strerror(EINVAL));
    reason += strlen(last_error);
    reason[strcspn(reason, "\n")] = 0;
    diex("%s", reason);
}

/* Write the words to /dev/policy as one line. */
static void change(int count, char **words)
{
    char line[256] = "";
    for (int i = 0; i < count; i++) {
        strlcat(line, words[i], sizeof line);
        if (strlcat(line, i + 1 < count ? " " : "\n", sizeof line) >=
            sizeof line)
            diex("line too long");
    }
    int fd = open(device, O_WRONLY);
    if (fd < 0)
        die("%s", device);
    if (write(fd, line, strlen(line)) >= 0)
        return;
    if (errno == EINVAL)
        refused();
    die("%s", device);
}

int main(int argc, char **argv)
{
    while (options(argc, argv, "", usage) > 0)
        ;
    int count = argc - optind;
    char **words = argv + optind;
    bool changes = count > 0 && (strcmp(words[0], "use") == 0 ||
                                 strcmp(words[0], "set") == 0);
    if (changes)
        change(count, words);
    else if (count > 1)
        usage_exit(usage);
    else
        show(count == 1 ? words[0] : "");
    return 0;
}
