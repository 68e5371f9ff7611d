/*
 * The file system: ext2, revision 1, with file types, sparse superblocks and
 * large files. This header is the layer's interface; format.h is what
 * lies on the disk.
 *
 * - An inode in memory goes: free -> referenced (iget, namei, idup) -> locked
 *   (ilock: its fields are valid) -> unlocked -> free (iput). The last iput of
 *   an inode without names truncates and frees it on the disk.
 * - Functions that take an inode and say so want it locked; those that take
 *   a path lock for themselves. Errors are negative (-ENOENT ...).
 * - Order of locks: mounts; the tree's (rename, rmdir); a directory before
 *   what is in it, and two directories only under the tree's; the allocator;
 *   buffers. No inode is locked with a buffer held.
 * - Damage found on the disk returns -EIO; where free space or metadata can
 *   no longer be trusted the file system goes read-only, with a message.
 */
#pragma once

#include "kernel/proc/sleep.h"
#include "kernel/cache/stream.h"
#include "kernel/proc/uio.h"

struct disk;
struct fs; /* a mounted file system */

struct inode {
    /* icache lock */
    struct list hash, idle;
    u32 refs;
    u32 ino;
    struct fs *fs;
    struct fs *mounted; /* file system mounted on this directory */
    /* lock */
    struct sleeplock lock;
    bool valid; /* the rest has been read from the disk */
    bool dirty; /* differs from the disk's inode */
    bool named; /* it got a new name since the last fsync */
    u16 mode, nlink;
    u32 rdev;       /* of a device */
    u32 generation; /* of a file on another machine: its number there */
    u64 size;       /* bytes */
    u32 sectors;    /* 512-byte units in use */
    u32 atime_s, mtime_s, ctime_s;
    u32 mtime_ns;  /* the part below a second, kept only in memory; for NFS */
    u32 flags;     /* ext2's i_flags, kept as found */
    u32 block[15]; /* 12 direct, indirect, double, triple */
    u32 next_dir_slot; /* in which block the last search of a directory ended */
    u32 goal;          /* allocator: block after the last one given */
    u32 synced_sectors; /* `sectors` at the last fdatasync; 0: there was none,
                           or the file became smaller since */
    u64 run_block;      /* the last mapping found: from this block of the */
    u32 run_start;      /* file on, run_blocks of them lie in a row on the */
    u32 run_blocks;     /* disk from run_start on */
    u64 synced_size;    /* the size at that fdatasync */
    u64 confirmed_size; /* the size at the last fsync or sync, or when it was
                           read */
};

/*
 * A file system that is elsewhere (kernel/remote): it has the inodes, the paths
 * and the way to the buffer cache of ext2, but its disk holds nothing except
 * the contents of files. What ext2 has in metadata it asks these functions.
 *
 * - The number of an inode is the file system's own; an inode that has been
 *   forgotten may get another one.
 * - Block n of a file is block run_start + n of the disk. load sets the run.
 * - Inodes are locked unless it says otherwise. Results are 0 or -errno.
 */
#define EXT2_ELSEWHERE_BLOCKS (1UL << 20) /* of a file's run, at most */

struct fs_operations {
    /* Bring the inode up to date, at each lock; it is valid if that could be
     * done, else `error` says why not. */
    void (*load)(struct inode *);
    int (*error)(const struct inode *); /* the cause of an -EIO */
    int (*lookup)(struct inode *dir, const char *name, u32 *ino);
    int (*name_of)(struct inode *dir, u32 ino, char name[NAME_BYTES + 1]);
    /* excl: a file that the same call has made before, at a server that has
     * started again since, is no error. target: of a symbolic link, or NULL. */
    int (*make)(struct inode *, const char *name, u32 mode, bool excl,
                const char *target, u32 *);
    int (*link)(struct inode *, struct inode *dir, const char *name);
    int (*remove)(struct inode *dir, const char *name, struct inode *);
    int (*rename)(struct inode *from, const char *name, struct inode *to,
                  const char *new_name);
    int (*set_mode)(struct inode *, u32 mode);
    int (*set_times)(struct inode *, u64 atime_s, u64 mtime_s);
    int (*set_size)(struct inode *, u64 size);
    int (*readlink)(struct inode *, struct uio *);
    int (*getdents)(struct inode *dir, struct uio *);
    int (*statfs)(struct inode *, struct statfs *);
    void (*written)(struct inode *);         /* some of its blocks are dirty */
    int (*flush)(struct inode *);            /* write them */
    int (*open)(struct inode *, bool write); /* a file is being opened */
    /* Once for each open; not locked. */
    int (*close)(struct inode *, bool write);
    /* Move bytes past the cache: 1; or 0, to use the cache; or -errno. */
    int (*move)(struct inode *, struct uio *);
    void (*forget)(struct inode *); /* not locked; icache_lock is held */
    void (*unmounted)(struct disk *);
};

void ext2_init(void);

/* Return the block size in bytes that the disk's superblock names, read outside
 * the cache; or -EIO, or -EINVAL if the disk holds no ext2. */
int ext2_probe(struct disk *);

/* Mount the root, or a disk at a directory (referenced, unlocked; consumed
 * on success). -EINVAL, -EIO, -EBUSY, -ENOTDIR; prints the reason. */
int ext2_mount_root(struct disk *);
int ext2_mount(struct disk *, struct inode *on, u64 flags);
/* Mount a file system that is elsewhere; ino: the number of its root. */
int ext2_mount_elsewhere(struct disk *, struct inode *on, u64 flags,
                         const struct fs_operations *, u32 ino);
/* How often the inode's file system was mounted for writing, by its disk. */
u32 ext2_mount_count(const struct inode *);
struct disk *ext2_disk(const struct inode *); /* of its file system */
/* The number by which its blocks are flushed together (bio.h). */
u64 ext2_owner(const struct inode *);
/* Unmount what is mounted with this root (referenced; consumed in any case).
 * -EBUSY if anything in it is in use, -EINVAL if it is no root, -EIO if delayed
 * writes cannot be written or were lost (lost.h); then it is still mounted. But
 * if the mark that it is whole cannot be written, -EIO and not mounted. */
int ext2_umount(struct inode *root);
/* Write everything and mark every file system clean; for power-off. */
int ext2_shutdown(void);
/* Inodes, summaries, then every delayed write, then the disks' caches. -EIO
 * also, once, if delayed writes were lost or a file system has failed. */
int ext2_sync(void);
/* The i-th mount: its disk, path and whether read-only; false past the last. */
bool ext2_mount_row(u32 i, char *path, size_t n, struct disk **, bool *ro);

struct inode *idup(struct inode *);
void iput(struct inode *);
OWNER(inode, struct inode, iput) /* OWNED(inode) struct inode *ip */
void ilock(struct inode *);      /* -EIO shows later: see ivalid */
void iunlock(struct inode *);
HOLDER(inode, struct inode, ilock, iunlock) /* HOLD(inode, ip) */
int ivalid(struct inode *);      /* locked: 0, or -EIO: could not be read */
int ilock_valid(struct inode *); /* 0; or -EIO, and it is not locked */
/* Unlock; returns the result of what was done while it was locked. */
int iunlock_with(struct inode *, int result);
u64 ext2_inodes_in_use(void); /* in memory with references: leak check */

int fs_writable(struct fs *); /* 0 or -EROFS */

/* Path to inode, referenced, unlocked. Relative paths start at the current
 * process's directory. NAMEI_NOFOLLOW: a final symbolic link itself. On an
 * error the inode is NULL. */
#define NAMEI_NOFOLLOW 1
int namei(const char *path, u32 flags, struct inode **);

/* The inode of a name in a directory; mounts are not crossed. */
int lookup(struct inode *dir, const char *name, struct inode **child);
/* The inode that has this number and generation, in the file system of
 * another: referenced, unlocked. -ESTALE: it has gone. */
int ext2_find(struct inode *other, u32 ino, u32 generation, struct inode **);

/* Functions that make and remove names. Relative paths start at the directory
 * `at`, or if that is NULL at the current process's; without _at, at the
 * process's. */
int ext2_create_at(struct inode *at, const char *path, u64 mode, bool exclusive,
                   struct inode **);
int ext2_mkdir_at(struct inode *at, const char *path, u64 mode);
int ext2_symlink_at(const char *target, struct inode *at, const char *path);
int ext2_link_at(struct inode *, struct inode *at, const char *path);
int ext2_unlink_at(struct inode *at, const char *path);
int ext2_rmdir_at(struct inode *at, const char *path);
int ext2_rename_at(struct inode *at, const char *from, struct inode *to_at,
                   const char *to);
/* open() with O_CREAT: the file made or found; exclusive: -EEXIST if found.
 * A mode with other bits than it may have is -EINVAL. */
#define ext2_create(path, mode, exclusive, out) \
    ext2_create_at(NULL, path, mode, exclusive, out)
int ext2_mknod(const char *path, u64 mode, u64 rdev);
#define ext2_mkdir(path, mode)     ext2_mkdir_at(NULL, path, mode)
#define ext2_symlink(target, path) ext2_symlink_at(target, NULL, path)
int ext2_link(const char *from, const char *to);
#define ext2_unlink(path)     ext2_unlink_at(NULL, path)
#define ext2_rmdir(path)      ext2_rmdir_at(NULL, path)
#define ext2_rename(from, to) ext2_rename_at(NULL, from, NULL, to)
/* The absolute path of a directory (referenced, unlocked). Length with the
 * final 0, or -ERANGE. */
int ext2_path(struct inode *dir, char *out, size_t n);

/* Locked inode; 0 or -errno, the uio says how far it came. read stops at the
 * end of the file; write extends it (-ENOSPC, -EFBIG with what fitted
 * written). */
int ext2_read(struct inode *, struct uio *, struct streams *);
/* Note that a file is being opened, perhaps for writing, and that it is closed,
 * which comes once for each open: a file system elsewhere acts on that. 0 or
 * -errno. ext2_closed: not locked. */
int ext2_opened(struct inode *, bool write);
int ext2_closed(struct inode *, bool write);
/* Note that the file is open and will be read with these streams. */
void ext2_begin_reads(struct inode *, const struct streams *);
/* Note that nothing more is read with these streams. The inode need not be
 * locked. */
void ext2_end_reads(struct inode *, const struct streams *);
int ext2_write(struct inode *, struct uio *);
/* Say that n bytes (0: all to the end) will be read soon, or will not be. If
 * the prefetch policy acts on that, as many are read as it may fill of the
 * cache, or whole blocks are made the next to be evicted. Locked inode of a
 * file. */
void ext2_will_need(struct inode *, u64 offset, u64 n);
void ext2_dont_need(struct inode *, u64 offset, u64 n);
int ext2_truncate(struct inode *, u64 size);
int ext2_readlink(struct inode *, struct uio *);
/* Whole struct dirents while they fit; uio.offset is the place in the
 * directory, to be given back to go on; `after`, if not NULL, has the place
 * after each of them. -EINVAL if not even one fits. */
int ext2_getdents(struct inode *dir, struct uio *, u64 *after);
void ext2_stat(struct inode *, struct stat *);
int ext2_statfs(struct inode *, struct statfs *);
u64 ext2_max_bytes(const struct inode *); /* of a file in its file system */
int ext2_chmod(struct inode *, u64 mode);
int ext2_utime(struct inode *, u64 atime_s, u64 mtime_s);
/* The file's data, indirect blocks and inode on the disk, flushed. -EIO also
 * if the file system has failed: the inode cannot be written then. */
int ext2_fsync(struct inode *);
int ext2_flush(struct inode *); /* ext2_fsync; or elsewhere's flush */
/* The same, but the inode is not waited for if only its times, mode or links
 * have changed since the last ext2_fdatasync: they need not be on the disk. */
int ext2_fdatasync(struct inode *);
/* Delayed writes that were lost (lost.h). The first returns the number that a
 * new open file description of the inode begins with; the second 0, or -EIO if
 * this description has to be told of a loss. */
u64 ext2_lost_before(const struct inode *);
int ext2_lost_since(const struct inode *, u64 *told, bool fsync);
