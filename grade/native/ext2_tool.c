/*
 * Drives the kernel's ext2 on disk images, on the host, under ASan and UBSan.
 *
 *   ext2_tool [option=number ...] IMAGE [IMAGE2] < commands
 *
 * Options are those of struct shim_options, by name, and save=0 (leave the
 * images as they were). IMAGE is mounted as root, IMAGE2 is disk1. Commands
 * are lines of words, see the table below; a command that fails prints
 * "command: -errno" and the next one is done. The exit status is 1 if a
 * comparison failed; a broken invariant aborts. The images are written back
 * after the shutdown at the end, if `crash` was not among the commands.
 *
 * link: kernel/ext2_alloc.c kernel/ext2_dir.c kernel/ext2_file.c
 * link: kernel/ext2_inode.c kernel/ext2_map.c kernel/ext2_name.c
 * link: kernel/ext2_super.c grade/native/ext2_shim.c
 * link: grade/native/ext2_model.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grade/native/ext2_model.h"
#include "grade/native/ext2_shim.h"
#include "kernel/proc.h"

#define WORDS 8

static struct disk *disk0, *disk1;
static bool failed, crashed;
static u64 save_images = 1;

/* The byte at an offset of a file made with a seed. */
static u8 pattern(u64 seed, u64 at)
{
    return (at ^ at >> 8 ^ seed * 31 ^ at / 1000 * seed) & 0xff;
}

static u64 number(const char *word)
{
    return word ? strtoull(word, NULL, 0) : 0;
}

/* ---- commands ---- */

static int open_locked(const char *path, bool create, struct inode **ip)
{
    int error =
        create ? ext2_create(path, 0644, false, ip) : namei(path, 0, ip);
    if (error)
        return error;
    ilock(*ip);
    error = ivalid(*ip);
    if (error) {
        iunlock(*ip);
        iput(*ip);
    }
    return error;
}

static void close_locked(struct inode *ip)
{
    iunlock(ip);
    iput(ip);
}

static int write_at(const char *path, u64 offset, u64 size, u64 seed)
{
    struct inode *ip;
    int error = open_locked(path, true, &ip);
    if (error)
        return error;
    u8 *data = malloc(size + 1);
    for (u64 i = 0; i < size; i++)
        data[i] = pattern(seed, offset + i);
    struct uio u = {
        .addr = (u64)data, .left = size, .offset = offset, .write = true};
    error = ext2_write(ip, &u);
    free(data);
    close_locked(ip);
    return error;
}

static int cmd_write(char **w)
{
    struct inode *ip;
    int error = open_locked(w[1], true, &ip);
    if (error)
        return error;
    error = ext2_truncate(ip, 0);
    close_locked(ip);
    return error ? error : write_at(w[1], 0, number(w[2]), number(w[3]));
}

static int cmd_pwrite(char **w)
{
    return write_at(w[1], number(w[2]), number(w[3]), number(w[4]));
}

static int cmd_append(char **w)
{
    struct inode *ip;
    int error = open_locked(w[1], true, &ip);
    if (error)
        return error;
    u64 size = ip->size;
    close_locked(ip);
    return write_at(w[1], size, number(w[2]), number(w[3]));
}

/* verify PATH OFFSET SIZE SEED: the pattern; seed "zero": zeros */
static int cmd_verify(char **w)
{
    struct inode *ip;
    u64 offset = number(w[2]), size = number(w[3]), seed = number(w[4]);
    bool zero = strcmp(w[4], "zero") == 0;
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    u8 *data = malloc(size + 1);
    struct streams streams = {0};
    struct uio u = {.addr = (u64)data, .left = size, .offset = offset};
    error = ext2_read(ip, &u, &streams);
    close_locked(ip);
    bool same = !error && u.left == 0;
    for (u64 i = 0; same && i < size; i++)
        same = data[i] == (zero ? 0 : pattern(seed, offset + i));
    free(data);
    if (!same) {
        printf("verify %s: differs\n", w[1]);
        failed = true;
    }
    return error;
}

static int cmd_get(char **w)
{
    struct inode *ip;
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    FILE *f = fopen(w[2], "wb");
    struct uio u = {0};
    static u8 data[65536];
    do {
        u.addr = (u64)data;
        u.left = sizeof(data);
        error = ext2_read(ip, &u, NULL);
        fwrite(data, 1, sizeof(data) - u.left, f);
    } while (!error && u.left == 0);
    fclose(f);
    close_locked(ip);
    return error;
}

static int cmd_put(char **w)
{
    struct inode *ip;
    static u8 data[65536];
    int error = open_locked(w[2], true, &ip);
    if (error)
        return error;
    FILE *f = fopen(w[1], "rb");
    struct uio u = {.write = true};
    size_t n;
    while (!error && (n = fread(data, 1, sizeof(data), f)) > 0) {
        u.addr = (u64)data;
        u.left = n;
        error = ext2_write(ip, &u);
    }
    fclose(f);
    close_locked(ip);
    return error;
}

static int cmd_create(char **w)
{
    struct inode *ip;
    int error = ext2_create(w[1], 0644, w[2] != NULL, &ip);
    if (!error)
        iput(ip);
    return error;
}

/* many DIR N PREFIX: create N empty files */
static int cmd_many(char **w)
{
    char path[PATH_BYTES];
    struct inode *ip;
    int error = 0;
    for (u64 i = 0; !error && i < number(w[2]); i++) {
        snprintf(path, sizeof(path), "%s/%s%lu", w[1], w[3], i);
        error = ext2_create(path, 0644, true, &ip);
        if (!error)
            iput(ip);
    }
    return error;
}

static int cmd_rmmany(char **w)
{
    char path[PATH_BYTES];
    int error = 0;
    for (u64 i = 0; !error && i < number(w[2]); i++) {
        snprintf(path, sizeof(path), "%s/%s%lu", w[1], w[3], i);
        error = ext2_unlink(path);
    }
    return error;
}

static int cmd_rm(char **w)
{
    return ext2_unlink(w[1]);
}

static int cmd_rmdir(char **w)
{
    return ext2_rmdir(w[1]);
}

static int cmd_mkdir(char **w)
{
    return ext2_mkdir(w[1], 0755);
}

static int cmd_mv(char **w)
{
    return ext2_rename(w[1], w[2]);
}

static int cmd_ln(char **w)
{
    return ext2_link(w[1], w[2]);
}

static int cmd_symlink(char **w)
{
    return ext2_symlink(w[1], w[2]);
}

static int cmd_mknod(char **w)
{
    return ext2_mknod(w[1], S_IFCHR | 0666, number(w[2]));
}

static int cmd_truncate(char **w)
{
    struct inode *ip;
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    error = ext2_truncate(ip, number(w[2]));
    close_locked(ip);
    return error;
}

static int cmd_chmod(char **w)
{
    struct inode *ip;
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    error = ext2_chmod(ip, strtoul(w[2], NULL, 8));
    if (!error)
        error = ext2_utime(ip, 1000000000, 1100000000);
    close_locked(ip);
    return error;
}

static int cmd_fsync(char **w)
{
    struct inode *ip;
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    error = ext2_fsync(ip);
    close_locked(ip);
    return error;
}

static int cmd_sync(char **w)
{
    (void)w;
    return ext2_sync();
}

static int cmd_stat(char **w)
{
    struct inode *ip;
    struct stat st;
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    ext2_stat(ip, &st);
    close_locked(ip);
    printf("%s: ino %u mode %o nlink %u rdev %u size %lu blocks %lu dev %u\n",
           w[1], st.st_ino, st.st_mode, st.st_nlink, st.st_rdev, st.st_size,
           st.st_blocks, st.st_dev);
    return 0;
}

static int cmd_statfs(char **w)
{
    struct inode *ip;
    struct statfs s;
    int error = namei(w[1], 0, &ip);
    if (error)
        return error;
    ext2_statfs(ip, &s);
    iput(ip);
    printf("%s: size %u ro %u blocks %lu free %lu inodes %lu free %lu\n",
           s.disk, s.block_size, s.read_only, s.blocks, s.free_blocks, s.inodes,
           s.free_inodes);
    return 0;
}

static int cmd_ls(char **w)
{
    struct inode *ip;
    char buf[4096];
    int error = open_locked(w[1], false, &ip);
    if (error)
        return error;
    struct uio u = {0};
    do {
        u.addr = (u64)buf;
        u.left = sizeof(buf);
        error = ext2_getdents(ip, &u);
        for (u64 at = 0; at < sizeof(buf) - u.left;) {
            struct dirent *d = (void *)(buf + at);
            printf("%u %u %s\n", d->ino, d->type, d->name);
            at += d->length;
        }
    } while (!error && u.left < sizeof(buf));
    close_locked(ip);
    return error;
}

static int cmd_readlink(char **w)
{
    struct inode *ip;
    char text[PATH_BYTES] = "";
    int error = namei(w[1], NAMEI_NOFOLLOW, &ip);
    if (error)
        return error;
    ilock(ip);
    struct uio u = {.addr = (u64)text, .left = sizeof(text) - 1};
    error = ivalid(ip);
    if (!error)
        error = ext2_readlink(ip, &u);
    close_locked(ip);
    printf("%s\n", text);
    return error;
}

static int cmd_cd(char **w)
{
    struct inode *ip;
    int error = namei(w[1], 0, &ip);
    if (error)
        return error;
    if (myproc()->cwd)
        iput(myproc()->cwd);
    myproc()->cwd = ip;
    return 0;
}

static int cmd_pwd(char **w)
{
    char path[PATH_BYTES];
    (void)w;
    int n = ext2_path(myproc()->cwd, path, sizeof(path));
    if (n > 0)
        printf("%s\n", path);
    return n < 0 ? n : 0;
}

/* Files held open across other commands. */
static struct inode *held[16];

static int cmd_hold(char **w)
{
    return namei(w[2], 0, &held[number(w[1]) % NELEM(held)]);
}

static int cmd_release(char **w)
{
    struct inode **ip = &held[number(w[1]) % NELEM(held)];
    if (*ip)
        iput(*ip);
    *ip = NULL;
    return 0;
}

/* grow N SIZE SEED: write to a file that is held */
static int cmd_grow(char **w)
{
    struct inode *ip = held[number(w[1]) % NELEM(held)];
    u64 size = number(w[2]);
    u8 *data = calloc(1, size);
    struct uio u = {.addr = (u64)data, .left = size, .write = true};
    ilock(ip);
    u.offset = ip->size;
    int error = ext2_write(ip, &u);
    iunlock(ip);
    free(data);
    return error;
}

static int cmd_mount(char **w)
{
    struct inode *ip;
    int error = namei(w[1], 0, &ip);
    if (error)
        return error;
    error = ext2_mount(disk1, ip, w[2] ? MS_RDONLY : 0);
    if (error)
        iput(ip);
    return error;
}

static int cmd_umount(char **w)
{
    struct inode *ip;
    int error = namei(w[1], 0, &ip);
    if (error)
        return error;
    error = ext2_umount(ip);
    if (error)
        iput(ip);
    return error;
}

static int cmd_mounts(char **w)
{
    char path[PATH_BYTES];
    struct disk *d;
    bool ro;
    (void)w;
    for (u32 i = 0; ext2_mount_row(i, path, sizeof(path), &d, &ro); i++)
        printf("%s %s %s\n", d->name, path, ro ? "ro" : "rw");
    return 0;
}

static int cmd_inuse(char **w)
{
    (void)w;
    printf("%lu inodes in use\n", ext2_inodes_in_use());
    return 0;
}

static int cmd_writes(char **w)
{
    (void)w;
    printf("%lu synchronous writes\n", shim_writes_waited());
    return 0;
}

/* random N MAX_FILE_BYTES DIR MOVE_DIRECTORIES FACTS */
static int cmd_random(char **w)
{
    struct model_options o = {
        .max_file_bytes = w[2] ? number(w[2]) : 400000,
        .dir = w[2] && w[3] && strcmp(w[3], "/") ? w[3] : "",
        .move_directories = !w[2] || !w[3] || !w[4] || number(w[4]),
        .facts = w[2] && w[3] && w[4] ? w[5] : NULL,
    };
    model_run(&o, number(w[1]));
    return 0;
}

/* cuts N DIR: images DIR/cut.K after the first K writes, for N Ks */
static int cmd_cuts(char **w)
{
    char name[PATH_BYTES];
    for (u64 i = 0; i < number(w[1]); i++) {
        u64 k = shim_random(shim_log_length() + 1);
        snprintf(name, sizeof(name), "%s/cut.%lu", w[2], k);
        shim_save_prefix(disk0, name, k);
    }
    return 0;
}

static int cmd_facts(char **w)
{
    failed |= model_check_facts(w[1], number(w[2])) > 0;
    return 0;
}

static int cmd_crash(char **w)
{
    (void)w;
    crashed = true;
    return 0;
}

/* ---- abuse: whatever can be done with a damaged disk ---- */

static void abuse(const char *path, u32 depth, u32 *budget);

static void abuse_file(struct inode *ip)
{
    static u8 data[16384];
    u64 at = 0;
    for (u32 i = 0; i < 40; i++, at += sizeof(data)) {
        struct uio u = {.addr = (u64)data, .left = sizeof(data), .offset = at};
        ext2_read(ip, &u, NULL);
    }
    struct uio end = {.addr = (u64)data,
                      .left = 5000,
                      .offset = ip->size > 5000 ? ip->size - 5000 : 0};
    ext2_read(ip, &end, NULL);
    u32 choice = shim_random(4);
    struct uio u = {.addr = (u64)data, .left = 7000, .write = true};
    u.offset = shim_random(2) ? shim_random(300000) : ip->size;
    if (choice == 0)
        ext2_write(ip, &u);
    else if (choice == 1)
        ext2_truncate(ip, shim_random(ip->size + 1));
    else if (choice == 2)
        ext2_fsync(ip);
}

static void abuse_names(const char *dir, u32 *budget)
{
    char path[PATH_BYTES], other[PATH_BYTES + 8];
    u64 place = 0;
    for (u32 rounds = 0; rounds < 60; rounds++) {
        char buf[2048];
        struct inode *ip;
        struct uio u = {.addr = (u64)buf, .left = sizeof(buf), .offset = place};
        if (open_locked(dir, false, &ip))
            return;
        int error = ext2_getdents(ip, &u);
        close_locked(ip);
        if (error || u.left == sizeof(buf))
            return;
        place = u.offset;
        for (u64 at = 0; at < sizeof(buf) - u.left;) {
            struct dirent *d = (void *)(buf + at);
            at += d->length;
            if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0 ||
                strlen(dir) + d->name_len > PATH_BYTES - 10 || *budget == 0)
                continue;
            --*budget;
            snprintf(path, sizeof(path), "%.700s/%.255s", dir, d->name);
            snprintf(other, sizeof(other), "%s.x", path);
            abuse(path, strlen(path), budget);
            switch (shim_random(8)) {
            case 0:
                ext2_unlink(path);
                break;
            case 1:
                ext2_rmdir(path);
                break;
            case 2:
                ext2_rename(path, other);
                break;
            case 3:
                ext2_link(path, other);
                break;
            case 4:
                ext2_rename(path, "/moved");
                break;
            case 5:
                ext2_rename("/moved", path);
                break;
            }
        }
    }
}

static void abuse(const char *path, u32 depth, u32 *budget)
{
    struct inode *ip;
    char text[PATH_BYTES];
    if (namei(path, NAMEI_NOFOLLOW, &ip))
        return;
    ilock(ip);
    bool dir = ivalid(ip) == 0 && S_ISDIR(ip->mode);
    if (ivalid(ip) == 0 && S_ISREG(ip->mode))
        abuse_file(ip);
    struct uio u = {.addr = (u64)text, .left = sizeof(text)};
    if (ivalid(ip) == 0 && S_ISLNK(ip->mode))
        ext2_readlink(ip, &u);
    iunlock(ip);
    ext2_path(ip, text, sizeof(text));
    iput(ip);
    if (namei(path, 0, &ip) == 0)
        iput(ip);
    if (!dir || depth > 600)
        return;
    abuse_names(path, budget);
    snprintf(text, sizeof(text), "%.700s/new", path);
    ext2_mkdir(text, 0755);
    snprintf(text, sizeof(text), "%.700s/file%lu", path, shim_random(100));
    write_at(text, 0, shim_random(30000), 1);
    snprintf(text, sizeof(text), "%.700s/link", path);
    ext2_symlink("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/0/1/2",
                 text);
}

static int cmd_abuse(char **w)
{
    u32 budget = w[1] ? number(w[1]) : 500;
    abuse("/.", 0, &budget);
    shim_check_idle("after the abuse");
    ext2_sync();
    return 0;
}

/* ---- several processes ---- */

static u64 steps_each;

/* Paths chosen from few, so that processes meet. */
static void any_path(char *path)
{
    int n = 0;
    for (u32 depth = 1 + shim_random(shim_random(4) ? 2 : 3); depth; depth--)
        n += sprintf(path + n, "/%c", (char)('a' + shim_random(3)));
}

static void busy_process(u32 i)
{
    char a[40], b[40], text[PATH_BYTES];
    struct inode *ip;
    for (u64 n = 0; n < steps_each; n++) {
        any_path(a);
        any_path(b);
        switch (shim_random(12)) {
        case 0:
        case 1:
            ext2_mkdir(a, 0755);
            break;
        case 2:
            ext2_rmdir(a);
            break;
        case 3:
        case 4:
            ext2_rename(a, b);
            break;
        case 5:
            ext2_unlink(a);
            break;
        case 6:
            ext2_link(a, b);
            break;
        case 7:
            write_at(a, shim_random(20000), shim_random(9000), i);
            break;
        case 8:
            ext2_sync();
            break;
        case 9:
            if (namei(a, 0, &ip) == 0) {
                ext2_path(ip, text, sizeof(text));
                iput(ip);
            }
            break;
        case 10:
            if (open_locked(a, false, &ip) == 0) {
                ext2_truncate(ip, shim_random(30000));
                ext2_fsync(ip);
                close_locked(ip);
            }
            break;
        case 11:
            ext2_symlink(b, a);
            break;
        }
        shim_check_idle("after a step");
    }
}

/* processes N STEPS */
static int cmd_processes(char **w)
{
    steps_each = number(w[2]);
    shim_fibres(number(w[1]), busy_process);
    return 0;
}

/* ---- the program ---- */

static const struct command {
    const char *name;
    u32 words; /* least, with the name */
    int (*run)(char **words);
} commands[] = {
    {"abuse", 1, cmd_abuse},
    {"append", 4, cmd_append},
    {"cd", 2, cmd_cd},
    {"chmod", 3, cmd_chmod},
    {"crash", 1, cmd_crash},
    {"create", 2, cmd_create},
    {"cuts", 3, cmd_cuts},
    {"facts", 3, cmd_facts},
    {"fsync", 2, cmd_fsync},
    {"get", 3, cmd_get},
    {"grow", 3, cmd_grow},
    {"hold", 3, cmd_hold},
    {"inuse", 1, cmd_inuse},
    {"ln", 3, cmd_ln},
    {"ls", 2, cmd_ls},
    {"many", 4, cmd_many},
    {"mkdir", 2, cmd_mkdir},
    {"mknod", 3, cmd_mknod},
    {"mount", 2, cmd_mount},
    {"mounts", 1, cmd_mounts},
    {"mv", 3, cmd_mv},
    {"processes", 3, cmd_processes},
    {"put", 3, cmd_put},
    {"pwd", 1, cmd_pwd},
    {"pwrite", 5, cmd_pwrite},
    {"random", 2, cmd_random},
    {"readlink", 2, cmd_readlink},
    {"release", 2, cmd_release},
    {"rm", 2, cmd_rm},
    {"rmdir", 2, cmd_rmdir},
    {"rmmany", 4, cmd_rmmany},
    {"stat", 2, cmd_stat},
    {"statfs", 2, cmd_statfs},
    {"symlink", 3, cmd_symlink},
    {"sync", 1, cmd_sync},
    {"truncate", 3, cmd_truncate},
    {"umount", 2, cmd_umount},
    {"verify", 5, cmd_verify},
    {"write", 4, cmd_write},
    {"writes", 1, cmd_writes},
};

static void run_line(char *line)
{
    char *words[WORDS + 1] = {0}, *save = NULL;
    u32 n = 0;
    for (char *w = strtok_r(line, " \n", &save); w && n < WORDS;
         w = strtok_r(NULL, " \n", &save))
        words[n++] = w;
    for (u32 i = 0; n && i < NELEM(commands); i++) {
        if (strcmp(words[0], commands[i].name) || n < commands[i].words)
            continue;
        int error = commands[i].run(words);
        if (error)
            printf("%s: %d\n", words[0], error);
        shim_check_idle(words[0]);
        return;
    }
    if (n)
        panic("no command %s with %u words", words[0], n);
}

static bool option(const char *word)
{
    static const struct {
        const char *name;
        u32 *value;
    } numbers[] = {
        {"block", &shim.block_bytes},
        {"buffers", &shim.buffers},
        {"far", &shim.far},
        {"flush", &shim.flush_permille},
        {"read_errors", &shim.read_errors_permyriad},
        {"write_errors", &shim.write_errors_permyriad},
    };
    const char *value = strchr(word, '=');
    if (!value++)
        return false;
    for (u32 i = 0; i < NELEM(numbers); i++)
        if (strncmp(word, numbers[i].name, value - word - 1) == 0) {
            *numbers[i].value = number(value);
            return true;
        }
    if (strncmp(word, "seed=", 5) == 0)
        shim.seed = number(value) * 1000003;
    else if (strncmp(word, "log=", 4) == 0)
        shim.log = number(value);
    else if (strncmp(word, "quiet=", 6) == 0)
        shim.quiet = number(value);
    else if (strncmp(word, "save=", 5) == 0)
        save_images = number(value);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    static char line[2 * PATH_BYTES];
    int first = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (first < argc && option(argv[first]))
        first++;
    if (first >= argc)
        panic("usage: ext2_tool [option=number ...] IMAGE [IMAGE2]");
    disk0 = shim_disk(argv[first]);
    disk1 = first + 1 < argc ? shim_disk(argv[first + 1]) : NULL;
    if (!shim.block_bytes) {
        int bytes = ext2_probe(disk0);
        if (bytes < 0) {
            printf("probe: %d\n", bytes);
            return 0;
        }
        shim.block_bytes = bytes;
    }
    ext2_init();
    int error = ext2_mount_root(disk0);
    shim_check_idle("mount");
    if (error) {
        printf("mount: %d\n", error);
        return 0;
    }
    while (fgets(line, sizeof(line), stdin))
        run_line(line);
    if (!crashed) {
        error = ext2_shutdown();
        if (error)
            printf("shutdown: %d\n", error);
    }
    shim_check_idle("shutdown");
    if (save_images && !crashed) {
        shim_save(disk0, argv[first]);
        if (disk1)
            shim_save(disk1, argv[first + 1]);
    }
    return failed;
}
