/*
 * Calls with random arguments, drawn by a seed. Each must return a result or an
 * existing error number, and the kernel must survive.
 *
 * - An argument is valid, at the edge of validity, or invalid.
 *   A call whose path or structure is at a bad address must fail; one with a
 *   bad buffer must move no byte.
 * - The seed is in /seed, or 1. `sluice dev fuzz arguments` gives others.
 * - No call is drawn that could wait for ever, end the machine, kill another
 *   process, or change anything outside the test's directory.
 */
#include "user/usertests/usertests.h"

#define PROCESSES 6
#define CALLS     600 /* of each */
#define ARGUMENTS 5
#define FDS       8  /* that are open at first */
#define CONSOLE   63 /* is never drawn: a read of it would wait */

/* A call and what its arguments are: P path, S structure, B buffer, N length,
 * F descriptor, f invalid descriptor, V any number, W a number that is too
 * large or negative, T a short time, G flags or a mode. */
static const struct any_call {
    u64 number;
    const char *kinds;
} calls[] = {
    {SYS_wait, "VSV"},    {SYS_exec, "PS"},        {SYS_kill, "W"},
    {SYS_getpid, ""},     {SYS_getppid, ""},       {SYS_setpgrp, "VV"},
    {SYS_sbrk, "V"},      {SYS_sleep, "T"},        {SYS_gettime, "V"},
    {SYS_rusage, "VS"},   {SYS_poweroff, "WV"},    {SYS_open, "PGG"},
    {SYS_close, "F"},     {SYS_read, "FBN"},       {SYS_write, "FBN"},
    {SYS_lseek, "FVV"},   {SYS_pread, "FBNV"},     {SYS_pwrite, "FBNV"},
    {SYS_dup, "F"},       {SYS_dup2, "FF"},        {SYS_ioctl, "FVV"},
    {SYS_fstat, "FS"},    {SYS_stat, "PS"},        {SYS_lstat, "PS"},
    {SYS_statfs, "PS"},   {SYS_getdents, "FBN"},   {SYS_link, "PP"},
    {SYS_symlink, "PP"},  {SYS_readlink, "PBN"},   {SYS_unlink, "P"},
    {SYS_mkdir, "PG"},    {SYS_rmdir, "P"},        {SYS_mknod, "PGW"},
    {SYS_rename, "PP"},   {SYS_chmod, "PG"},       {SYS_utime, "PVV"},
    {SYS_truncate, "PV"}, {SYS_ftruncate, "FV"},   {SYS_chdir, "P"},
    {SYS_getcwd, "BN"},   {SYS_mount, "PPG"},      {SYS_umount, "P"},
    {SYS_sync, ""},       {SYS_fsync, "F"},        {SYS_smoothsync, "V"},
    {SYS_advise, "FVVV"}, {SYS_charge, "W"},       {SYS_socket, "VV"},
    {SYS_sendto, "FBNS"}, {SYS_recvfrom, "FBNST"}, {SYS_nfssvc, "fP"},
    {SYS_fdatasync, "F"},
};

/* Nothing leads to `before`: its bytes stay. */
static struct {
    char before[PAGE], at[4 * PAGE];
} memory;

static const u64 edges[] = {
    0,         1,           2,         7,         511,
    512,       4096,        65535,     65536,     1UL << 20,
    1UL << 31, ~0U,         1UL << 32, 1UL << 44, (1UL << 63) - 1,
    1UL << 63, ~0UL - 4095, ~0UL - 1,  ~0UL};
static const u64 too_large[] = {1UL << 33, 1UL << 44,  (1UL << 63) - 1,
                                1UL << 63, ~0UL << 34, ~0UL << 44};
static const char *const paths[] = {
    "a",
    "b",
    "d",
    "d/a",
    "d/b",
    "link",
    "",
    ".",
    "./",
    "./a",
    "a/b",
    "none/x",
    "a-name-that-is-not-short-but-may-be-used-in-any-directory",
    "d//a",
    "d/"};

struct drawn {
    const struct any_call *call;
    u64 args[ARGUMENTS];
    bool bad_path, bad_struct, bad_buffer, bad_fd;
};

#define PICK(array, chance) ((array)[random_u64(chance) % NELEM(array)])

/* An address that is not the program's, or not to be written. */
static u64 bad_address(u64 *chance)
{
    return PICK(bad_addresses, chance);
}

/* A path: a good one, one without an end, one too long, or none. */
static u64 any_path(u64 *chance, bool *bad)
{
    u64 how = random_u64(chance) % 16;
    *bad = how < 3;
    if (*bad)
        return bad_address(chance);
    if (how > 5)
        return (u64)PICK(paths, chance);
    memset(memory.at, how == 3 ? 'x' : '/', sizeof memory.at);
    memory.at[0] = 'a';
    memory.at[how == 5 ? 300 : sizeof memory.at - 1] = 0;
    return (u64)memory.at;
}

static u64 any_address(u64 *chance, bool *bad)
{
    u64 how = random_u64(chance) % 8;
    *bad = how < 3;
    if (*bad)
        return bad_address(chance);
    return (u64)memory.at + (how == 3 ? random_u64(chance) % 4096 : 0);
}

static u64 any_fd(u64 *chance)
{
    u64 how = random_u64(chance) % 8;
    return how ? random_u64(chance) % (2 * FDS) : PICK(edges, chance);
}

static u64 any_argument(char kind, u64 *chance, struct drawn *d)
{
    bool bad = false;
    u64 value = 0;
    switch (kind) {
    case 'P':
        value = any_path(chance, &bad);
        d->bad_path |= bad;
        return value;
    case 'S':
        value = any_address(chance, &bad);
        d->bad_struct |= bad;
        return value;
    case 'B':
        return any_address(chance, &d->bad_buffer);
    case 'F':
        return any_fd(chance);
    case 'f':
        d->bad_fd = true;
        return MAX_FDS + random_u64(chance) % 1000;
    case 'W':
        return PICK(too_large, chance);
    case 'T':
        return 1 + random_u64(chance) % 1000;
    case 'G':
        return random_u64(chance) >> random_u64(chance) % 64;
    }
    return random_u64(chance) % 4 ? PICK(edges, chance) : random_u64(chance);
}

static struct drawn draw(u64 *chance)
{
    struct drawn d = {.call = &PICK(calls, chance)};
    for (u32 i = 0; d.call->kinds[i]; i++)
        d.args[i] = any_argument(d.call->kinds[i], chance, &d);
    return d;
}

/* True if this is the number of an error. */
static bool is_error(i64 number)
{
    switch (number) {
#define E(name, n, words) case n:
        ERRORS(E)
#undef E
        return true;
    }
    return false;
}

static i64 do_call(const struct drawn *d)
{
    register u64 a0 asm("a0") = d->args[0];
    register u64 a1 asm("a1") = d->args[1];
    register u64 a2 asm("a2") = d->args[2];
    register u64 a3 asm("a3") = d->args[3];
    register u64 a4 asm("a4") = d->args[4];
    register u64 a7 asm("a7") = d->call->number;
    asm volatile("ecall"
                 : "+r"(a0)
                 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7)
                 : "memory");
    return a0;
}

/* Return what is wrong with a call's result, or NULL. */
static const char *wrong(const struct drawn *d, i64 result)
{
    if (result < 0 && !is_error(-result))
        return "an error that there is";
    if (result >= 0 && (d->bad_path || d->bad_struct || d->bad_fd))
        return "an error, as an argument is bad";
    if (result > 0 && d->bad_buffer)
        return "no byte moved, as the buffer is bad";
    return is_zero(memory.before, PAGE) ? NULL : "no byte of another page";
}

/* Open something of each kind. An earlier process may have left something of
 * another kind under these names. No call can wait for a pipe. */
static void open_some(void)
{
    int reading[2], writing[2];
    OK(dup2(1, CONSOLE));
    for (int fd = 0; fd < CONSOLE; fd++)
        close(fd);
    pipe(reading);
    pipe(writing);
    close(reading[1]);
    close(writing[0]);
    open("a", O_RDWR | O_CREAT, 0644);
    open("b", O_WRONLY | O_CREAT | O_APPEND | O_SYNC, 0644);
    open(".", O_RDONLY | O_DIRECTORY);
    open("/dev/zero", O_RDONLY); /* what is written there is not read */
    open("/dev/stat", O_RDONLY);
}

static void calls_anything(u64 seed)
{
    u64 chance = seed;
    open_some();
    for (u32 i = 0; i < CALLS; i++) {
        struct drawn d = draw(&chance);
        const u64 *a = d.args;
        i64 result = do_call(&d);
        const char *expected = wrong(&d, result);
        if (!expected)
            continue;
        dup2(CONSOLE, 1);
        fail(__LINE__,
             "seed %lu: expected %s, got %ld from call %lu(%lx, %lx, %lx, "
             "%lx, %lx)",
             seed, expected, result, d.call->number, a[0], a[1], a[2], a[3],
             a[4]);
    }
}

static u64 given_seed(void)
{
    char text[32] = "";
    i64 seed = 1;
    if (exists("/seed"))
        read_device("/seed", text, sizeof text);
    return *text && parse_i64(text, &seed) ? seed : 1;
}

TEST(calls_with_any_arguments_end_or_fail)
{
    u64 seed = given_seed();
    mkdir("d", 0755);
    symlink("a", "link");
    for (u64 i = 0; i < PROCESSES; i++)
        JOIN(SPAWN(calls_anything, seed * PROCESSES + i));
}
