/* Declarations that the files of this room share. */
#pragma once

#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/disk/disk.h"
#include "kernel/measure/trace.h"
#include "kernel/net/net.h"
#include "kernel/nfs/protocol.h"
#include "kernel/proc/sleep.h"
#include "kernel/remote/consistency.h"
#include "kernel/remote/remote.h"

#define FILES      4096 /* known at a time; no file has number 0 */
#define FILE_PAGES 512
#define BUCKETS    64
#define CARRIERS   4  /* calls for blocks at a time: biod processes of 4.3BSD */
#define ASIDE      64 /* WRITE calls that wait for a COMMIT, at most */
#define CHANGES    8  /* kept until the ones before them come */

/* ---- call.c ---- */

struct server {
    u32 host, port; /* of NFS */
    bool silent;    /* the console has said that it does not answer */
    bool given_up;  /* nobody waits for it any more */
};

/* A call: call_take, call_begin, the arguments into `out`, call_send, the
 * results from `in`, call_give. */
struct call {
    struct list link;
    struct socket *socket; /* its own: a repeated call has the same port */
    struct xdr out, in;
    u32 xid;
    u8 message[MESSAGE_BYTES], reply[MESSAGE_BYTES];
};

int calls_start(void); /* memory and sockets, once; 0 or -errno */
struct call *call_take(void);
void call_give(struct call *);
OWNER(call, struct call, call_give)
void call_begin(struct call *, u32 program, u32 version, u32 procedure);

void call_renew(struct call *); /* give it another xid */

/* Send a call until a reply comes, at most `tries` times (0: without limit).
 * Return 0, -EINTR or -ETIMEDOUT; -ENODEV: the server has no such program or
 * procedure; -ESTALE: the server has been given up. */
int call_send(struct call *, struct server *, u32 port, u32 tries);

/* ---- files.c ---- */

/* The attributes that tell one version of a file's contents from another. */
struct stamp {
    u64 size;
    u32 mtime_s, mtime_ns;
};

struct attributes {
    u32 type, mode, nlink, rdev;
    struct stamp stamp;
    u64 used, id;
    u32 atime_s, ctime_s;
};

struct mount;

/* m->lock guards these fields, except the inode, and those that only nfs.c and
 * names.c use: the inode's own lock guards them. `written` and `past` of an
 * open file change only while its inode is locked, too, so the inode's holder
 * reads them without m->lock. A file goes: free - known - free, the oldest
 * first, if no inode in memory belongs to it. */
struct file {
    struct list hash, age;
    u32 number;
    u32 handle_bytes; /* 0: free */
    u8 handle[HANDLE_MOST];
    u64 cookies;                  /* a directory's verifier of cookies */
    struct inode *ip;             /* NULL: it is not in memory */
    u64 owner;                    /* of the file's blocks, for flushes */
    u64 size;                     /* the inode's, while it is not in memory */
    struct attributes attributes; /* the server's last ... */
    bool fresh;                   /* ... which the inode does not have yet */
    bool sure;                    /* `known` is set ... */
    struct stamp known;           /* ... to the version of the blocks */
    bool written;                 /* blocks may be dirty */
    bool gone;                    /* its last name was removed here */
    u64 changed;                  /* m->changes at the last change made here */
    int error;              /* of the last READ, WRITE or COMMIT that failed */
    int lost;               /* error of dirty blocks lost, for the next fsync */
    bool past;              /* nothing is cached: bytes go past the cache */
    u32 opens;              /* opens here, and other uses that keep the row */
    char hidden[32];        /* its hidden name, if it has one */
    struct file *hidden_in; /* ... and its directory */
    struct {                /* for kernel/spritely, kernel/leases */
        struct list due;    /* a recall or an eviction waits */
        u32 opens[2];       /* for reading; for writing too */
        u64 version;        /* of the cached blocks; 0: there are none */
        u32 era;            /* the mount's era at the last open */
        u64 recalled;       /* the last recall's stamp */
        bool calling;       /* a process asks the server about it */
        bool working;       /* it is being recalled */
        bool invalidate;    /* ... and all its blocks are dropped */
        bool unclosed;      /* the server does not know of a close */
        u32 lease;          /* the one that is held ... */
        u64 until_ns;       /* ... and until when */
    } own;
};

struct file *file_at(struct mount *, u32 number);
/* The file of a handle, if it is known. m->lock is held. */
struct file *file_find(struct mount *, const u8 *handle, u32 bytes);
/* The file of a handle, perhaps new; NULL: no memory, or all are in use. */
struct file *file_of_handle(struct mount *, const u8 *handle, u32 bytes);
void files_free(struct mount *);

/* ---- mount.c ---- */

struct mount {
    struct disk *disk;
    struct server server;
    char source[64];
    const struct consistency *consistency;
    u32 root; /* its file's number */
    struct spinlock lock;
    /* lock */
    bool used;
    struct file *pages[FILE_PAGES];
    u32 nfiles;
    struct list hash[BUCKETS], age;
    u64 changes; /* of files, made here */
    u32 opens;   /* of all files */
    struct change {
        u32 number; /* 0: none */
        struct stamp before, after;
    } change[CHANGES];
    u32 next_change;
    struct {                   /* for kernel/spritely */
        struct socket *socket; /* for callbacks; NULL: no such mount yet */
        u32 port;              /* ... and its port */
        u64 epoch;             /* of the server */
        struct list due;       /* files to be recalled */
        u32 era;               /* which began with that epoch */
        u32 asking, nprocesses;
        bool used, hurry;        /* mounted so; the next ping is to come now */
        bool pinging, recalling; /* these processes are at work */
    } spritely;
    /* lock: blocks.c */
    u32 ncarriers; /* processes that run */
    struct io *first, **last;
    u32 writes, naside;
    struct aside {
        struct io *command;
        struct file *file;
        u64 verifier;
    } aside[ASIDE];
};

static inline struct mount *mount_of(const struct inode *ip)
{
    return ext2_disk(ip)->mapping;
}

static inline struct file *file_of(const struct inode *ip)
{
    return file_at(mount_of(ip), ip->ino);
}

extern bool remote_used; /* the counters are shown */

/* ---- message.c ---- */

/* Begin a procedure of NFS that is about a file. */
struct call *nfs_begin(enum nfs_procedure, const struct file *);
void put_file(struct xdr *, const struct file *);
/* Send a call. 0, or the server's error as -errno. */
int nfs_send(struct mount *, struct call *);

int nfs_error(u32 status); /* 0 or -errno */

void take_fattr(struct xdr *, struct attributes *);
bool take_post(struct xdr *, struct attributes *); /* false: not there */
/* Take a wcc_data: the attributes before and after this client's call. */
void take_wcc(struct call *, struct mount *, struct file *);
/* A handle and attributes that follow, or do not: the file, or NULL. began:
 * m->changes before the call was sent. with: the handle may be absent. */
struct file *take_file(struct call *, struct mount *, u64 began, bool optional);

/* ---- attributes.c ---- */

/* Take the attributes that the server has now, unless the file has been changed
 * here since; began: m->changes before the server was asked. */
void attributes_came(struct mount *, struct file *, const struct attributes *,
                     u64 began);
/* Note that a call of this client has changed the file from one version to
 * another; `before` is NULL if the server does not say. */
void change_came(struct mount *, struct file *, const struct stamp *before,
                 const struct attributes *after);
u64 changes_now(struct mount *);

void remote_load(struct inode *);
int remote_error(const struct inode *);
void remote_written(struct inode *);
/* Write the file's dirty blocks: 0 or -errno. A block that cannot be written
 * now stays dirty, as with a disk; one that never can be is dropped. */
int flush_file(struct mount *, struct file *);
int remote_flush(struct inode *);
/* Return the error for dirty blocks that were dropped, but only once; or 0. */
int take_lost(struct file *);
u64 file_end(const struct file *); /* where its last cached block may end */
int remote_open(struct inode *, bool write);
int remote_close(struct inode *, bool write);
void remote_forget(struct inode *);
/* Drop the cached blocks from a byte on. No write of them is under way then. */
void drop_blocks(struct mount *, const struct file *, u64 from, u64 end);

/* ---- names.c ---- */

extern const struct fs_operations remote_operations;
int ask_attributes(struct mount *, struct file *);
/* Count an open; again: only if the file is open already. True if counted. */
bool file_opened(struct mount *, struct file *, bool again);
/* Count a close; after the last one a hidden name is removed. */
void file_closed(struct mount *, struct file *);
void remote_unmounted(struct disk *);

/* ---- blocks.c ---- */

extern enum stable write_as; /* what WRITE asks for: remote_stable= */
void blocks_carry(struct disk *, struct io *);
int blocks_start(struct mount *); /* its processes; 0 or -ENOMEM */
/* Move bytes past the cache: 1, or -errno. 0: the file is not `past`. */
int remote_move(struct inode *, struct uio *);
