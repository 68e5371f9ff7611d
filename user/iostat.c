/*
 * iostat: the kernel's counters, from /dev/stat.
 *   iostat                   all of them, since power-on
 *   iostat SECONDS [COUNT]   what changed in each interval
 *   iostat COMMAND...        what changed while the command ran
 * Of a row that only tells a state (as free pages) the change may be
 * negative.
 */
#include "user/lib.h"

struct row {
    const char *name, *unit;
    u64 value;
};

struct table {
    char *text;
    struct row *rows;
    u32 count;
};

static struct table read_table(void)
{
    struct table t = {.text = read_text("/dev/stat", NULL)};
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
        r->unit = words ? words : "";
    }
    return t;
}

static void forget(struct table *t)
{
    free(t->text);
    free(t->rows);
}

/* The rows are in the same order each time. */
static void print_changes(const struct table *a, const struct table *b)
{
    for (u32 i = 0; i < b->count; i++) {
        const struct row *r = &b->rows[i];
        u64 before = 0;
        if (i < a->count && strcmp(a->rows[i].name, r->name) == 0)
            before = a->rows[i].value;
        if (r->value != before)
            printf("%-32s %12ld %s\n", r->name, (i64)(r->value - before),
                   r->unit);
    }
}

static void print_all(void)
{
    struct table t = read_table();
    for (u32 i = 0; i < t.count; i++)
        printf("%-32s %12lu %s\n", t.rows[i].name, t.rows[i].value,
               t.rows[i].unit);
}

static void each_interval(u64 ns, u64 count)
{
    struct table before = read_table();
    for (u64 i = 0; i < count; i++) {
        sleep(ns);
        struct table after = read_table();
        print_changes(&before, &after);
        printf("\n");
        forget(&before);
        before = after;
    }
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        print_all();
        return 0;
    }
    if (argv[1][0] == '-' || (isdigit(argv[1][0]) && argc > 3))
        usage_exit("iostat [SECONDS [COUNT] | COMMAND...]");
    if (isdigit(argv[1][0])) {
        u64 ns = seconds_arg_ns(argv[1], "interval");
        each_interval(ns, argc == 3 ? size_arg(argv[2], "count") : ~0UL);
        return 0;
    }
    struct table before = read_table();
    int status = run(argv + 1);
    struct table after = read_table();
    print_changes(&before, &after);
    return status < 0 ? 126 : status;
}
