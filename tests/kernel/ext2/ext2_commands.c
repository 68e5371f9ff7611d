/*
 * The commands of the tests of ext2, such as "mkdir /m/d": each is a line of
 * words, and returns 0 or an error of the kernel (ext2_commands.h).
 *
 * A function cmd_NAME does the command NAME. Its comment shows the command's
 * words where its code does not; w[0] is the command's name. A file's contents
 * are written from a seed, so that `verify` can tell them (command_pattern).
 */
#include "tests/kernel/ext2/ext2_commands.h"

#include <stdlib.h>
#include <string.h>

#include "tests/kernel/ext2/ext2_shim.h"
#include "kernel/proc/proc.h"

#define WORDS 8

FILE *command_out;
struct disk *command_disk;
bool command_failed;

u8 command_pattern(u64 seed, u64 at)
{
    return (at ^ at >> 8 ^ seed * 31 ^ at / 1000 * seed) & 0xff;
}

u64 command_number(const char *word)
{
    return word ? strtoull(word, NULL, 0) : 0;
}

/* Open a path's inode, locked; with `create` it is made if it is not there. */
int command_open(const char *path, bool create, struct inode **ip)
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

void command_close(struct inode *ip)
{
    iunlock(ip);
    iput(ip);
}

/* Write the pattern of a seed to a file, made if necessary. */
int command_write_at(const char *path, u64 offset, u64 size, u64 seed)
{
    struct inode *ip;
    int error = command_open(path, true, &ip);
    if (error)
        return error;
    u8 *data = malloc(size + 1);
    for (u64 i = 0; i < size; i++)
        data[i] = command_pattern(seed, offset + i);
    struct uio u = {
        .addr = (u64)data, .left = size, .offset = offset, .write = true};
    error = ext2_write(ip, &u);
    free(data);
    command_close(ip);
    return error;
}

/* write PATH SIZE SEED: the whole contents */
static int cmd_write(char **w)
{
    struct inode *ip;
    int error = command_open(w[1], true, &ip);
    if (error)
        return error;
    error = ext2_truncate(ip, 0);
    command_close(ip);
    return error ? error
                 : command_write_at(w[1], 0, command_number(w[2]),
                                    command_number(w[3]));
}

/* pwrite PATH OFFSET SIZE SEED */
static int cmd_pwrite(char **w)
{
    return command_write_at(w[1], command_number(w[2]), command_number(w[3]),
                            command_number(w[4]));
}

/* append PATH SIZE SEED: at the end */
static int cmd_append(char **w)
{
    struct inode *ip;
    int error = command_open(w[1], true, &ip);
    if (error)
        return error;
    u64 size = ip->size;
    command_close(ip);
    return command_write_at(w[1], size, command_number(w[2]),
                            command_number(w[3]));
}

/* verify PATH OFFSET SIZE SEED: the pattern; seed "zero": zeros */
static int cmd_verify(char **w)
{
    struct inode *ip;
    u64 offset = command_number(w[2]), size = command_number(w[3]),
        seed = command_number(w[4]);
    bool zero = strcmp(w[4], "zero") == 0;
    int error = command_open(w[1], false, &ip);
    if (error)
        return error;
    u8 *data = malloc(size + 1);
    struct streams streams = {0};
    struct uio u = {.addr = (u64)data, .left = size, .offset = offset};
    error = ext2_read(ip, &u, &streams);
    command_close(ip);
    bool same = !error && u.left == 0;
    for (u64 i = 0; same && i < size; i++)
        same = data[i] == (zero ? 0 : command_pattern(seed, offset + i));
    free(data);
    if (!same && !error) {
        fprintf(command_out, "verify %s: differs\n", w[1]);
        command_failed = true;
    }
    return error;
}

/* get PATH FILE: copy to a file of the host */
static int cmd_get(char **w)
{
    struct inode *ip;
    int error = command_open(w[1], false, &ip);
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
    command_close(ip);
    return error;
}

/* put FILE PATH: copy from a file of the host */
static int cmd_put(char **w)
{
    struct inode *ip;
    static u8 data[65536];
    int error = command_open(w[2], true, &ip);
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
    command_close(ip);
    return error;
}

/* create PATH [x]: with a further word it must not be there */
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
    for (u64 i = 0; !error && i < command_number(w[2]); i++) {
        snprintf(path, sizeof(path), "%s/%s%lu", w[1], w[3], i);
        error = ext2_create(path, 0644, true, &ip);
        if (!error)
            iput(ip);
    }
    return error;
}

/* rmmany DIR N PREFIX: remove what `many` made */
static int cmd_rmmany(char **w)
{
    char path[PATH_BYTES];
    int error = 0;
    for (u64 i = 0; !error && i < command_number(w[2]); i++) {
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

/* mknod PATH NUMBER: a character device */
static int cmd_mknod(char **w)
{
    return ext2_mknod(w[1], S_IFCHR | 0666, command_number(w[2]));
}

/* truncate PATH SIZE */
static int cmd_truncate(char **w)
{
    struct inode *ip;
    int error = command_open(w[1], false, &ip);
    if (error)
        return error;
    error = ext2_truncate(ip, command_number(w[2]));
    command_close(ip);
    return error;
}

/* chmod PATH MODE: and set the times, to some that are fixed */
static int cmd_chmod(char **w)
{
    struct inode *ip;
    int error = command_open(w[1], false, &ip);
    if (error)
        return error;
    error = ext2_chmod(ip, strtoul(w[2], NULL, 8));
    if (!error)
        error = ext2_utime(ip, 1000000000, 1100000000);
    command_close(ip);
    return error;
}

/* Call fn for a file that is open and locked. */
static int with_file(const char *path, int (*fn)(struct inode *))
{
    struct inode *ip;
    int error = command_open(path, false, &ip);
    if (error)
        return error;
    error = fn(ip);
    command_close(ip);
    return error;
}

static int cmd_fsync(char **w)
{
    return with_file(w[1], ext2_fsync);
}

static int cmd_fdatasync(char **w)
{
    return with_file(w[1], ext2_fdatasync);
}

static int cmd_sync(char **w)
{
    (void)w;
    return ext2_sync();
}

/* stat PATH: print its attributes */
static int cmd_stat(char **w)
{
    struct inode *ip;
    struct stat st;
    int error = command_open(w[1], false, &ip);
    if (error)
        return error;
    ext2_stat(ip, &st);
    command_close(ip);
    fprintf(command_out,
            "%s: ino %u mode %o nlink %u rdev %u size %lu blocks %lu dev %u\n",
            w[1], st.st_ino, st.st_mode, st.st_nlink, st.st_rdev, st.st_size,
            st.st_blocks, st.st_dev);
    return 0;
}

/* statfs PATH: print what there is on the file system that has the path */
static int cmd_statfs(char **w)
{
    struct inode *ip;
    struct statfs s;
    int error = namei(w[1], 0, &ip);
    if (error)
        return error;
    ext2_statfs(ip, &s);
    iput(ip);
    fprintf(command_out,
            "%s: size %u ro %u blocks %lu free %lu inodes %lu free %lu\n",
            s.disk, s.block_size, s.read_only, s.blocks, s.free_blocks,
            s.inodes, s.free_inodes);
    return 0;
}

/* ls DIR: print each entry's inode, type and name */
static int cmd_ls(char **w)
{
    struct inode *ip;
    char buf[4096];
    int error = command_open(w[1], false, &ip);
    if (error)
        return error;
    struct uio u = {0};
    do {
        u.addr = (u64)buf;
        u.left = sizeof(buf);
        error = ext2_getdents(ip, &u, NULL);
        for (u64 at = 0; at < sizeof(buf) - u.left;) {
            struct dirent *d = (void *)(buf + at);
            fprintf(command_out, "%u %u %s\n", d->ino, d->type, d->name);
            at += d->length;
        }
    } while (!error && u.left < sizeof(buf));
    command_close(ip);
    return error;
}

/* readlink PATH: print where it leads */
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
    command_close(ip);
    fprintf(command_out, "%s\n", text);
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
        fprintf(command_out, "%s\n", path);
    return n < 0 ? n : 0;
}

/* Files held open across other commands. */
static struct inode *held[16];

/* hold N PATH: keep the file open as number N */
static int cmd_hold(char **w)
{
    return namei(w[2], 0, &held[command_number(w[1]) % NELEM(held)]);
}

/* release N: close file number N */
static int cmd_release(char **w)
{
    struct inode **ip = &held[command_number(w[1]) % NELEM(held)];
    if (*ip)
        iput(*ip);
    *ip = NULL;
    return 0;
}

/* grow N SIZE SEED: write to a file that is held */
static int cmd_grow(char **w)
{
    struct inode *ip = held[command_number(w[1]) % NELEM(held)];
    u64 size = command_number(w[2]);
    u8 *data = calloc(1, size);
    struct uio u = {.addr = (u64)data, .left = size, .write = true};
    ilock(ip);
    u.offset = ip->size;
    int error = ext2_write(ip, &u);
    iunlock(ip);
    free(data);
    return error;
}

/* mount PATH [ro]: mount command_disk there */
static int cmd_mount(char **w)
{
    struct inode *ip;
    int error = namei(w[1], 0, &ip);
    if (error)
        return error;
    error = ext2_mount(command_disk, ip, w[2] ? MS_RDONLY : 0);
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
    return ext2_umount(ip);
}

/* mounts: print what is mounted */
static int cmd_mounts(char **w)
{
    char path[PATH_BYTES];
    struct disk *d;
    bool ro;
    (void)w;
    for (u32 i = 0; ext2_mount_row(i, path, sizeof(path), &d, &ro); i++)
        fprintf(command_out, "%s %s %s\n", d->name, path, ro ? "ro" : "rw");
    return 0;
}

/* inuse: print how many inodes are in use */
static int cmd_inuse(char **w)
{
    (void)w;
    fprintf(command_out, "%lu inodes in use\n", ext2_inodes_in_use());
    return 0;
}

/* writes: print how many writes were waited for */
static int cmd_writes(char **w)
{
    (void)w;
    fprintf(command_out, "%lu synchronous writes\n", shim_writes_waited());
    return 0;
}

/* ---- the table ---- */

static const struct command commands[] = {
    {"append", 4, cmd_append},
    {"cd", 2, cmd_cd},
    {"chmod", 3, cmd_chmod},
    {"create", 2, cmd_create},
    {"fsync", 2, cmd_fsync},
    {"fdatasync", 2, cmd_fdatasync},
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
    {"put", 3, cmd_put},
    {"pwd", 1, cmd_pwd},
    {"pwrite", 5, cmd_pwrite},
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
    {0},
};

/* The command of this name that takes so many words; NULL: there is none. */
static const struct command *find(const struct command *c, const char *name,
                                  u32 words)
{
    while (c->name && (strcmp(c->name, name) || words < c->words))
        c++;
    return c->name ? c : NULL;
}

/* Do a line of words: find its command by name and number of words, in the
 * table or in `more`. */
int command_run(char *line, const struct command *more)
{
    char *words[WORDS + 1] = {0}, *save = NULL;
    u32 n = 0;
    for (char *w = strtok_r(line, " \n", &save); w && n < WORDS;
         w = strtok_r(NULL, " \n", &save))
        words[n++] = w;
    if (n == 0)
        return 0;
    const struct command *c = find(commands, words[0], n);
    if (!c && more)
        c = find(more, words[0], n);
    if (!c)
        panic("no command %s with %u words", words[0], n);
    int error = c->run(words);
    shim_check_idle(words[0]);
    return error;
}
