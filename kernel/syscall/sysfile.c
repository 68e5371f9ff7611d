/*
 * The system calls about files. Each takes its arguments, makes one call of
 * the file or ext2 layer, and gives its result back.
 *
 * - Descriptors belong to the process alone: fds[] needs no lock.
 * - Nothing below this file sees a negative size or offset. Modes, and the
 *   flags of mount, are checked by ext2.
 * - `a ?: b` is the result of a, here an error, or if that is 0, the result of
 *   b, which is called only then.
 */
#include "kernel/syscall/syscall.h"
#include "kernel/cache/bio.h"
#include "kernel/file/file.h"
#include "kernel/proc/proc.h"
#include "kernel/remote/remote.h"
#include "kernel/proc/vm.h"

#define OPEN_FLAGS                                                     \
    (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_DIRECTORY | \
     O_NOFOLLOW | O_SYNC)

/* Return 0 for a size or an offset; -EINVAL for a negative number. */
static int check_size(u64 number)
{
    return (i64)number < 0 ? -EINVAL : 0;
}

/* Find the open file of a descriptor, or return -EBADF. */
static int file_of(u64 fd, struct file **f)
{
    *f = fd < MAX_FDS ? myproc()->fds[fd] : NULL;
    return *f ? 0 : -EBADF;
}

/* Return the lowest free descriptor from `from` on, or -EMFILE. */
static int free_fd(u32 from)
{
    struct proc *p = myproc();
    for (u32 fd = from; fd < MAX_FDS; fd++)
        if (!p->fds[fd])
            return fd;
    return -EMFILE;
}

/* Copy n paths from user memory into a new page, PATH_BYTES apart. The caller
 * frees the page even on an error. */
int user_paths(const u64 *user, u32 n, char **page)
{
    *page = page_alloc();
    if (!*page)
        return -ENOMEM;
    for (u32 i = 0; i < n; i++) {
        int length = copyinstr(*page + i * PATH_BYTES, user[i], PATH_BYTES);
        if (length < 0)
            return length;
    }
    return 0;
}

/* Get a reference to the inode at a user's path. */
static int path_inode(const u64 *path_user, u32 flags, struct inode **ip)
{
    PAGE_OWNED char *path = NULL;
    return user_paths(path_user, 1, &path) ?: namei(path, flags, ip);
}

/* Unlock the inode, give the reference back, and return the result. */
static int unlock_put(struct inode *ip, int result)
{
    iunlock(ip);
    iput(ip);
    return result;
}

/* Get the inode at a user's path, referenced, locked and valid: for
 * unlock_put. */
static int path_lock(const u64 *path_user, u32 flags, struct inode **ip)
{
    TRY(path_inode(path_user, flags, ip));
    ilock(*ip);
    int error = ivalid(*ip);
    return error ? unlock_put(*ip, error) : 0;
}

/* ---- descriptors ---- */

/* True if there is no unknown bit, the access is one of three, O_SYNC is whole
 * or absent, and no pair contradicts itself: truncating without writing,
 * O_EXCL without O_CREAT, or creating a directory. */
static bool open_flags_valid(u64 flags)
{
    u64 access = flags & O_ACCMODE;
    u64 sync = flags & O_SYNC;
    return !(flags & ~(u64)OPEN_FLAGS) && access != O_ACCMODE &&
           (sync == 0 || sync == O_SYNC) &&
           !((flags & O_TRUNC) && access == O_RDONLY) &&
           !((flags & O_EXCL) && !(flags & O_CREAT)) &&
           !((flags & O_CREAT) && (flags & O_DIRECTORY));
}

/* open(path, flags, mode): return a descriptor. */
i64 sys_open(const u64 *arg)
{
    PAGE_OWNED char *path = NULL;
    int fd = open_flags_valid(arg[1]) ? free_fd(0) : -EINVAL;
    if (fd < 0)
        return fd;
    return user_paths(arg, 1, &path)
               ?: file_open(path, arg[1], arg[2], &myproc()->fds[fd])
               ?: fd;
}

/* close(fd). The descriptor is free even if an error is returned. */
i64 sys_close(const u64 *arg)
{
    struct file *f;
    TRY(file_of(arg[0], &f));
    myproc()->fds[arg[0]] = NULL;
    return file_close(f);
}

/* dup(fd): return the lowest free descriptor, for the same file. */
i64 sys_dup(const u64 *arg)
{
    struct file *f;
    int fd = file_of(arg[0], &f) ?: free_fd(0);
    if (fd >= 0)
        myproc()->fds[fd] = file_dup(f);
    return fd;
}

/* dup2(fd, to): an error of closing `to` is lost, as POSIX allows and Linux
 * does: a program that wants to see it closes `to` first. (POSIX has -EIO leave
 * `to` as it was.) */
i64 sys_dup2(const u64 *arg)
{
    struct file *f;
    u64 to = arg[1];
    if (file_of(arg[0], &f) || to >= MAX_FDS)
        return -EBADF;
    if (to == arg[0])
        return to;
    struct file *before = myproc()->fds[to];
    myproc()->fds[to] = file_dup(f);
    file_close(before);
    return to;
}

/* pipe(fd[2]): fd[0] is the end to read from. */
i64 sys_pipe(const u64 *arg)
{
    struct file **fds = myproc()->fds;
    int fd[2] = {free_fd(0)};
    fd[1] = fd[0] < 0 ? fd[0] : free_fd(fd[0] + 1);
    if (fd[1] < 0)
        return fd[1];
    return copyout(arg[0], fd, sizeof(fd))
               ?: pipe_make(&fds[fd[0]], &fds[fd[1]]);
}

/* ioctl(fd, request, arg). */
i64 sys_ioctl(const u64 *arg)
{
    struct file *f;
    TRY(file_of(arg[0], &f));
    return arg[1] > UINT32_MAX ? -EINVAL : file_ioctl(f, arg[1], arg[2]);
}

/* ---- transfers ---- */

/* Read or write; arg is (fd, buffer, bytes). at: use the offset arg[3], not the
 * file's own. Returns the bytes moved, or -errno. */
static i64 transfer(const u64 *arg, bool write, bool at)
{
    struct file *f;
    struct uio u = {arg[1], arg[2], at ? arg[3] : 0, true, write};
    TRY(file_of(arg[0], &f) ?: check_size(u.left | u.offset));
    return file_io(f, &u, !at);
}

i64 sys_read(const u64 *arg)
{
    return transfer(arg, false, false);
}

/* write(fd, data, n). */
i64 sys_write(const u64 *arg)
{
    return transfer(arg, true, false);
}

/* pread(fd, data, n, offset): the file's own offset stays. */
i64 sys_pread(const u64 *arg)
{
    return transfer(arg, false, true);
}

/* pwrite(fd, data, n, offset): the file's own offset stays. */
i64 sys_pwrite(const u64 *arg)
{
    return transfer(arg, true, true);
}

/* getdents(fd, data, n): return the number of bytes of entries. */
i64 sys_getdents(const u64 *arg)
{
    struct file *f;
    struct uio u = {arg[1], arg[2], .user = true};
    TRY(file_of(arg[0], &f) ?: check_size(arg[2]));
    return file_getdents(f, &u);
}

/* lseek(fd, offset, whence): return the new offset. */
i64 sys_lseek(const u64 *arg)
{
    struct file *f;
    TRY(file_of(arg[0], &f));
    return arg[2] > SEEK_END ? -EINVAL : file_seek(f, arg[1], arg[2]);
}

/* ---- about one file ---- */

/* fstat(fd, stat). */
i64 sys_fstat(const u64 *arg)
{
    struct file *f;
    struct stat st;
    return file_of(arg[0], &f)
               ?: file_stat(f, &st) ?: copyout(arg[1], &st, sizeof(st));
}

/* Describe the inode of a path, with or without following a link in the last
 * place. */
static i64 stat_path(const u64 *arg, u32 flags)
{
    struct inode *ip;
    struct stat st;
    TRY(path_lock(arg, flags, &ip) ?: unlock_put(ip, file_stat_inode(ip, &st)));
    return copyout(arg[1], &st, sizeof(st));
}

i64 sys_stat(const u64 *arg)
{
    return stat_path(arg, 0);
}

i64 sys_lstat(const u64 *arg)
{
    return stat_path(arg, NAMEI_NOFOLLOW);
}

/* readlink(path, data, n): return the number of bytes, without a final 0. */
i64 sys_readlink(const u64 *arg)
{
    struct inode *ip;
    struct uio u = {arg[1], arg[2], .user = true};
    TRY(arg[2] ? check_size(arg[2]) : -EINVAL);
    TRY(path_lock(arg, NAMEI_NOFOLLOW, &ip));
    return uio_result(&u, arg[2], unlock_put(ip, ext2_readlink(ip, &u)));
}

i64 sys_chmod(const u64 *arg)
{
    struct inode *ip;
    return path_lock(arg, 0, &ip) ?: unlock_put(ip, ext2_chmod(ip, arg[1]));
}

i64 sys_utime(const u64 *arg)
{
    struct inode *ip;
    return path_lock(arg, 0, &ip)
               ?: unlock_put(ip, ext2_utime(ip, arg[1], arg[2]));
}

/* truncate(path, size). */
i64 sys_truncate(const u64 *arg)
{
    struct inode *ip;
    TRY(check_size(arg[1]) ?: path_lock(arg, 0, &ip));
    return unlock_put(ip, ext2_truncate(ip, arg[1]));
}

/* Lock the inode of an open file, which is valid then. */
static int file_lock(const struct file *f, struct inode **ip)
{
    *ip = f->inode;
    return f->type == FILE_INODE ? ilock_valid(*ip) : -EINVAL;
}

/* ftruncate(fd, size). The file must be open for writing. */
i64 sys_ftruncate(const u64 *arg)
{
    struct file *f;
    struct inode *ip;
    TRY(file_of(arg[0], &f));
    TRY((f->flags & O_ACCMODE) == O_RDONLY ? -EBADF : check_size(arg[1]));
    TRY(file_lock(f, &ip));
    return iunlock_with(ip, ext2_truncate(ip, arg[1]));
}

i64 sys_fsync(const u64 *arg)
{
    struct file *f;
    return file_of(arg[0], &f) ?: file_fsync(f);
}

i64 sys_fdatasync(const u64 *arg)
{
    struct file *f;
    return file_of(arg[0], &f) ?: file_fdatasync(f);
}

/* advise(fd, offset, n, advice). Advice below ADVICE_WILLNEED is about the
 * whole file, so offset and n must be 0. */
i64 sys_advise(const u64 *arg)
{
    struct file *f;
    bool whole = arg[3] < ADVICE_WILLNEED;
    TRY(file_of(arg[0], &f) ?: check_size(arg[1] | arg[2]));
    if (arg[3] > ADVICE_DONTNEED || (whole && (arg[1] || arg[2])))
        return -EINVAL;
    return file_advise(f, arg[1], arg[2], arg[3]);
}

/* ---- names ---- */

i64 sys_link(const u64 *arg)
{
    PAGE_OWNED char *paths = NULL;
    return user_paths(arg, 2, &paths) ?: ext2_link(paths, paths + PATH_BYTES);
}

i64 sys_symlink(const u64 *arg)
{
    PAGE_OWNED char *paths = NULL;
    return user_paths(arg, 2, &paths)
               ?: ext2_symlink(paths, paths + PATH_BYTES);
}

i64 sys_rename(const u64 *arg)
{
    PAGE_OWNED char *paths = NULL;
    return user_paths(arg, 2, &paths) ?: ext2_rename(paths, paths + PATH_BYTES);
}

i64 sys_unlink(const u64 *arg)
{
    PAGE_OWNED char *path = NULL;
    return user_paths(arg, 1, &path) ?: ext2_unlink(path);
}

i64 sys_rmdir(const u64 *arg)
{
    PAGE_OWNED char *path = NULL;
    return user_paths(arg, 1, &path) ?: ext2_rmdir(path);
}

i64 sys_mkdir(const u64 *arg)
{
    PAGE_OWNED char *path = NULL;
    return user_paths(arg, 1, &path) ?: ext2_mkdir(path, arg[1]);
}

i64 sys_mknod(const u64 *arg)
{
    PAGE_OWNED char *path = NULL;
    return user_paths(arg, 1, &path) ?: ext2_mknod(path, arg[1], arg[2]);
}

/* chdir(path). */
i64 sys_chdir(const u64 *arg)
{
    struct inode *ip;
    TRY(path_lock(arg, 0, &ip));
    if (!S_ISDIR(ip->mode))
        return unlock_put(ip, -ENOTDIR);
    iunlock(ip);
    struct proc *p = myproc();
    iput(p->cwd);
    p->cwd = ip;
    return 0;
}

/* getcwd(data, n): return the length of the path with its final 0. */
i64 sys_getcwd(const u64 *arg)
{
    TRY(check_size(arg[1]));
    PAGE_OWNED char *path = page_alloc();
    if (!path)
        return -ENOMEM;
    int n = ext2_path(myproc()->cwd, path, MIN(arg[1], PAGE_SIZE));
    return n > 0 && copyout(arg[0], path, n) ? -EFAULT : n;
}

/* ---- file systems ---- */

i64 sys_statfs(const u64 *arg)
{
    struct inode *ip;
    struct statfs st;
    TRY(path_lock(arg, 0, &ip) ?: unlock_put(ip, ext2_statfs(ip, &st)));
    return copyout(arg[1], &st, sizeof(st));
}

/* mount(source, directory, flags). A source with a colon is a file server's
 * export, any other the name of a disk. */
i64 sys_mount(const u64 *arg)
{
    struct inode *ip;
    PAGE_OWNED char *names = NULL;
    TRY(user_paths(arg, 2, &names));
    bool remote = strchr(names, ':');
    struct disk *disk = remote ? NULL : disk_named(names);
    if (!remote && (!disk || disk->carry))
        return -ENXIO;
    TRY(namei(names + PATH_BYTES, 0, &ip));
    int error =
        remote ? remote_mount(names, ip, arg[2]) : ext2_mount(disk, ip, arg[2]);
    if (error)
        iput(ip); /* else consumed */
    return error;
}

/* umount(path, force): force gives up what the server does not answer. */
i64 sys_umount(const u64 *arg)
{
    struct inode *ip;
    TRY(path_inode(arg, 0, &ip));
    if (arg[1])
        remote_give_up(ip);
    return ext2_umount(ip);
}

i64 sys_sync(const u64 *)
{
    return ext2_sync();
}

/* smoothsync(age_ns): start the writes of what has been dirty that long. */
i64 sys_smoothsync(const u64 *arg)
{
    TRY(check_size(arg[0]));
    return bflush_smooth(NULL, arg[0]);
}
