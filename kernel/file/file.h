/*
 * Open files: what a descriptor stands for. Pipes, inodes and devices.
 */
#pragma once

#include "kernel/ext2/ext2.h"

#define MAX_FILES 1024 /* open in the system */

struct device;
struct pipe;

struct file {
    u32 refs; /* file_table.lock: descriptors that share it */
    enum { FILE_NONE, FILE_PIPE, FILE_INODE, FILE_DEVICE, FILE_SOCKET } type;
    u32 flags;                   /* O_... as opened */
    struct inode *inode;         /* FILE_INODE, FILE_DEVICE; referenced */
    struct pipe *pipe;           /* FILE_PIPE */
    struct socket *socket;       /* FILE_SOCKET */
    const struct device *device; /* FILE_DEVICE */
    u32 unit;
    u64 until;              /* FILE_DEVICE: where its text ends (device.h) */
    struct sleeplock lock;  /* one transfer at a time moves offset */
    u64 offset;             /* lock */
    struct streams streams; /* inode's lock: for the prefetch policy */
    u64 told;               /* FILE_INODE: of losses up to this (lost.h) */
    struct file *next_free; /* file_table.lock: while it has no refs */
};

void file_init(void);
struct file *file_alloc(u32 flags);   /* one reference; NULL: table full */
struct file *file_dup(struct file *); /* one more */
/* Count one use less; the last closes. NULL: nothing. -EIO: a delayed write was
 * lost, which fsync has not reported; it is closed all the same. */
int file_close(struct file *);

int file_open(const char *path, u32 flags, u64 mode, struct file **);
/* Open the console without a path: init's first descriptors. */
int file_open_device(u32 number, u32 flags, struct file **);
int file_open_socket(u64 kind, u64 port, struct file **);
/* Read or (uio.write) write: bytes or -errno. own: at the file's own offset,
 * which moves; else at uio.offset. */
i64 file_io(struct file *, struct uio *, bool own);
i64 file_seek(struct file *, i64 offset, int whence);
int file_advise(struct file *, u64 offset, u64 n, u32 advice);
i64 file_getdents(struct file *, struct uio *); /* bytes of struct dirent */
int file_stat(struct file *, struct stat *);
/* Fill in the result of stat for a locked inode: like ext2_stat, with a
 * device's size. 0. */
int file_stat_inode(struct inode *, struct stat *);
int file_ioctl(struct file *, u32 request, u64 arg);
/* All that was written to the file is on the disk: 0. -EIO if it is not, or if
 * a part was lost (lost.h). */
int file_fsync(struct file *);
int file_fdatasync(struct file *);

/* pipe.c; on an error pipe_make stores nothing */
int pipe_make(struct file **reader, struct file **writer);
void pipe_close(struct pipe *, bool writer);
i64 pipe_read(struct pipe *, struct uio *);
i64 pipe_write(struct pipe *, struct uio *);
