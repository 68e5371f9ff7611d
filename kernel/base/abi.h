/*
 * What the kernel and user programs agree on: system call numbers, error
 * numbers, flags, and the structures that cross the boundary.
 *
 * - A system call takes its number in a7 and up to six arguments in a0-a5;
 *   it returns in a0 a value >= 0, or minus one of the E numbers below.
 * - Error numbers, mode bits and open flags have Linux's values, so that an
 *   image's modes mean the same to Linux.
 * - Times are nanoseconds. CLOCK_VIRTUAL counts from power-on, CLOCK_WALL
 *   from 1970-01-01 UTC.
 */
#pragma once

#include "kernel/base/types.h"

/* System calls: X(name, arguments). The number is the position, from 1. */
#define SYSCALLS(X)                                                            \
    X(fork, 0)       /* () pid of the child, 0 in the child */                 \
    X(exit, 1)       /* (status) does not return; status & 255 is kept */      \
    X(wait, 3)       /* (pid or -1, int *status, WNOHANG) pid of the dead */   \
    X(exec, 2)       /* (path, argv) */                                        \
    X(kill, 1)       /* (pid; -pgrp: the whole group) */                       \
    X(getpid, 0)     /* () */                                                  \
    X(getppid, 0)    /* () */                                                  \
    X(setpgrp, 2)    /* (pid or 0 for self, pgrp or 0 for pid) */              \
    X(sbrk, 1)       /* (increment) the old end of the heap */                 \
    X(sleep, 1)      /* (ns) */                                                \
    X(gettime, 1)    /* (CLOCK_...) ns */                                      \
    X(rusage, 2)     /* (RUSAGE_..., struct rusage *) */                       \
    X(poweroff, 2)   /* (exit status for the host, sync first?) */             \
    X(open, 3)       /* (path, flags, mode) descriptor */                      \
    X(close, 1)      /* (fd) */                                                \
    X(read, 3)       /* (fd, buf, n) bytes, 0 at the end */                    \
    X(write, 3)      /* (fd, buf, n) bytes */                                  \
    X(lseek, 3)      /* (fd, offset, SEEK_...) the new offset */               \
    X(pread, 4)      /* (fd, buf, n, offset) */                                \
    X(pwrite, 4)     /* (fd, buf, n, offset) */                                \
    X(dup, 1)        /* (fd) the lowest free descriptor */                     \
    X(dup2, 2)       /* (fd, to) */                                            \
    X(pipe, 1)       /* (int fd[2]) fd[0] reads, fd[1] writes */               \
    X(ioctl, 3)      /* (fd, TTY_..., argument) */                             \
    X(fstat, 2)      /* (fd, struct stat *) */                                 \
    X(stat, 2)       /* (path, struct stat *) */                               \
    X(lstat, 2)      /* (path, struct stat *): of a link itself */             \
    X(statfs, 2)     /* (path, struct statfs *) */                             \
    X(getdents, 3)   /* (fd, buf, n) bytes of struct dirent, 0 at the end */   \
    X(link, 2)       /* (existing, new) */                                     \
    X(symlink, 2)    /* (target text, new) */                                  \
    X(readlink, 3)   /* (path, buf, n) bytes, no 0 appended */                 \
    X(unlink, 1)     /* (path) not a directory */                              \
    X(mkdir, 2)      /* (path, mode) */                                        \
    X(rmdir, 1)      /* (path) */                                              \
    X(mknod, 3)      /* (path, mode with S_IFCHR, device number) */            \
    X(rename, 2)     /* (old, new): atomic, replaces new */                    \
    X(chmod, 2)      /* (path, mode) */                                        \
    X(utime, 3)      /* (path, access s, modification s since 1970) */         \
    X(truncate, 2)   /* (path, size) */                                        \
    X(ftruncate, 2)  /* (fd, size) */                                          \
    X(chdir, 1)      /* (path) */                                              \
    X(getcwd, 2)     /* (buf, n) length with the final 0 */                    \
    X(mount, 3)      /* (disk name as "disk1", directory, MS_...) */           \
    X(umount, 2)     /* (directory, 1: the server is given up) */              \
    X(sync, 0)       /* () all delayed writes done, disk caches flushed */     \
    X(fsync, 1)      /* (fd) this file's delayed writes done and flushed */    \
    X(smoothsync, 1) /* (age ns) write what has been dirty at least so long */ \
    X(advise, 4)     /* (fd, offset, n, ADVICE_...) how it will be read */     \
    X(charge, 1)     /* (instructions) they pass; ENOSYS: time is counted */   \
    X(socket, 2)     /* (SOCKET_..., port, 0: a free one) descriptor */        \
    X(sendto, 4)     /* (fd, buf, n, const struct net_address *) n */          \
    X(recvfrom, 5)   /* (fd, buf, n, struct net_address *, ns; 0: for ever) */ \
    X(nfssvc, 2)     /* (socket, directory) serve it by NFS until killed */    \
    X(fdatasync, 1)  /* (fd) fsync without what only says when it changed */

enum syscall_number {
    SYS_none,
#define X(name, nargs) SYS_##name,
    SYSCALLS(X)
#undef X
        SYS_count
};

/* Errors: E(name, number, words). */
#define ERRORS(E)                                          \
    E(EPERM, 1, "operation not permitted")                 \
    E(ENOENT, 2, "no such file or directory")              \
    E(ESRCH, 3, "no such process")                         \
    E(EINTR, 4, "interrupted")                             \
    E(EIO, 5, "input/output error")                        \
    E(ENXIO, 6, "no such device")                          \
    E(E2BIG, 7, "argument list too long")                  \
    E(ENOEXEC, 8, "not an executable")                     \
    E(EBADF, 9, "bad file descriptor")                     \
    E(ECHILD, 10, "no child process")                      \
    E(EAGAIN, 11, "no more processes")                     \
    E(ENOMEM, 12, "out of memory")                         \
    E(EFAULT, 14, "bad address")                           \
    E(EBUSY, 16, "device or file busy")                    \
    E(EEXIST, 17, "file exists")                           \
    E(EXDEV, 18, "link across file systems")               \
    E(ENODEV, 19, "operation not supported by the device") \
    E(ENOTDIR, 20, "not a directory")                      \
    E(EISDIR, 21, "is a directory")                        \
    E(EINVAL, 22, "invalid argument")                      \
    E(ENFILE, 23, "too many open files in the system")     \
    E(EMFILE, 24, "too many open files")                   \
    E(ENOTTY, 25, "not a terminal")                        \
    E(EFBIG, 27, "file too large")                         \
    E(ENOSPC, 28, "no space left on the disk")             \
    E(ESPIPE, 29, "cannot seek")                           \
    E(EROFS, 30, "read-only file system")                  \
    E(EMLINK, 31, "too many links")                        \
    E(EPIPE, 32, "broken pipe")                            \
    E(ERANGE, 34, "result too large")                      \
    E(ENAMETOOLONG, 36, "name too long")                   \
    E(ENOSYS, 38, "no such system call")                   \
    E(ENOTEMPTY, 39, "directory not empty")                \
    E(ELOOP, 40, "too many symbolic links")                \
    E(EMSGSIZE, 90, "message too long")                    \
    E(EADDRINUSE, 98, "address already in use")            \
    E(ETIMEDOUT, 110, "timed out")                         \
    E(EHOSTUNREACH, 113, "host cannot be reached")         \
    E(ESTALE, 116, "stale file handle")

enum error_number {
#define E(name, number, words) name = number,
    ERRORS(E)
#undef E
};

/* open() */
#define O_RDONLY    0
#define O_WRONLY    1
#define O_RDWR      2
#define O_ACCMODE   3
#define O_CREAT     0x40
#define O_EXCL      0x80
#define O_TRUNC     0x200
#define O_APPEND    0x400
#define O_DIRECTORY 0x10000  /* fail with ENOTDIR unless a directory */
#define O_NOFOLLOW  0x20000  /* fail with ELOOP on a symbolic link */
#define O_SYNC      0x101000 /* every write is through to the disk */

#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2

/* st_mode */
#define S_IFMT      0170000
#define S_IFIFO     0010000
#define S_IFCHR     0020000
#define S_IFDIR     0040000
#define S_IFBLK     0060000
#define S_IFREG     0100000
#define S_IFLNK     0120000
#define S_IFSOCK    0140000
#define S_ISREG(m)  (((m)&S_IFMT) == S_IFREG)
#define S_ISDIR(m)  (((m)&S_IFMT) == S_IFDIR)
#define S_ISLNK(m)  (((m)&S_IFMT) == S_IFLNK)
#define S_ISCHR(m)  (((m)&S_IFMT) == S_IFCHR)
#define S_ISFIFO(m) (((m)&S_IFMT) == S_IFIFO)

struct stat {
    u32 st_dev;     /* which mounted disk */
    u32 st_ino;     /* inode number */
    u32 st_mode;    /* type and permission bits */
    u32 st_nlink;   /* names */
    u32 st_rdev;    /* device number of a device */
    u32 st_blksize; /* bytes in a block */
    u64 st_size;    /* bytes */
    u64 st_blocks;  /* 512-byte units in use, indirect blocks included */
    u64 st_atime_s; /* last read, s since 1970 */
    u64 st_mtime_s; /* last write */
    u64 st_ctime_s; /* last change of the inode */
};

/* A file system stores the seconds from 1970 to February 2106 (32 bits without
 * a sign). utime refuses others; UTIME_NOW is the kernel's time, or the last
 * second if that is past it. */
#define UTIME_NOW (~0UL)

struct statfs {
    char disk[16];   /* "disk0" */
    u32 block_size;  /* bytes */
    u32 read_only;   /* 1 if mounted or fallen back to read-only */
    u64 blocks;      /* for data: the file system less its own metadata */
    u64 free_blocks; /* not in use */
    u64 inodes;
    u64 free_inodes;
};

#define NAME_BYTES 255  /* in one name, without the final 0 */
#define PATH_BYTES 1024 /* in a path, with the final 0 */

/* getdents() returns these packed, each `length` bytes from the next. */
struct dirent {
    u32 ino;
    u16 length;  /* of this record, a multiple of 4 */
    u8 type;     /* DT_... */
    u8 name_len; /* bytes in name, without the final 0 */
    char name[]; /* ends in 0 */
};
#define DT_REG  1 /* the types are ext2's; 0: not known */
#define DT_DIR  2
#define DT_CHR  3
#define DT_BLK  4
#define DT_FIFO 5
#define DT_SOCK 6
#define DT_LNK  7

/* wait() */
#define WNOHANG 1
/* The status wait() stores: exit status, or WKILLED if kill() ended it. */
#define WKILLED 0x100

/* gettime() */
#define CLOCK_VIRTUAL 0
#define CLOCK_WALL    1

/* rusage() */
#define RUSAGE_SELF     0
#define RUSAGE_CHILDREN 1 /* those waited for, and theirs */
struct rusage {
    u64 user_ns;
    u64 system_ns;
};

/* advise(): how an open file will be used. The first three concern the whole
 * file, with offset and n 0; the others n bytes from offset on (n 0: up to the
 * end). The prefetch policy decides what follows from it. */
#define ADVICE_NORMAL     0
#define ADVICE_RANDOM     1 /* reads will be in no order */
#define ADVICE_SEQUENTIAL 2 /* each read will begin where one ended */
#define ADVICE_WILLNEED   3 /* these bytes will be read soon */
#define ADVICE_DONTNEED   4 /* they will not be read again soon */

/* The console's device number, in st_rdev. */
#define CONSOLE_NUMBER 0x100

/* ioctl() on the console */
#define TTY_COOKED      1 /* lines, echo, ^U ^D, ^C to the foreground group */
#define TTY_RAW         2 /* every byte as it comes, no echo; ^C is a byte */
#define TTY_FOREGROUND  3 /* argument: the process group that ^C kills */
#define TTY_INTERRUPTED 4 /* ^C was typed. Raw: bytes up to it are dropped */

/* socket(): datagrams of UDP, or of ICMP echo requests and replies */
#define SOCKET_UDP  1
#define SOCKET_ECHO 2

/* The address that a datagram goes to, or comes from. */
struct net_address {
    u32 host; /* 10.0.0.1 is 0x0a000001 */
    u32 port; /* of UDP; the sequence number of an echo */
};

/* mount() */
#define MS_RDONLY 1
