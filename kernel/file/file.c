/*
 * Open files: the table, and what each call on a descriptor does to a pipe,
 * an inode or a device. See file.h.
 *
 * - A file goes: free - allocated (file_alloc: one reference) - open
 *   (file_open, file_open_device, pipe_make) - free again (the last
 *   file_close, which lets go of what it stood for).
 * - file_table.lock guards the free list and every file's refs. The rest of
 *   a file is set before a second reference can exist, and then constant, but
 *   for offset (file.lock) and streams (the inode's lock).
 * - Order: file.lock, then the inode's lock. file.lock is held over a
 *   transfer to or from an inode that moves the offset, so that two processes
 *   that share the file never read or write the same place twice. A file with
 *   one reference is its process's alone, and stays so during a call.
 * - A device's transfer may wait for ever, as the console's does; so
 *   file.lock is not held over it, and the last to finish sets the offset.
 * - A transfer that moved some bytes before an error returns their number.
 *   But an error of a device's write is returned even if bytes were taken,
 *   because the device may not have acted on them.
 */
#include "kernel/file/file.h"
#include "kernel/file/dev.h"
#include "kernel/base/stat.h"
#include "kernel/net/net.h"

static struct {
    struct spinlock lock;
    struct file *free; /* lock */
    u64 open;          /* lock: files with references */
    struct file file[MAX_FILES];
} file_table = {.lock = SPINLOCK("file_table", RANK_FILE)};

static u64 files_open(void)
{
    return __atomic_load_n(&file_table.open, __ATOMIC_RELAXED);
}

GAUGE(open_files, "file.open", "files", "open files, each once however shared",
      files_open);

/* Put all files on the free list. */
void file_init(void)
{
    for (u32 i = 0; i < MAX_FILES; i++) {
        file_table.file[i].next_free = file_table.free;
        file_table.free = &file_table.file[i];
    }
}

/* Take a file off the free list, with one reference; NULL if all are open. */
struct file *file_alloc(u32 flags)
{
    HOLD(spin, &file_table.lock);
    struct file *f = file_table.free;
    if (!f)
        return NULL;
    file_table.free = f->next_free;
    file_table.open++;
    *f = (struct file){.refs = 1, .type = FILE_NONE, .flags = flags};
    sleep_lock_init(&f->lock, "file");
    return f;
}

/* Get another reference to the file. Return it. */
struct file *file_dup(struct file *f)
{
    HOLD(spin, &file_table.lock);
    assert(f->refs > 0);
    f->refs++;
    return f;
}

static bool may_write(const struct file *f)
{
    return (f->flags & O_ACCMODE) != O_RDONLY;
}

/* Give a reference back; NULL has none. The last one closes what the file
 * stands for, and returns an error that was not reported yet. */
int file_close(struct file *f)
{
    int error = 0;
    if (!f)
        return 0;
    spin_lock(&file_table.lock);
    assert(f->refs > 0);
    bool last = --f->refs == 0;
    spin_unlock(&file_table.lock);
    if (!last)
        return 0;
    if (f->pipe)
        pipe_close(f->pipe, f->flags == O_WRONLY);
    if (f->inode) {
        if (f->type == FILE_INODE) {
            error = ext2_closed(f->inode, may_write(f));
            int lost = ext2_lost_since(f->inode, &f->told, false);
            error = error ?: lost;
        }
        ext2_end_reads(f->inode, &f->streams);
        iput(f->inode);
    }
    if (f->socket)
        socket_close(f->socket);
    HOLD(spin, &file_table.lock);
    f->next_free = file_table.free;
    file_table.free = f;
    file_table.open--;
    return error;
}

/* Have the file stand for this unit of this device, if there is one. */
static int attach_device(struct file *f, u32 number)
{
    f->type = FILE_DEVICE;
    f->device = device_find(number);
    f->unit = number & 0xff;
    if (f->device && f->device->end)
        f->until = f->device->end();
    return f->device ? 0 : -ENXIO;
}

/* Have the file stand for a regular one, emptied if so asked. */
static int attach_regular(struct file *f)
{
    if (!may_write(f))
        return 0;
    TRY(fs_writable(f->inode->fs));
    return f->flags & O_TRUNC ? ext2_truncate(f->inode, 0) : 0;
}

/* Make f, which has its flags and inode, an open file of the inode's type. The
 * inode is locked. */
static int attach_inode(struct file *f)
{
    struct inode *ip = f->inode;
    if ((f->flags & O_DIRECTORY) && !S_ISDIR(ip->mode))
        return -ENOTDIR;
    f->type = FILE_INODE;
    f->told = ext2_lost_before(ip);
    switch (ip->mode & S_IFMT) {
    case S_IFREG:
        TRY(ext2_opened(ip, may_write(f)));
        ext2_begin_reads(ip, &f->streams);
        return attach_regular(f);
    case S_IFDIR:
        return may_write(f) || (f->flags & O_CREAT) ? -EISDIR : 0;
    case S_IFCHR:
        return attach_device(f, ip->rdev);
    case S_IFLNK:
        return -ELOOP;
    default:
        return -ENXIO;
    }
}

/* Find the inode that open is about. An exclusive create never follows a link
 * in the last place, so with O_NOFOLLOW the file is first tried that way. */
static int open_inode(const char *path, u32 flags, u64 mode, struct inode **ip)
{
    if (flags & O_CREAT) {
        bool exclusive = flags & (O_EXCL | O_NOFOLLOW);
        int error = ext2_create(path, mode, exclusive, ip);
        if (error != -EEXIST || (flags & O_EXCL))
            return error;
    }
    return namei(path, flags & O_NOFOLLOW ? NAMEI_NOFOLLOW : 0, ip);
}

/* End an open: give the file to the caller, or close it after an error. */
static int finish_open(struct file *f, int error, struct file **out)
{
    if (error) {
        f->told = UNLIMITED; /* there is no program to tell of losses */
        file_close(f);
    }
    *out = error ? NULL : f;
    return error;
}

/* Open a path. Return 0 with *out open, or an error. */
int file_open(const char *path, u32 flags, u64 mode, struct file **out)
{
    struct inode *ip;
    struct file *f = file_alloc(flags);
    if (!f)
        return -ENFILE;
    int error = open_inode(path, flags, mode, &ip);
    if (!error) {
        f->inode = ip;
        error = ilock_valid(ip) ?: iunlock_with(ip, attach_inode(f));
    }
    return finish_open(f, error, out);
}

/* Open a device by its number, without a path. */
int file_open_device(u32 number, u32 flags, struct file **out)
{
    struct file *f = file_alloc(flags);
    return f ? finish_open(f, attach_device(f, number), out) : -ENFILE;
}

/* Make a socket of this kind on this port, as an open file. */
int file_open_socket(u64 kind, u64 port, struct file **out)
{
    struct file *f = file_alloc(O_RDWR);
    if (!f)
        return -ENFILE;
    f->type = FILE_SOCKET;
    return finish_open(f, socket_open(kind, port, &f->socket), out);
}

/* Transfers at uio.offset: 0 or -errno, the uio says how far they came. The
 * inode is locked and valid. */
typedef int inode_transfer(struct file *, struct uio *, bool own);

static int inode_read(struct file *f, struct uio *u, bool)
{
    return ext2_read(f->inode, u, &f->streams);
}

/* Write; with O_SYNC, what cannot be made durable counts as not written. */
static int inode_write(struct file *f, struct uio *u, bool own)
{
    if (own && (f->flags & O_APPEND))
        u->offset = f->inode->size;
    struct uio before = *u;
    int error = ext2_write(f->inode, u);
    bool through = (f->flags & O_SYNC) && u->left < before.left;
    int sync_error = through ? ext2_flush(f->inode) : 0;
    if (sync_error)
        *u = before;
    return sync_error ?: error;
}

/* Transfer entries of the directory, for inode_io. */
static int inode_getdents(struct file *f, struct uio *u, bool)
{
    return ext2_getdents(f->inode, u, NULL);
}

static i64 inode_io(struct file *f, struct uio *u, bool own,
                    inode_transfer *transfer)
{
    u64 wanted = u->left;
    bool shared = __atomic_load_n(&f->refs, __ATOMIC_ACQUIRE) > 1;
    HOLD(sleep, own && shared ? &f->lock : NULL);
    if (own)
        u->offset = f->offset;
    int error = ilock_valid(f->inode);
    error = error ?: iunlock_with(f->inode, transfer(f, u, own));
    if (own)
        f->offset = u->offset;
    return uio_result(u, wanted, error);
}

/* Read or write a device; `own`: at the file's own offset, which moves on. */
static i64 device_io(struct file *f, struct uio *u, bool own)
{
    u64 wanted = u->left;
    if (own)
        u->offset = __atomic_load_n(&f->offset, __ATOMIC_RELAXED);
    int error = u->write ? device_write(f->device, f->unit, u)
                         : device_read(f->device, f->unit, f->until, u);
    i64 n = error && u->write ? error : uio_result(u, wanted, error);
    if (own && n > 0)
        __atomic_store_n(&f->offset, u->offset, __ATOMIC_RELAXED);
    return n;
}

i64 file_io(struct file *f, struct uio *u, bool own)
{
    if ((f->flags & O_ACCMODE) == (u->write ? O_RDONLY : O_WRONLY))
        return -EBADF;
    if (f->type == FILE_INODE)
        return inode_io(f, u, own, u->write ? inode_write : inode_read);
    if (f->type == FILE_DEVICE)
        return device_io(f, u, own);
    if (!own)
        return -ESPIPE;
    if (f->type == FILE_SOCKET) /* sendto and recvfrom say to and from whom */
        return -EINVAL;
    return u->write ? pipe_write(f->pipe, u) : pipe_read(f->pipe, u);
}

/* Read entries of the directory from the file's offset. Return the number of
 * bytes. */
i64 file_getdents(struct file *f, struct uio *u)
{
    if (f->type != FILE_INODE)
        return -ENOTDIR;
    return inode_io(f, u, true, inode_getdents);
}

static u64 device_size(const struct device *d, u32 unit)
{
    return d->size ? d->size(unit) : 0;
}

/* Move the file's offset. Return the new one, or an error if it would be
 * negative. */
i64 file_seek(struct file *f, i64 offset, int whence)
{
    struct stat st = {0};
    if (f->type == FILE_PIPE || f->type == FILE_SOCKET)
        return -ESPIPE;
    TRY(whence == SEEK_END ? file_stat(f, &st) : 0);
    HOLD(sleep, &f->lock);
    i64 base = whence == SEEK_CUR ? f->offset : st.st_size;
    i64 to;
    if (__builtin_add_overflow(base, offset, &to) || to < 0)
        return -EINVAL;
    f->offset = to;
    return to;
}

/* Take a hint about the file's locked and valid inode. */
static int inode_advise(struct file *f, u64 offset, u64 n, u32 advice)
{
    static const enum hint hints[] = {
        [ADVICE_NORMAL] = HINT_NONE,
        [ADVICE_RANDOM] = HINT_RANDOM,
        [ADVICE_SEQUENTIAL] = HINT_SEQUENTIAL,
    };
    if (!S_ISREG(f->inode->mode))
        return -EINVAL;
    if (advice == ADVICE_WILLNEED)
        ext2_will_need(f->inode, offset, n);
    else if (advice == ADVICE_DONTNEED)
        ext2_dont_need(f->inode, offset, n);
    else
        f->streams.hint = hints[advice];
    return 0;
}

/* Take a hint how the file will be read. Return 0 or an error. */
int file_advise(struct file *f, u64 offset, u64 n, u32 advice)
{
    if (f->type != FILE_INODE)
        return f->type == FILE_PIPE ? -ESPIPE : -EINVAL;
    return ilock_valid(f->inode)
               ?: iunlock_with(f->inode, inode_advise(f, offset, n, advice));
}

/* Describe an inode. A device's node has the size of the device. */
int file_stat_inode(struct inode *ip, struct stat *st)
{
    ext2_stat(ip, st);
    const struct device *d = S_ISCHR(ip->mode) ? device_find(ip->rdev) : NULL;
    if (d)
        st->st_size = device_size(d, ip->rdev & 0xff);
    return 0;
}

/* Describe what the file stands for. */
int file_stat(struct file *f, struct stat *st)
{
    HOLD(inode, f->inode);
    if (f->inode)
        return ivalid(f->inode) ?: file_stat_inode(f->inode, st);
    *st = (struct stat){.st_nlink = 1,
                        .st_blksize = PAGE_SIZE,
                        .st_mode = (f->pipe     ? S_IFIFO
                                    : f->socket ? S_IFSOCK
                                                : S_IFCHR) |
                                   0600};
    if (f->device) {
        st->st_rdev = f->device->id << 8 | f->unit;
        st->st_size = device_size(f->device, f->unit);
    }
    return 0;
}

/* Have this function make the inode durable. Return its error, or one that was
 * not reported yet. */
static inline int flush(struct file *f, int (*flush_inode)(struct inode *))
{
    if (f->type != FILE_INODE)
        return -EINVAL;
    HOLD(inode, f->inode);
    TRY(ivalid(f->inode));
    int error = flush_inode(f->inode);
    int lost = ext2_lost_since(f->inode, &f->told, true);
    return error ?: lost;
}

int file_fsync(struct file *f)
{
    return flush(f, ext2_flush);
}

int file_fdatasync(struct file *f)
{
    return flush(f, ext2_fdatasync);
}

/* Have the device carry out a request of its own. */
int file_ioctl(struct file *f, u32 request, u64 arg)
{
    if (f->type != FILE_DEVICE || !f->device->ioctl)
        return -ENOTTY;
    return f->device->ioctl(f->unit, request, arg);
}
