/*
 * iostat: prints the kernel's counters, from /dev/stat, that are not 0, or with
 * -a all of them.
 *
 *   iostat                   since power-on
 *   iostat SECONDS [COUNT]   what changed in each interval
 *   iostat COMMAND...        what changed while the command ran
 *
 * The change of a row that shows a state (such as free pages) may be negative.
 * Rows of one part of the kernel, or of one policy, stand together.
 */
#include "user/lib.h"

static bool print_zeros;

struct row {
    const char *name, *unit;
    u64 value;
};

struct table {
    char *text;
    struct row *rows;
    u32 count;
};

/* Read all rows of /dev/stat, each "NAME VALUE UNIT". */
static struct table read_table(void)
{
    struct table t = {.text = read_printed("/dev/stat")};
    if (!t.text)
        die("/dev/stat");
    u32 room = 0;
    char *rest = t.text, *line;
    while ((line = strsep(&rest, "\n")) && *line) {
        if (t.count == room) {
            room = 2 * room + 64;
            t.rows = xrealloc(t.rows, room * sizeof t.rows[0]);
        }
        char *words = line;
        struct row *r = &t.rows[t.count++];
        r->name = strsep(&words, " ");
        char *value = strsep(&words, " ");
        r->value = strtoul(value ? value : "", NULL, 10);
        r->unit = words ? words + strspn(words, " ") : "";
    }
    return t;
}

static void forget(struct table *t)
{
    free(t->text);
    free(t->rows);
}

/* The value of row i, or 0 if the table has no such row. A counter has the same
 * row each time: so its name is only compared with row i's. */
static u64 value_in(const struct table *t, u32 i, const char *name)
{
    bool there = i < t->count && strcmp(t->rows[i].name, name) == 0;
    return there ? t->rows[i].value : 0;
}

/* True if both names have the same part before their dot. */
static bool same_group(const char *a, const char *b)
{
    size_t n = strcspn(a, ".");
    return strncmp(a, b, n + 1) == 0;
}

/* Print a value; times, which are in ns, in a unit that is easy to read. */
static void print_row(const char *name, i64 value, const char *unit)
{
    static const struct {
        const char *unit;
        i64 ns;
    } units[] = {{"s", NS_PER_S}, {"ms", NS_PER_MS}, {"us", NS_PER_US}};
    u32 i = 0;
    i64 size = value < 0 ? -value : value;
    while (i + 1 < NELEM(units) && size < units[i].ns)
        i++;
    if (strcmp(unit, "ns") != 0)
        printf("%-32s %12ld %s\n", name, value, unit);
    else
        printf("%-32s %8s%ld.%03ld %s\n", name, value < 0 ? "-" : "",
               size / units[i].ns, size % units[i].ns * 1000 / units[i].ns,
               units[i].unit);
}

/* True if row i is the first of its group. The groups come in the order of
 * their first rows. */
static bool begins_group(const struct table *t, u32 i)
{
    for (u32 j = 0; j < i; j++)
        if (same_group(t->rows[j].name, t->rows[i].name))
            return false;
    return true;
}

/* Print what changed in the group of row `first`, after an empty line if it is
 * wanted. Returns how many rows were hidden because they did not change. */
static u32 print_group(const struct table *a, const struct table *b, u32 first,
                       bool *empty_line)
{
    u32 hidden = 0;
    bool begun = false;
    for (u32 i = first; i < b->count; i++) {
        const struct row *r = &b->rows[i];
        if (!same_group(b->rows[first].name, r->name))
            continue;
        u64 before = value_in(a, i, r->name);
        if (r->value == before && !print_zeros) {
            hidden++;
            continue;
        }
        if (*empty_line && !begun)
            printf("\n");
        begun = true;
        print_row(r->name, (i64)(r->value - before), r->unit);
    }
    *empty_line |= begun;
    return hidden;
}

/* Print the differences of two snapshots: b minus a. */
static void print_changes(const struct table *a, const struct table *b)
{
    bool empty_line = false;
    u32 hidden = 0;
    for (u32 i = 0; i < b->count; i++)
        if (begins_group(b, i))
            hidden += print_group(a, b, i, &empty_line);
    if (hidden > 0)
        printf("\n%u further counters are 0; iostat -a shows them\n", hidden);
}

static void print_all(void)
{
    struct table none = {0}, now = read_table();
    print_changes(&none, &now);
}

/* Print what changed in each of `count` intervals of ns. */
static void each_interval(u64 ns, u64 count)
{
    struct table before = read_table();
    for (u64 i = 0; i < count && !ferror(stdout); i++) {
        sleep(ns);
        struct table after = read_table();
        printf("%s-- interval %lu --\n", i ? "\n" : "", i + 1);
        print_changes(&before, &after);
        fflush(stdout);
        forget(&before);
        before = after;
    }
}

int main(int argc, char **argv)
{
    static const char usage[] = "iostat [-a] [SECONDS [COUNT] | COMMAND...]";
    for (int c; (c = options(argc, argv, "a", usage)) > 0;)
        print_zeros = c == 'a';
    int count = argc - optind;
    char **words = argv + optind;
    if (count == 0) {
        print_all();
        return 0;
    }
    if (isdigit(words[0][0])) {
        if (count > 2)
            usage_exit(usage);
        u64 ns = seconds_arg_ns(words[0], "interval");
        each_interval(ns, count == 2 ? size_arg(words[1], "count") : ~0UL);
        return 0;
    }
    struct table before = read_table();
    int status = run(words);
    struct table after = read_table();
    print_changes(&before, &after);
    return status < 0 ? 126 : status;
}
