/* Runs the tests, and looks for what each of them leaks. */
#include "user/usertests/usertests.h"

#define LEAKED (-1) /* instead of a status: it passed, but leaked */
#define HOME   "/usertests.dir"

const char *current;
char buf[65536], buf2[65536];

/* The resources that a test must have given back when it has ended. */
enum { MEMORY, FILES, INODES, BUFFERS, BLOCKS, FILE_INODES, KINDS };
static const char *const kind_names[KINDS] = {
    "pages of memory", "open files",     "inodes in memory",
    "buffers held",    "blocks of disk", "inodes of disk",
};
struct in_use {
    i64 count[KINDS];
};

static struct in_use take_stock(void)
{
    struct statfs disk = space();
    OK(sync());
    return (struct in_use){{
        -gauge("mem.free") - gauge("mem.kstacks"),
        gauge("file.open"),
        gauge("ext2.inodes"),
        gauge("bio.busy"),
        -(i64)disk.free_blocks,
        -(i64)disk.free_inodes,
    }};
}

/* The first kind of which more is in use after than before, or -1. */
static int leaked(const struct in_use *before, const struct in_use *after)
{
    for (int i = 0; i < KINDS; i++)
        if (after->count[i] > before->count[i])
            return i;
    return -1;
}

/* Run a test in a process and a directory of its own; its status. */
static int run_once(const struct test *t)
{
    OK(mkdir(HOME, 0755));
    OK(chdir(HOME));
    int status, pid = OK(fork());
    if (pid == 0) {
        t->run();
        _exit(0);
    }
    OK(wait(pid, &status, 0));
    OK(chdir("/"));
    umount(HOME "/m", false); /* a failed test may have left it */
    remove_tree(HOME);
    TRUE(!exists(HOME));
    return status;
}

/* Run a test, and once more if it seems to leak, because the first run may
 * have filled a cache. Its status, or LEAKED. */
static int judge(const struct test *t, char *what, u64 n)
{
    for (int run = 0;; run++) {
        struct in_use before = take_stock();
        int status = run_once(t);
        struct in_use after = take_stock();
        int kind = leaked(&before, &after);
        if (status != 0 || kind < 0)
            return status;
        snprintf(what, n, "%ld %s", after.count[kind] - before.count[kind],
                 kind_names[kind]);
        if (run == 1)
            return LEAKED;
    }
}

/* Run a test and print its line, unless the test has printed its failure. */
static int run_test(const struct test *t)
{
    char what[100];
    int status = judge(t, what, sizeof what);
    if (status == 0)
        printf("ok %s\n", t->name);
    else if (status == SKIPPED)
        printf("skip %s: there is no disk1\n", t->name);
    else if (status == LEAKED)
        printf("FAIL %s: expected no leak, got %s\n", t->name, what);
    else if (status == WKILLED)
        printf("FAIL %s: expected to end, got killed\n", t->name);
    else if (status != SAID)
        printf("FAIL %s: expected status 0, got %d\n", t->name, status);
    fflush(stdout);
    return status;
}

static const struct test *test_named(const char *name)
{
    for (const struct test *t = __start_tests; t < __stop_tests; t++)
        if (!strcmp(t->name, name))
            return t;
    warnx("no test %s; -l lists them", name);
    exit(2);
}

static const char how_to_give_disk1[] =
    "Skipped tests need a second disk, to which they write. On the host, in "
    "the\n"
    "project's folder:\n"
    "  build/mkfs/mkfs -s 32M build/disk1.img\n"
    "  make qemu DISKS=build/disk1.img\n";

static int run_all(const struct test **tests, int n)
{
    int passed = 0, skipped = 0;
    remove_tree(HOME); /* of a run that was cut off */
    for (int i = 0; i < n; i++) {
        current = tests[i]->name;
        int status = run_test(tests[i]);
        passed += status == 0;
        skipped += status == SKIPPED;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, n - passed - skipped,
           skipped);
    if (skipped > 0)
        printf("%s", how_to_give_disk1);
    return passed + skipped < n;
}

int main(int argc, char **argv)
{
    const char *usage = "usertests [-l] [NAME]...: test the kernel from inside";
    int n = __stop_tests - __start_tests, all = n;
    bool list = false;
    for (int c; (c = options(argc, argv, "l", usage)) != -1;)
        list = c == 'l';
    const struct test **tests = xmalloc((n + argc) * sizeof *tests);
    for (int i = 0; i < n; i++)
        tests[i] = &__start_tests[i];
    if (optind < argc)
        n = argc - optind;
    for (int i = 0; optind + i < argc; i++)
        tests[i] = test_named(argv[optind + i]);
    for (int i = 0; list && i < all; i++)
        puts(__start_tests[i].name);
    return list ? 0 : run_all(tests, n);
}
