/*
 * scribble: changes a file at random, and compares it with a model of it.
 *
 *   scribble [-flo] [-s SEED] [-n OPERATIONS] [-m BYTES] FILE
 *
 * - The model is an array of bytes in memory. Each operation is made on the
 *   file and on the model; what is read must be what the model holds. The
 *   whole file is compared every CHECK_EVERY operations and at the end.
 * - The file is made anew and never longer than BYTES. It must be nobody
 *   else's meanwhile; several of these programs may run beside each other.
 * - The same seed makes the same operations, so a failure can be repeated.
 * - The first difference ends it with status 1 and a line that says the seed,
 *   the number and kind of the operation, and what was expected.
 * - With -f the disk may be full: of a write, what was written counts, and
 *   nothing else may change.
 * - With -l writes may be lost. An fsync or a close that tells of that excuses
 *   a difference. This, or another call that fails for that reason, ends the
 *   program with status 0 and a line that says so. A difference of which no
 *   fsync tells is one. With -o another disk's may be lost: sync may tell.
 *
 * The method is that of fsx (A. Tevanian, NeXT, 1991): offsets and lengths at
 * random find what tests of chosen ones leave out.
 */
#include "user/lib.h"
#include "user/lib/model.h"
#include "user/lib/random.h"

#define CHECK_EVERY 500UL
#define CALL_BITS   16 /* the longest read or write has 2^16 bytes */
#define CALL_MAX    (1UL << CALL_BITS)

static struct model_run *const job = &model_run;
static u64 most = 256 * 1024;
static int fd = -1;
static u8 *model, buf[CALL_MAX];
static u64 size; /* bytes of the model that are the file's */

/* The operation in words, for the message. */
static const char *name = "open";
static u64 at, length;

/* ---- failures ---- */

static void describe(char *to, u64 bytes)
{
    snprintf(to, bytes, "%s of %lu bytes at %lu, the file has %lu", name,
             length, at, size);
}

/* Expect the result of a call. A loss that was reported ends the program
 * well. */
static void expect(i64 got, u64 wanted)
{
    if (got < 0) {
        end_if_told(-1);
        fail("expected %lu, got the error: %s", wanted, strerror(errno));
    }
    if ((u64)got != wanted)
        fail("expected %lu, got %ld", wanted, got);
}

/* buf holds n bytes that were read at an offset. */
static void compare(u64 offset, u64 n)
{
    if (memcmp(buf, model + offset, n) == 0)
        return;
    end_if_told(fd);
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

/* A length; each power of two is as likely as any other. */
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

/* The next bytes to be written. */
static void make_bytes(void)
{
    for (u64 i = 0; i < length; i += sizeof(u64)) {
        u64 word = random_u64(&job->chance);
        memcpy(buf + i, &word, MIN(sizeof word, length - i));
    }
}

/* Put what a write wrote into the model, too. got: what the call returned. */
static void written(i64 got)
{
    bool some = got > 0 && (u64)got < length;
    if (some && job->may_lose) { /* the next block may be this or that */
        errno = EIO;
        end_if_told(-1);
    }
    if (was_full(got))
        return;
    expect(got, some && job->may_be_full ? (u64)got : length);
    memcpy(model + at, buf, got);
    size = MAX(size, at + (u64)got);
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
    written(pwrite(fd, buf, length, at));
}

static void do_write(void)
{
    choose();
    make_bytes();
    expect(lseek(fd, at, SEEK_SET), at);
    written(write(fd, buf, length));
}

/* Through a descriptor of its own; O_SYNC as often as not. */
static void do_append(void)
{
    at = size;
    length = choose_length(at);
    make_bytes();
    int other = open(job->path, O_WRONLY | O_APPEND | (below(2) ? O_SYNC : 0));
    if (other < 0)
        expect(other, 0);
    written(write(other, buf, length));
    expect_or_told(close(other));
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

/* Truncate, except in a job that may lose writes: if metadata cannot be
 * written, the file system is read-only at once, and data are lost no more. */
static void do_truncate(void)
{
    if (job->may_lose)
        return;
    at = choose_offset();
    length = 0;
    expect(below(2) ? truncate(job->path, at) : ftruncate(fd, at), 0);
    set_size(at);
}

static void do_reopen(void)
{
    expect_or_told(close(fd));
    fd = open(job->path, O_RDWR);
    if (fd < 0)
        expect(fd, 0);
}

static void do_fsync(void)
{
    expect_or_told(fsync(fd));
}

static void do_fdatasync(void)
{
    expect_or_told(fdatasync(fd));
}

static void do_sync(void)
{
    sync_or_tell();
}

static void do_stat(void)
{
    struct stat st;
    expect(below(2) ? stat(job->path, &st) : fstat(fd, &st), 0);
    expect(st.st_size, size);
}

static void do_advise(void)
{
    choose();
    int advice = below(ADVICE_DONTNEED + 1);
    bool whole = advice < ADVICE_WILLNEED; /* it is about the open file */
    expect(advise(fd, whole ? 0 : at, whole ? 0 : length, advice), 0);
}

/* Compare the whole file with the model. */
static void check_all(void)
{
    do_stat();
    for (u64 offset = 0; offset < size; offset += CALL_MAX) {
        u64 n = MIN(CALL_MAX, size - offset);
        expect(pread(fd, buf, n, offset), n);
        compare(offset, n);
    }
    job->told = false;
}

static const struct weighted kinds[] = {
    {"pwrite", do_pwrite, 30}, {"write", do_write, 15},
    {"append", do_append, 5},  {"pread", do_pread, 30},
    {"read", do_read, 15},     {"truncate", do_truncate, 8},
    {"reopen", do_reopen, 4},  {"fsync", do_fsync, 3},
    {"sync", do_sync, 1},      {"stat", do_stat, 4},
    {"advise", do_advise, 5},  {"fdatasync", do_fdatasync, 3},
};

static void operate(void)
{
    const struct weighted *w =
        random_weighted(&job->chance, kinds, NELEM(kinds));
    at = length = 0;
    name = w->name;
    w->act();
    if (job->number % CHECK_EVERY == 0 || job->number == job->operations) {
        name = "comparison";
        check_all();
    }
}

/* Take the options of the command line into `job` and `most`. */
static void read_options(int argc, char **argv)
{
    static const char usage[] =
        "scribble [-flo] [-s SEED] [-n OPERATIONS] [-m BYTES] FILE";
    int c;
    while ((c = options(argc, argv, "flos:n:m:", usage)) > 0) {
        u64 *to = c == 's' ? &job->seed : c == 'n' ? &job->operations : &most;
        job->may_be_full |= c == 'f';
        job->may_lose |= c == 'l';
        job->other_may_lose |= c == 'o';
        if (!strchr("flo", c))
            *to = size_arg(optarg, (char[]){'-', c, 0});
    }
    if (argc - optind != 1 || most == 0)
        usage_exit(usage);
    job->path = argv[optind];
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    job->describe = describe;
    job->chance = random_stream(job->seed, 0, 0);
    model = calloc(most, 1);
    if (!model)
        die("-m %lu", most);
    fd = open(job->path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (was_full(fd)) {
        printf("scribble: no operations on %s, the disk is full\n", job->path);
        return 0;
    }
    if (fd < 0)
        expect(fd, 0);
    for (job->number = 1; job->number <= job->operations; job->number++)
        operate();
    expect_or_told(close(fd));
    if (job->told)
        end_if_told(fd);
    printf("scribble: %lu operations on %s, no difference\n", job->operations,
           job->path);
    return 0;
}
