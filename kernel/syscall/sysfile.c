/*
 * The system calls about files. Each takes its arguments, makes one call of
 * the file or ext2 layer, and gives its result back.
 *
 * - Descriptors belong to the process alone: fds[] needs no lock.
 * - A number is checked where it enters: nothing below this file sees a
 *   negative size or offset, or a flag it does not know.
 */
#include "kernel/syscall/syscall.h"
#include "kernel/cache/bio.h"
#include "kernel/disk/disk.h"
#include "kernel/file/file.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/vm.h"

#define MODE_BITS 07777
#define OPEN_FLAGS                                                     \
    (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_DIRECTORY | \
     O_NOFOLLOW | O_SYNC)

static bool negative(u64 number)
{
    return (i64)number < 0;
}

/* The open file of a descriptor, or NULL. */
static struct file *file_of(u64 fd)
{
    return fd < MAX_FDS ? myproc()->fds[fd] : NULL;
}

/* The lowest free descriptor from `from` on, or -EMFILE. */
static int free_fd(u32 from)
{
    struct proc *p = myproc();
    for (u32 fd = from; fd < MAX_FDS; fd++)
        if (!p->fds[fd])
            return fd;
    return -EMFILE;
}

/* The inode at a user's path, referenced. */
static int path_inode(const u64 *path_user, u32 flags, struct inode **ip)
{
    PAGE_OWNED char *path = NULL;
    int error = user_paths(path_user, 1, &path);
    return error ? error : namei(path, flags, ip);
}

static i64 unlock_put(struct inode *ip, i64 result)
{
    iunlock(ip);
    iput(ip);
    return result;
}

/* The inode at a user's path, referenced, locked and valid: for unlock_put. */
static int path_lock(const u64 *path_user, u32 flags, struct inode **ip)
{
    int error = path_inode(path_user, flags, ip);
    if (error)
        return error;
    ilock(*ip);
    error = ivalid(*ip);
    return error ? unlock_put(*ip, error) : 0;
}

/* ---- descriptors ---- */

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

i64 sys_open(const u64 *arg)
{
    if (!open_flags_valid(arg[1]) ||
        ((arg[1] & O_CREAT) && (arg[2] & ~(u64)MODE_BITS)))
        return -EINVAL;
    int fd = free_fd(0);
    if (fd < 0)
        return fd;
    PAGE_OWNED char *path = NULL;
    int error = user_paths(arg, 1, &path);
    if (!error)
        error = file_open(path, arg[1], arg[2], &myproc()->fds[fd]);
    return error ? error : fd;
}

i64 sys_close(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    myproc()->fds[arg[0]] = NULL;
    file_close(f);
    return 0;
}

i64 sys_dup(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    int fd = free_fd(0);
    if (fd >= 0)
        myproc()->fds[fd] = file_dup(f);
    return fd;
}

i64 sys_dup2(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    u64 to = arg[1];
    if (!f || to >= MAX_FDS)
        return -EBADF;
    if (to == arg[0])
        return to;
    struct file *before = file_of(to);
    myproc()->fds[to] = file_dup(f);
    if (before)
        file_close(before);
    return to;
}

i64 sys_pipe(const u64 *arg)
{
    int fd[2];
    fd[0] = free_fd(0);
    if (fd[0] < 0)
        return fd[0];
    fd[1] = free_fd(fd[0] + 1);
    if (fd[1] < 0)
        return fd[1];
    if (copyout(arg[0], fd, sizeof(fd)))
        return -EFAULT;
    struct proc *p = myproc();
    struct file *reader, *writer;
    int error = pipe_make(&reader, &writer);
    if (error)
        return error;
    p->fds[fd[0]] = reader;
    p->fds[fd[1]] = writer;
    return 0;
}

i64 sys_ioctl(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    return arg[1] > UINT32_MAX ? -EINVAL : file_ioctl(f, arg[1], arg[2]);
}

/* ---- transfers ---- */

/* Of (fd, buffer, bytes), at the file's own offset or at arg[3]. */
static i64 transfer(const u64 *arg, bool write, bool at)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    if (negative(arg[2]) || (at && negative(arg[3])))
        return -EINVAL;
    struct uio u = {arg[1], arg[2], 0, .user = true, .write = write};
    if (!at)
        return file_io(f, &u);
    u.offset = arg[3];
    return file_io_at(f, &u);
}

i64 sys_read(const u64 *arg)
{
    return transfer(arg, false, false);
}

i64 sys_write(const u64 *arg)
{
    return transfer(arg, true, false);
}

i64 sys_pread(const u64 *arg)
{
    return transfer(arg, false, true);
}

i64 sys_pwrite(const u64 *arg)
{
    return transfer(arg, true, true);
}

i64 sys_getdents(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    if (negative(arg[2]))
        return -EINVAL;
    struct uio u = {arg[1], arg[2], 0, .user = true, .write = false};
    return file_getdents(f, &u);
}

i64 sys_lseek(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    return arg[2] > SEEK_END ? -EINVAL : file_seek(f, arg[1], arg[2]);
}

/* ---- about one file ---- */

i64 sys_fstat(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    struct stat st;
    int error = file_stat(f, &st);
    return error ? error : copyout(arg[1], &st, sizeof(st));
}

static i64 stat_path(const u64 *arg, u32 flags)
{
    struct inode *ip;
    int error = path_lock(arg, flags, &ip);
    if (error)
        return error;
    struct stat st;
    file_stat_inode(ip, &st);
    unlock_put(ip, 0);
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

i64 sys_readlink(const u64 *arg)
{
    if (negative(arg[2]) || arg[2] == 0)
        return -EINVAL;
    struct inode *ip;
    int error = path_lock(arg, NAMEI_NOFOLLOW, &ip);
    if (error)
        return error;
    struct uio u = {arg[1], arg[2], 0, .user = true, .write = false};
    error = S_ISLNK(ip->mode) ? ext2_readlink(ip, &u) : -EINVAL;
    return unlock_put(ip, uio_result(&u, arg[2], error));
}

i64 sys_chmod(const u64 *arg)
{
    if (arg[1] & ~(u64)MODE_BITS)
        return -EINVAL;
    struct inode *ip;
    int error = path_lock(arg, 0, &ip);
    return error ? error : unlock_put(ip, ext2_chmod(ip, arg[1]));
}

i64 sys_utime(const u64 *arg)
{
    if (arg[1] > UINT32_MAX || arg[2] > UINT32_MAX)
        return -EINVAL;
    struct inode *ip;
    int error = path_lock(arg, 0, &ip);
    return error ? error : unlock_put(ip, ext2_utime(ip, arg[1], arg[2]));
}

static int truncate_locked(struct inode *ip, u64 size)
{
    if (S_ISDIR(ip->mode))
        return -EISDIR;
    return S_ISREG(ip->mode) ? ext2_truncate(ip, size) : -EINVAL;
}

i64 sys_truncate(const u64 *arg)
{
    if (negative(arg[1]))
        return -EINVAL;
    struct inode *ip;
    int error = path_lock(arg, 0, &ip);
    return error ? error : unlock_put(ip, truncate_locked(ip, arg[1]));
}

/* The inode of a descriptor, locked and valid. */
static int fd_lock(u64 fd, struct inode **ip)
{
    struct file *f = file_of(fd);
    if (!f)
        return -EBADF;
    if (f->type != FILE_INODE)
        return -EINVAL;
    ilock(f->inode);
    int error = ivalid(f->inode);
    if (error)
        iunlock(f->inode);
    *ip = f->inode;
    return error;
}

i64 sys_ftruncate(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (f && (f->flags & O_ACCMODE) == O_RDONLY)
        return -EBADF;
    if (negative(arg[1]))
        return -EINVAL;
    struct inode *ip;
    int error = fd_lock(arg[0], &ip);
    if (error)
        return error;
    error = truncate_locked(ip, arg[1]);
    iunlock(ip);
    return error;
}

i64 sys_fsync(const u64 *arg)
{
    struct inode *ip;
    int error = fd_lock(arg[0], &ip);
    if (error)
        return error;
    error = ext2_fsync(ip);
    iunlock(ip);
    return error;
}

i64 sys_advise(const u64 *arg)
{
    struct file *f = file_of(arg[0]);
    if (!f)
        return -EBADF;
    bool whole = arg[3] < ADVICE_WILLNEED;
    if (negative(arg[1]) || negative(arg[2]) || arg[3] > ADVICE_DONTNEED ||
        (whole && (arg[1] || arg[2])))
        return -EINVAL;
    return file_advise(f, arg[1], arg[2], arg[3]);
}

/* ---- names ---- */

/* A call of one path, or of two. */
static i64 with_path(const u64 *arg, int (*fn)(const char *))
{
    PAGE_OWNED char *path = NULL;
    int error = user_paths(arg, 1, &path);
    return error ? error : fn(path);
}

static i64 with_paths(const u64 *arg, int (*fn)(const char *, const char *))
{
    PAGE_OWNED char *paths = NULL;
    int error = user_paths(arg, 2, &paths);
    return error ? error : fn(paths, paths + PATH_BYTES);
}

i64 sys_link(const u64 *arg)
{
    return with_paths(arg, ext2_link);
}

i64 sys_symlink(const u64 *arg)
{
    return with_paths(arg, ext2_symlink);
}

i64 sys_rename(const u64 *arg)
{
    return with_paths(arg, ext2_rename);
}

i64 sys_unlink(const u64 *arg)
{
    return with_path(arg, ext2_unlink);
}

i64 sys_rmdir(const u64 *arg)
{
    return with_path(arg, ext2_rmdir);
}

i64 sys_mkdir(const u64 *arg)
{
    if (arg[1] & ~(u64)MODE_BITS)
        return -EINVAL;
    PAGE_OWNED char *path = NULL;
    int error = user_paths(arg, 1, &path);
    return error ? error : ext2_mkdir(path, arg[1]);
}

i64 sys_mknod(const u64 *arg)
{
    if ((arg[1] & ~(u64)MODE_BITS) != S_IFCHR || arg[2] > 0xffff)
        return -EINVAL;
    PAGE_OWNED char *path = NULL;
    int error = user_paths(arg, 1, &path);
    return error ? error : ext2_mknod(path, arg[1], arg[2]);
}

i64 sys_chdir(const u64 *arg)
{
    struct inode *ip;
    int error = path_lock(arg, 0, &ip);
    if (error)
        return error;
    if (!S_ISDIR(ip->mode))
        return unlock_put(ip, -ENOTDIR);
    iunlock(ip);
    struct proc *p = myproc();
    iput(p->cwd);
    p->cwd = ip;
    return 0;
}

i64 sys_getcwd(const u64 *arg)
{
    if (negative(arg[1]))
        return -EINVAL;
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
    int error = path_lock(arg, 0, &ip);
    if (error)
        return error;
    struct statfs st;
    error = unlock_put(ip, ext2_statfs(ip, &st));
    return error ? error : copyout(arg[1], &st, sizeof(st));
}

i64 sys_mount(const u64 *arg)
{
    if (arg[2] & ~(u64)MS_RDONLY)
        return -EINVAL;
    char name[sizeof(((struct disk *)0)->name)];
    int length = copyinstr(name, arg[0], sizeof(name));
    if (length < 0)
        return length == -ENAMETOOLONG ? -ENXIO : length;
    struct disk *disk = disk_named(name);
    if (!disk)
        return -ENXIO;
    struct inode *ip;
    int error = path_inode(&arg[1], 0, &ip);
    if (error)
        return error;
    error = ext2_mount(disk, ip, arg[2]);
    if (error)
        iput(ip);
    return error;
}

i64 sys_umount(const u64 *arg)
{
    struct inode *ip;
    int error = path_inode(arg, 0, &ip);
    if (error)
        return error;
    error = ext2_umount(ip);
    if (error)
        iput(ip);
    return error;
}

i64 sys_sync(const u64 *)
{
    return ext2_sync();
}

i64 sys_smoothsync(const u64 *arg)
{
    return negative(arg[0]) ? -EINVAL : (i64)bflush_smooth(NULL, arg[0]);
}
