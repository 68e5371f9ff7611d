/*
 * latency: prints how long requests took, and how many others were queued when
 * they arrived, by disk and by the process that caused them.
 *   latency              since power-on
 *   latency COMMAND...   of the requests done while the command ran
 *
 * - Times are in ms. A quantile is the middle of its bucket: within 0.4 %.
 * - The source is /dev/hist and /dev/prochist (kernel/measure/hist.h).
 */
#include "user/lib.h"

struct bucket {
    u64 low, high, count;
};

struct row {
    const char *name, *unit;
    const char *process; /* whose it is, or "" */
    u64 count;           /* of the buckets: the kernel prints no one moment */
    u64 sum;             /* as of just before them */
    u32 first, nbuckets; /* in table.buckets */
};

struct table {
    char *text[2];
    struct row *rows;
    struct bucket *buckets;
    u32 nrows, nbuckets;
};

/* ---- reading ---- */

/* Make room for one more item; an array grows when n is 0 or a power of two. */
static void *grow(void *array, u32 n, size_t size)
{
    return n & (n - 1) ? array : xrealloc(array, 2 * MAX(n, 1) * size);
}

static u64 next_number(char **words)
{
    char *word = strsep(words, " ");
    return word ? strtoul(word, NULL, 10) : 0;
}

/* Append a row, from a histogram's line: name, unit, count and sum. Its buckets
 * follow, and the row counts them itself. */
static void add_row(struct table *t, const char *process, char *words)
{
    t->rows = grow(t->rows, t->nrows, sizeof *t->rows);
    struct row *r = &t->rows[t->nrows++];
    *r = (struct row){.process = process, .first = t->nbuckets};
    r->name = strsep(&words, " ");
    r->unit = words ? strsep(&words, " ") : "";
    next_number(&words);
    r->sum = next_number(&words);
}

/* Append a bucket, from a line: its bounds and its count. It belongs to the row
 * that was added last. */
static void add_bucket(struct table *t, char *words)
{
    t->buckets = grow(t->buckets, t->nbuckets, sizeof *t->buckets);
    struct bucket *b = &t->buckets[t->nbuckets++];
    b->low = next_number(&words);
    b->high = next_number(&words);
    b->count = next_number(&words);
    struct row *r = &t->rows[t->nrows - 1];
    r->count += b->count;
    r->nbuckets++;
}

/* Lines `process PID NAME`, `hist ...`, `bucket ...`. */
static void add_text(struct table *t, char *text)
{
    const char *process = "";
    char *line;
    while ((line = strsep(&text, "\n")) && *line) {
        char *word = strsep(&line, " ");
        if (strcmp(word, "process") == 0) {
            strsep(&line, " ");
            process = line ? line : "";
        } else if (strcmp(word, "hist") == 0 && line) {
            add_row(t, process, line);
        } else if (line && t->nrows) {
            add_bucket(t, line);
        }
    }
}

/* Return all histograms: those of the whole system, and those of each
 * process. */
static struct table read_table(void)
{
    static const char *const paths[] = {"/dev/hist", "/dev/prochist"};
    struct table t = {0};
    for (u32 i = 0; i < NELEM(paths); i++) {
        t.text[i] = read_printed(paths[i]);
        if (!t.text[i])
            die("%s", paths[i]);
        add_text(&t, t.text[i]);
    }
    return t;
}

/* ---- what changed ---- */

static const struct row *find(const struct table *t, const char *name)
{
    for (u32 i = 0; i < t->nrows; i++) {
        if (strcmp(t->rows[i].name, name) == 0)
            return &t->rows[i];
    }
    return NULL;
}

/* Return the row's bucket with this lower bound, or NULL. */
static struct bucket *bucket_at(const struct table *t, const struct row *r,
                                u64 low)
{
    for (u32 i = r->first; i < r->first + r->nbuckets; i++) {
        if (t->buckets[i].low == low)
            return &t->buckets[i];
    }
    return NULL;
}

/* True if each bucket of the earlier row still has at least its old count.
 * False if the kernel dropped the process's histogram meanwhile and began a new
 * one: then nothing may be subtracted. */
static bool has_grown(const struct table *t, const struct row *r,
                      const struct table *earlier, const struct row *e)
{
    for (u32 i = e->first; i < e->first + e->nbuckets; i++) {
        const struct bucket *x = &earlier->buckets[i];
        const struct bucket *b = bucket_at(t, r, x->low);
        if (!b || b->count < x->count)
            return false;
    }
    return true;
}

/* Take an earlier row's counts out of a row, so that what is left happened
 * since. */
static void subtract(const struct table *t, struct row *r,
                     const struct table *earlier, const struct row *e)
{
    r->count -= e->count;
    r->sum -= e->sum;
    for (u32 i = e->first; i < e->first + e->nbuckets; i++) {
        const struct bucket *x = &earlier->buckets[i];
        bucket_at(t, r, x->low)->count -= x->count;
    }
}

/* Subtract an earlier table from the rows that have grown since. */
static void subtract_all(struct table *t, const struct table *earlier)
{
    for (u32 i = 0; i < t->nrows; i++) {
        const struct row *e = find(earlier, t->rows[i].name);
        if (e && has_grown(t, &t->rows[i], earlier, e))
            subtract(t, &t->rows[i], earlier, e);
    }
}

/* ---- printing ---- */

/* Return a quantile, as the middle of its bucket: the value that of_100000 of
 * 100,000 values do not exceed. The quantile's rank is rounded up. */
static u64 quantile(const struct table *t, const struct row *r, u64 of_100000)
{
    u64 rank = MAX(1, (r->count * of_100000 + 99999) / 100000), seen = 0;
    for (u32 i = r->first; i < r->first + r->nbuckets; i++) {
        const struct bucket *b = &t->buckets[i];
        seen += b->count;
        if (seen >= rank)
            return (b->low + b->high - 1) / 2;
    }
    return 0;
}

static void print_value(const struct row *r, u64 value)
{
    if (strcmp(r->unit, "ns") == 0)
        printf(" %8lu.%03lu", value / NS_PER_MS, value % NS_PER_MS / NS_PER_US);
    else
        printf(" %12lu", value);
}

/* Print the mean and quantiles of a row; quantiles are in 1/100,000. */
static void print_row(const struct table *t, const struct row *r)
{
    static const u64 quantiles[] = {50000, 99000, 99900, 100000};
    printf("%-22s %-8s %8lu", r->name, r->process, r->count);
    print_value(r, r->sum / r->count);
    for (u32 i = 0; i < NELEM(quantiles); i++)
        print_value(r, quantile(t, r, quantiles[i]));
    printf("\n");
}

static bool is_of_requests(const struct row *r)
{
    return strncmp(r->name, "disk", 4) == 0 || strncmp(r->name, "proc", 4) == 0;
}

/* Print the rows of requests that counted something. */
static void print_table(const struct table *t)
{
    printf("%-22s %-8s %8s %12s %12s %12s %12s %12s\n", "ms, or requests",
           "process", "count", "mean", "median", "p99", "p99.9", "max");
    for (u32 i = 0; i < t->nrows; i++) {
        if (t->rows[i].count && is_of_requests(&t->rows[i]))
            print_row(t, &t->rows[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == '-')
        usage_exit("latency [COMMAND...]");
    struct table before = {0};
    int status = 0;
    if (argc > 1) {
        before = read_table();
        status = run(argv + 1);
    }
    struct table t = read_table();
    subtract_all(&t, &before);
    print_table(&t);
    return status < 0 ? 126 : status;
}
