/*
 * scribble: changes a file at random, and compares it with a model of it.
 *
 *   scribble [-s SEED] [-n OPERATIONS] [-m BYTES] FILE
 *
 * - The model is an array of bytes in memory. Each operation is made on the
 *   file and on the model; what is read must be what the model holds. The
 *   whole file is compared every CHECK_EVERY operations and at the end.
 * - The file is made anew and never longer than BYTES. It must be nobody
 *   else's meanwhile; several of these programs may run beside each other.
 * - The same seed makes the same operations, so a failure can be repeated.
 * - The first difference ends it with status 1 and a line that says the seed,
 *   the number and kind of the operation, and what was expected.
 *
 * The method is that of fsx (A. Tevanian, NeXT, 1991): offsets and lengths at
 * random find what tests of chosen ones leave out.
 */
#include "user/lib.h"
#include "user/lib/random.h"

#define CHECK_EVERY 500UL
#define CALL_BITS   16 /* the longest read or write has 2^16 bytes */
#define CALL_MAX    (1UL << CALL_BITS)

static const char *path;
static u64 seed = 1, operations = 1000, most = 256 * 1024;
static u64 chance; /* the generator's state */
static u64 number; /* of the operation, from 1 on */

static int fd = -1;
static u8 *model, buf[CALL_MAX];
static u64 size; /* bytes of the model that are the file's */

/* What the operation does, for the message. */
static const char *name = "open";
static u64 at, length;

static u64 below(u64 n)
{
    return random_below(&chance, n);
}

/* ---- failures ---- */

static void fail(const char *fmt, ...) PRINTF(1, 2) NORETURN;
static void fail(const char *fmt, ...)
{
    char what[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    diex("%s: seed %lu, operation %lu, %s of %lu bytes at %lu, the file has "
         "%lu: %s",
         path, seed, number, name, length, at, size, what);
}

static void expect(i64 got, u64 wanted)
{
    if (got < 0)
        fail("expected %lu, got the error: %s", wanted, strerror(errno));
    if ((u64)got != wanted)
        fail("expected %lu, got %ld", wanted, got);
}

/* buf holds n bytes that were read at an offset. */
static void compare(u64 offset, u64 n)
{
    if (memcmp(buf, model + offset, n) == 0)
        return;
    u64 i = 0;
    while (buf[i] == model[offset + i])
        i++;
    fail("at offset %lu expected 0x%02x, got 0x%02x", offset + i,
         model[offset + i], buf[i]);
}

/* ---- where and how much ---- */

/* Anywhere, or near the end of the file or of a block: faults are there. */
static u64 choose_offset(void)
{
    static const u64 blocks[] = {512, 1024, 2048, 4096};
    u64 offset = below(most);
    switch (below(4)) {
    case 0:
        offset -= offset % blocks[below(NELEM(blocks))];
        break;
    case 1:
        offset = MIN(size, most - 1);
        break;
    }
    u64 off_by = below(4) ? 0 : 1;
    return offset > off_by ? offset - off_by : offset;
}

/* As often short as long: each power of two is as likely as any other. */
static u64 choose_length(u64 offset)
{
    u64 n = 1UL << below(CALL_BITS + 1);
    if (below(2))
        n = 1 + below(n);
    return MIN(n, most - offset);
}

static void choose(void)
{
    at = choose_offset();
    length = choose_length(at);
}

/* ---- operations ---- */

/* The next bytes to be written go to the model as well. */
static void make_bytes(void)
{
    for (u64 i = 0; i < length; i += sizeof(u64)) {
        u64 word = random_u64(&chance);
        memcpy(buf + i, &word, MIN(sizeof word, length - i));
    }
    memcpy(model + at, buf, length);
}

static void grown(void)
{
    size = MAX(size, at + length);
}

static void set_size(u64 to)
{
    if (to < size)
        memset(model + to, 0, size - to); /* a longer file has zeros there */
    size = to;
}

static void do_pwrite(void)
{
    choose();
    make_bytes();
    expect(pwrite(fd, buf, length, at), length);
    grown();
}

static void do_write(void)
{
    choose();
    make_bytes();
    expect(lseek(fd, at, SEEK_SET), at);
    expect(write(fd, buf, length), length);
    grown();
}

/* Through a descriptor of its own; O_SYNC as often as not. */
static void do_append(void)
{
    at = size;
    length = choose_length(at);
    make_bytes();
    int other = open(path, O_WRONLY | O_APPEND | (below(2) ? O_SYNC : 0));
    if (other < 0)
        fail("open: %s", strerror(errno));
    expect(write(other, buf, length), length);
    expect(close(other), 0);
    grown();
}

static u64 left_from(u64 offset, u64 n)
{
    return offset < size ? MIN(n, size - offset) : 0;
}

static void do_pread(void)
{
    choose();
    u64 n = left_from(at, length);
    expect(pread(fd, buf, length, at), n);
    compare(at, n);
}

/* Some reads in order, so that there is something to prefetch. */
static void do_read(void)
{
    choose();
    expect(lseek(fd, at, SEEK_SET), at);
    for (u64 turns = 1 + below(8); turns > 0; turns--) {
        u64 n = left_from(at, length);
        expect(read(fd, buf, length), n);
        compare(at, n);
        at += n;
    }
}

static void do_truncate(void)
{
    at = choose_offset();
    length = 0;
    expect(below(2) ? truncate(path, at) : ftruncate(fd, at), 0);
    set_size(at);
}

static void do_reopen(void)
{
    expect(close(fd), 0);
    fd = open(path, O_RDWR);
    if (fd < 0)
        fail("open: %s", strerror(errno));
}

static void do_fsync(void)
{
    expect(fsync(fd), 0);
}

static void do_sync(void)
{
    expect(sync(), 0);
}

static void do_stat(void)
{
    struct stat st;
    expect(below(2) ? stat(path, &st) : fstat(fd, &st), 0);
    expect(st.st_size, size);
}

static void do_advise(void)
{
    choose();
    int advice = below(ADVICE_DONTNEED + 1);
    bool whole = advice < ADVICE_WILLNEED; /* it is about the open file */
    expect(advise(fd, whole ? 0 : at, whole ? 0 : length, advice), 0);
}

static void check_all(void)
{
    do_stat();
    for (u64 offset = 0; offset < size; offset += CALL_MAX) {
        u64 n = MIN(CALL_MAX, size - offset);
        expect(pread(fd, buf, n, offset), n);
        compare(offset, n);
    }
}

static const struct weighted kinds[] = {
    {"pwrite", do_pwrite, 30}, {"write", do_write, 15},
    {"append", do_append, 5},  {"pread", do_pread, 30},
    {"read", do_read, 15},     {"truncate", do_truncate, 8},
    {"reopen", do_reopen, 4},  {"fsync", do_fsync, 3},
    {"sync", do_sync, 1},      {"stat", do_stat, 4},
    {"advise", do_advise, 5},
};

static void operate(void)
{
    const struct weighted *w = random_weighted(&chance, kinds, NELEM(kinds));
    at = length = 0;
    name = w->name;
    w->act();
    if (number % CHECK_EVERY == 0 || number == operations) {
        name = "comparison";
        check_all();
    }
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "scribble [-s SEED] [-n OPERATIONS] [-m BYTES] FILE";
    int c;
    while ((c = options(argc, argv, "s:n:m:", usage)) > 0) {
        u64 *to = c == 's' ? &seed : c == 'n' ? &operations : &most;
        *to = size_arg(optarg, (char[]){'-', c, 0});
    }
    if (argc - optind != 1 || most == 0)
        usage_exit(usage);
    path = argv[optind];
    chance = random_stream(seed, 0, 0);
    model = calloc(most, 1);
    if (!model)
        die("-m %lu", most);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        die("%s", path);
    for (number = 1; number <= operations; number++)
        operate();
    expect(close(fd), 0);
    printf("scribble: %lu operations on %s, no difference\n", operations, path);
    return 0;
}
