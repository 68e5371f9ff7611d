/*
 * ioplay: replays an array of requests on a file or disk.
 *
 *   ioplay name=trace requests=/dev/disk2 filename=/data/trace
 *
 * - requests= names a file with the requests, or a disk with the same bytes
 *   (sluice/trace/packed.py makes them). All numbers are little-endian:
 *     16 bytes   "sluice requests\n"
 *     u64        its form, 1
 *     u64        how many requests follow
 *   and of each request, in order of time:
 *     u64        when it is due, in ns after the first moment of the trace
 *     u64        where it begins in filename=, in bytes
 *     u32        bytes, 1 to REQUEST_MAX
 *     u32        0: a read, 1: a write
 *   A disk's image ends with zeros up to a whole sector.
 * - With part= the requests are for several files of that size, one after the
 *   other: PATH0, PATH1, ... A process locks a file's inode during a read or
 *   write, so requests for one file go one after another; those for different
 *   parts are under way at once. At most PARTS_MAX parts, because each is a
 *   descriptor.
 * - Every file is opened once, and all workers share it. The kernel tells
 *   sequential streams apart by the open file, so it sees a stream whichever
 *   workers read it, and can read it ahead.
 * - loop=open starts each request when it is due. Up to inflight= requests are
 *   under way at once, each in a process of its own. One that finds all of
 *   these busy starts as soon as one is free. Its response time counts from
 *   when it was due, and so includes that wait.
 * - loop=closed leaves the times out: inflight= processes each start the next
 *   request when they have done the last. The response time counts from the
 *   start.
 * - The trace begins at a whole second since power-on, so that a drive that
 *   turns is at the same angle then, however long the start took.
 * - Requests start in their order, even those that are due at one moment,
 *   because one worker at a time has the turn. This worker takes the next
 *   request, waits until the request is due, passes the turn on, and starts. In
 *   another order, a stream would not look sequential to the kernel.
 * - A wrong word or a wrong file of requests is reported, and ioplay ends with
 *   status 2 before any I/O. I/Os that fail are counted, and the first is
 *   reported; then the status is 1.
 * - The parent reads all requests into memory, then feeds them through a pipe.
 *   They are best on a disk of their own: from there they are read past the
 *   cache, which stays as it was.
 *
 * At the end it prints a line `ioplay {JSON}`: job; ios (done), reads, writes
 * (of them), bytes, read_blocks and write_blocks (of 4 KiB, that these touch),
 * partial_blocks (of the latter, those written in part, whose other bytes must
 * be read first); errors; start_ns (since power-on), elapsed_ns (to the end of
 * the last I/O); late_ns (the most an I/O started after it was due);
 * response_ns, read_ns and write_ns: {min, max, mean, std, p99}; histogram of
 * response times (user/lib/histogram.h). With log= it writes a line for each
 * request done, in their order: its number from 0 on, when it was due or
 * started in ns after start_ns, and its response time in ns.
 */
#include "user/lib.h"
#include "user/lib/histogram.h"
#include "user/lib/json.h"
#include "user/lib/settings.h"

#define USAGE        "ioplay -h | NAME=VALUE..."
#define MAGIC        "sluice requests\n"
#define FORM         1
#define REQUEST_MAX  (1 << 20) /* bytes */
#define INFLIGHT_MAX 256
#define SECTOR       512
#define BLOCK        4096
#define LATEST_NS    (1UL << 62)
#define PARTS_MAX    48 /* of the 64 descriptors of a process */

enum { OPEN, CLOSED };

struct head {
    char magic[16];
    u64 form, count;
};

struct request {
    u64 time_ns, offset;
    u32 bytes, write;
};
_Static_assert(sizeof(struct head) == 32 && sizeof(struct request) == 24,
               "as in the file");

/* A request on its way to a worker: a power of two, so that the pipe never
 * holds a part of one. */
struct order {
    u64 number, due_ns, offset;
    u32 bytes, write;
};
_Static_assert(sizeof(struct order) == 32, "a power of two");

/* A worker's measurements of a request. */
struct done {
    u64 number, start_ns, response_ns, late_ns;
    u32 bytes, blocks, partial;
    bool write, failed;
};

static struct options {
    const char *name, *requests, *filename, *log_path;
    u64 part_bytes, loop, inflight;
} options_given;
static const struct options *const o = &options_given;

static const struct choice loops[] = {{"open", 0}, {"closed", 0}, {NULL, 0}};

#define ROW(name_, type_, field_, unit_, about_, ...)               \
    {                                                               \
        .name = name_, .type = type_, .unit = unit_,                \
        .field = offsetof(struct options, field_), .about = about_, \
        ##__VA_ARGS__                                               \
    }
static const struct setting rows[] = {
    ROW("name", TEXT, name, "WORD", "name of the job", .standard = "trace"),
    ROW("requests", TEXT, requests, "PATH", "file or disk with the requests",
        .needed = true),
    ROW("filename", TEXT, filename, "PATH", "file or disk that they are for",
        .needed = true),
    ROW("part", SIZE, part_bytes, "BYTES",
        "they are for files PATH0, PATH1, ... of this size", .min = BLOCK,
        .max = 1UL << 40),
    ROW("loop", CHOICE, loop, "LOOP",
        "open: each when it is due; closed: each after another",
        .standard = "open", .choices = loops),
    ROW("inflight", NUMBER, inflight, "REQUESTS", "under way at once, at most",
        .standard = "64", .min = 1, .max = INFLIGHT_MAX),
    ROW("log", TEXT, log_path, "PATH", "write a line for each request there"),
};
static const struct settings table = {rows, NELEM(rows), loops};

static u64 count, largest; /* requests; bytes of the largest */
static bool writes;
static char *written; /* what writes write */
static u64 parts;     /* files; 1 without part= */
static int part_fd[PARTS_MAX], requests_fd;
static int feed_pipe[2], turn_pipe[2], done_pipe[2];

/* ---- the requests ---- */

static void check_request(u64 i, const struct request *r, u64 size, bool device)
{
    static u64 last_ns;
    if (r->bytes == 0 || r->bytes > REQUEST_MAX || r->write > 1)
        refuse("%s: request %lu: %u bytes, direction %u: bytes are 1 to %d, "
               "and the direction is 0 or 1",
               o->requests, i, r->bytes, r->write, REQUEST_MAX);
    if (r->offset > size || r->bytes > size - r->offset)
        refuse("%s: request %lu: ends at %lu, beyond the %lu bytes of %s",
               o->requests, i, r->offset + r->bytes, size, o->filename);
    if (device && (r->offset | r->bytes) % SECTOR != 0)
        refuse("%s: request %lu: %s has sectors of %d bytes", o->requests, i,
               o->filename, SECTOR);
    if (r->time_ns > LATEST_NS || r->time_ns < last_ns)
        refuse("%s: request %lu: is due before the one before it", o->requests,
               i);
    last_ns = r->time_ns;
    largest = MAX(largest, r->bytes);
    writes |= r->write;
}

/* Read the next request, after the last one the first. The buffer has whole
 * sectors. */
static void next_request(struct request *r)
{
    static char buf[64 * SECTOR];
    static u64 at, end, left; /* bytes in the buffer; requests not yet given */
    if (!left) {              /* from the beginning */
        left = count;
        end = 0;
        lseek(requests_fd, 0, SEEK_SET);
        at = sizeof(struct head);
    }
    for (u64 got = 0, n; got < sizeof *r; got += n) {
        if (at >= end) {
            at -= end;
            i64 more = read_all(requests_fd, buf, sizeof buf);
            end = MAX(more, 0);
            if (at >= end)
                refuse("%s: has fewer than %lu requests", o->requests, count);
        }
        n = MIN(sizeof *r - got, end - at);
        memcpy((char *)r + got, buf + at, n);
        at += n;
    }
    left--;
}

static void open_requests(void)
{
    static char buf[SECTOR];
    const struct head *head = (const struct head *)buf;
    requests_fd = open(o->requests, O_RDONLY);
    if (requests_fd < 0)
        refuse("requests=%s: %s", o->requests, strerror(errno));
    if (read(requests_fd, buf, SECTOR) < (i64)sizeof *head ||
        memcmp(head->magic, MAGIC, sizeof head->magic) != 0 ||
        head->form != FORM)
        refuse("%s: has no requests of form %d", o->requests, FORM);
    count = head->count;
    if (!count)
        refuse("%s: has no request", o->requests);
}

/* ---- the files ---- */

/* The path of a part, in a buffer that the next call overwrites. */
static const char *path_of(u64 part)
{
    static char path[PATH_BYTES];
    if (o->part_bytes)
        snprintf(path, sizeof path, "%s%lu", o->filename, part);
    else
        strlcpy(path, o->filename, sizeof path);
    return path;
}

/* Before the workers are forked: they share the open files. */
static void open_parts(void)
{
    for (u64 part = 0; part < parts; part++) {
        part_fd[part] = open(path_of(part), writes ? O_RDWR : O_RDONLY);
        if (part_fd[part] < 0)
            die("filename=%s", path_of(part));
    }
}

/* Settles parts. Returns how many bytes the requests may be for. */
static u64 find_files(bool *device)
{
    struct stat st = {0};
    u64 size = 0;
    do {
        if (stat(path_of(parts), &st) < 0)
            break;
        if (!S_ISREG(st.st_mode) && (o->part_bytes || !S_ISCHR(st.st_mode)))
            refuse("filename=%s: is not a file%s", path_of(parts),
                   o->part_bytes ? "" : " or disk");
        size += st.st_size;
        parts++;
    } while (st.st_size == o->part_bytes);
    if (!parts)
        refuse("filename=%s: %s", path_of(0), strerror(errno));
    if (parts > PARTS_MAX)
        refuse("filename=%s: %lu parts, but %d at most can be open: make "
               "larger files, and part= their size",
               o->filename, parts, PARTS_MAX);
    *device = S_ISCHR(st.st_mode);
    return size;
}

static void check(void)
{
    struct request r;
    bool device = false;
    u64 size = find_files(&device);
    for (u64 i = 0; i < count; i++) {
        next_request(&r);
        check_request(i, &r, size, device);
    }
}

/* All requests, in memory. Only the parent has them: a fork copies memory. */
static struct request *load(void)
{
    struct request *all = xmalloc(count * sizeof *all);
    for (u64 i = 0; i < count; i++)
        next_request(&all[i]);
    close(requests_fd);
    return all;
}

/* ---- a worker ---- */

/* How many blocks the bytes of a request touch: from the first one's number to
 * the last one's. */
static u32 blocks_of(const struct order *r)
{
    return (r->offset + r->bytes - 1) / BLOCK - r->offset / BLOCK + 1;
}

/* How many blocks of a request are partial: the first and the last may be. */
static u32 partial_of(const struct order *r)
{
    bool first = r->offset % BLOCK != 0;
    bool last = (r->offset + r->bytes) % BLOCK != 0;
    return blocks_of(r) == 1 ? first || last : first + last;
}

/* All bytes of a request, part by part. How many were moved, or -1. */
static i64 transfer(const struct order *r, char *buf)
{
    u64 part_bytes = o->part_bytes ? o->part_bytes : ~0UL;
    for (u64 done = 0, n; done < r->bytes; done += n) {
        u64 part = (r->offset + done) / part_bytes;
        u64 at = (r->offset + done) % part_bytes;
        int fd = part_fd[part];
        n = MIN(r->bytes - done, part_bytes - at);
        i64 moved = r->write ? pwrite(fd, written + done, n, at)
                             : pread(fd, buf + done, n, at);
        if (moved != (i64)n)
            return moved < 0 ? moved : (i64)done + moved;
    }
    return r->bytes;
}

/* Wait for the turn, and until the next request is due. False: none is left. */
static bool next_order(struct order *r)
{
    char turn;
    if (read(turn_pipe[0], &turn, 1) != 1)
        return false;
    bool more = read(feed_pipe[0], r, sizeof *r) == sizeof *r;
    for (u64 now_ns; more && (now_ns = gettime(CLOCK_VIRTUAL)) < r->due_ns;)
        sleep(r->due_ns - now_ns);
    return write(turn_pipe[1], &turn, 1) == 1 && more;
}

static struct done do_request(const struct order *r, char *buf)
{
    u64 now_ns = gettime(CLOCK_VIRTUAL);
    i64 n = transfer(r, buf);
    u64 end_ns = gettime(CLOCK_VIRTUAL);
    u64 start_ns = o->loop == OPEN ? r->due_ns : now_ns;
    bool failed = n != (i64)r->bytes;
    if (failed)
        warnx("%s: request %lu: %s", o->name, r->number,
              n < 0 ? strerror(errno) : "not whole");
    return (struct done){.number = r->number,
                         .start_ns = start_ns,
                         .response_ns = end_ns - start_ns,
                         .late_ns = now_ns - start_ns,
                         .bytes = r->bytes,
                         .write = r->write,
                         .blocks = blocks_of(r),
                         .partial = partial_of(r),
                         .failed = failed};
}

static void worker(void) NORETURN;
static void worker(void)
{
    struct order r;
    struct done *done = NULL;
    u64 n = 0, room = 0;
    char *buf = xmalloc(largest);
    while (next_order(&r)) {
        if (n == room) {
            room = MAX(2 * room, 64);
            done = xrealloc(done, room * sizeof *done);
        }
        done[n++] = do_request(&r, buf);
    }
    if (write_all(done_pipe[1], done, n * sizeof *done) < 0)
        die("%s", o->name);
    exit(0);
}

/* ---- the parent ---- */

/* Once, because each worker gets a copy. */
static void fill_written(void)
{
    u64 state = 1, words = ROUND_UP(largest, sizeof state) / sizeof state;
    written = xmalloc(words * sizeof state);
    for (u64 i = 0; i < words; i++)
        ((u64 *)written)[i] = random_u64(&state);
}

static void start_workers(void)
{
    if (pipe(feed_pipe) < 0 || pipe(turn_pipe) < 0 || pipe(done_pipe) < 0)
        die("pipe");
    if (write(turn_pipe[1], "", 1) != 1)
        die("write");
    for (u64 i = 0; i < o->inflight; i++) {
        int pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0) {
            close(feed_pipe[1]);
            close(done_pipe[0]);
            worker();
        }
    }
    close(feed_pipe[0]);
    close(done_pipe[1]);
}

static void feed(const struct request *r, u64 start_ns)
{
    static struct order orders[128];
    u64 n = 0;
    for (u64 i = 0; i < count; i++, r++) {
        orders[n++] = (struct order){
            .number = i,
            .due_ns = start_ns + (o->loop == OPEN ? r->time_ns : 0),
            .offset = r->offset,
            .bytes = r->bytes,
            .write = r->write,
        };
        if (n < NELEM(orders) && i + 1 < count)
            continue;
        if (write_all(feed_pipe[1], orders, n * sizeof *orders) < 0)
            die("%s", o->name);
        n = 0;
    }
    close(feed_pipe[1]);
}

/* The results of all requests. */
static struct sums {
    struct histogram all, part[2]; /* reads and writes */
    u64 bytes, blocks[2], partial[2], errors, late_ns, end_ns;
} sums;

static void add(const struct done *d)
{
    if (d->failed) {
        sums.errors++;
        return;
    }
    histogram_add(&sums.all, d->response_ns);
    histogram_add(&sums.part[d->write], d->response_ns);
    sums.bytes += d->bytes;
    sums.blocks[d->write] += d->blocks;
    sums.partial[d->write] += d->partial;
    sums.late_ns = MAX(sums.late_ns, d->late_ns);
    sums.end_ns = MAX(sums.end_ns, d->start_ns + d->response_ns);
}

/* Collect the results, by the requests' numbers. A request without a result has
 * .failed set. */
static struct done *collect(void)
{
    static struct done some[128];
    struct done *all = xmalloc(count * sizeof *all);
    for (u64 i = 0; i < count; i++)
        all[i] = (struct done){.number = i, .failed = true};
    for (i64 n; (n = read_all(done_pipe[0], some, sizeof some)) > 0;)
        for (u64 i = 0; i < n / sizeof *some; i++)
            all[some[i].number] = some[i];
    while (wait(-1, NULL, 0) >= 0)
        continue;
    for (u64 i = 0; i < count; i++)
        add(&all[i]);
    return all;
}

/* spread: the sum of the squared differences from the mean. */
static void print_times(const char *key, const struct histogram *h)
{
    u64 n = MAX(h->count, 1);
    u128 spread = h->squares - divide((u128)h->sum * h->sum, n);
    printf("\"%s\":{\"min\":%lu,\"max\":%lu,\"mean\":%lu,\"std\":%lu,"
           "\"p99\":%lu},",
           key, h->min, h->max, h->sum / n, square_root(divide(spread, n)),
           histogram_quantile(h, 990));
}

static void print_result(u64 start_ns)
{
    printf("ioplay {\"job\":");
    json_print_string(o->name);
    printf(",\"ios\":%lu,\"reads\":%lu,\"writes\":%lu,\"bytes\":%lu,",
           sums.all.count, sums.part[0].count, sums.part[1].count, sums.bytes);
    printf("\"read_blocks\":%lu,\"write_blocks\":%lu,\"partial_blocks\":%lu,",
           sums.blocks[0], sums.blocks[1], sums.partial[1]);
    printf("\"errors\":%lu,", sums.errors);
    printf("\"start_ns\":%lu,\"elapsed_ns\":%lu,\"late_ns\":%lu,", start_ns,
           MAX(sums.end_ns, start_ns) - start_ns, sums.late_ns);
    print_times("response_ns", &sums.all);
    print_times("read_ns", &sums.part[0]);
    print_times("write_ns", &sums.part[1]);
    printf("\"histogram\":");
    histogram_print_buckets(&sums.all);
    printf("}\n");
}

static void write_log(const struct done *all, u64 start_ns)
{
    FILE *f = fopen(o->log_path, "w");
    if (!f)
        die("log=%s", o->log_path);
    for (u64 i = 0; i < count; i++)
        if (!all[i].failed)
            fprintf(f, "%lu %lu %lu\n", i, all[i].start_ns - start_ns,
                    all[i].response_ns);
    if (fclose(f) != 0)
        die("log=%s", o->log_path);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        printf("usage: %s\n", USAGE);
        settings_help(&table);
        return 0;
    }
    if (argc < 2)
        usage_exit(USAGE);
    settings_default(&table, &options_given);
    u64 given = settings_apply(&table, &options_given, argv + 1, (u32)argc - 1);
    settings_check(&table, given, &loops[o->loop], "ioplay");
    open_requests();
    check();
    open_parts();
    fill_written();
    start_workers();
    const struct request *all_requests = load();
    u64 second = gettime(CLOCK_VIRTUAL) / NS_PER_S + 1;
    u64 start_ns = second * NS_PER_S;
    feed(all_requests, start_ns);
    const struct done *all = collect();
    print_result(start_ns);
    if (o->log_path)
        write_log(all, start_ns);
    return sums.errors != 0;
}
