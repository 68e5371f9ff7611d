/*
 * What the files of this room share. A call goes: serve.c receives it; rpc.c
 * finds its procedure in a table, and asks replies.c whether the call is a
 * repetition; portmap.c, mount.c or nfs3.c serves it; serve.c sends the answer.
 */
#pragma once

#include "kernel/base/string.h"
#include "kernel/ext2/ext2.h"
#include "kernel/machine/clock.h"
#include "kernel/nfs/nfs.h"
#include "kernel/nfs/protocol.h"

#define ENTRIES_BYTES 1024
#define POST_BYTES    88 /* of put_post */

/* ---- calls ---- */

struct call {
    struct net_address from;
    u32 xid;
    const struct procedure *procedure;
    u64 sum; /* of all bytes of the call (replies.c) */
    struct xdr in, out;
    struct inode *ip, *other, *made; /* referenced, for the time of the call */
    char name[NAME_BYTES + 1], other_name[NAME_BYTES + 1];
    struct streams streams;        /* READ: the file's */
    u8 entries[ENTRIES_BYTES];     /* READDIR: some of a directory's */
    u64 after[ENTRIES_BYTES / 12]; /* ... and the place after each of them */
    u8 reply[MESSAGE_BYTES];
};

/* A procedure decodes c->in, acts, and encodes the answer into c->out. It
 * returns a status, which is sent before the answer: 0, an error of the kernel
 * (negative) or of NFS. After an error, `absent` words of zero are sent instead
 * of the answer: attributes that are not there. */
struct procedure {
    int (*serve)(struct call *);
    enum {
        ABOUT_NOTHING, /* the procedure decodes all arguments */
        ABOUT_FILE,    /* a handle comes first: c->ip is locked */
        ABOUT_NAME,    /* a handle and a name come first: c->ip, c->name */
    } about;
    bool no_status; /* the answer has none */
    bool once;      /* must not be done twice */
    u8 absent;
};

struct program {
    u32 number, version, port;
    const struct procedure *procedures;
    u32 nprocedures;
    /* Called before NFS reads or changes a file, c->ip, which is not locked.
     * Returns 0; or a status, and then NFS does nothing. NULL: no call. */
    int (*guard)(struct call *, bool write);
};

/* Register a program: the linker gathers these. */
#define PROGRAM(p)                                    \
    static const struct program *const p##_registered \
        __attribute__((used, section("programs"))) = &p

extern const struct program *const __start_programs[];
extern const struct program *const __stop_programs[];
#define PROGRAMS (u32)(__stop_programs - __start_programs)

/* rpc.c: put the answer to a call of these bytes into c->reply. Returns its
 * length; 0: the call gets no answer. */
u32 rpc_answer(struct call *, struct net_address from, u8 *call, u32 bytes);

/* ---- replies.c ---- */

int replies_start(void); /* memory for the answers, once; 0 or -ENOMEM */

enum repeated { REPEATED_NOT, REPEATED_NOW, REPEATED_DONE };

/* Find out whether the call has come before. REPEATED_NOT: no; from now on it
 * counts as being served, until replies_end. REPEATED_NOW: it is being served.
 * REPEATED_DONE: it was served, and c->out has its answer. */
enum repeated replies_begin(struct call *);
void replies_end(const struct call *);

/* ---- export.c ---- */

/* The export that is served; constant while any process serves. */
extern struct exported {
    u32 users;          /* processes that serve */
    struct inode *root; /* referenced */
    u32 disk;           /* its number */
    u64 verifier;       /* of writes */
    char path[PATH_BYTES];
} exported;

int export_begin(const char *path);
void export_end(void);

/* Decode a file's handle. -ESTALE, or NFS_BADHANDLE: it is no handle of this
 * export, and *ip is NULL. */
int take_handle(struct call *, struct inode **ip);
/* Write the handle of an inode that is not locked: 0 or -EIO. */
int put_handle(struct xdr *, struct inode *);
/* Read, or write, a handle as numbers: the inode need not exist any more. */
int take_numbers(struct call *, u32 *ino, u32 *generation);
void put_numbers(struct xdr *, u32 ino, u32 generation);
/* Check that the call has all arguments and nothing else: 0, or an error, and
 * the answer will be GARBAGE_ARGS. */
static inline int args_end(const struct call *c)
{
    return c->in.bad ? -EINVAL : 0;
}

/* ---- attributes.c; inodes are locked and valid ---- */

/* The attributes that a client wants to set: those whose `wants` is true. */
struct wanted {
    bool mode, size, atime, mtime;
    u32 new_mode;
    u64 new_size, new_atime_s, new_mtime_s; /* or UTIME_NOW */
    int error;                              /* why these cannot be set */
};

void take_wanted(struct xdr *, struct wanted *);
/* Set the wanted attributes, first those that may fail. 0 or -errno. */
int set_wanted(struct inode *, const struct wanted *);

void put_attributes(struct xdr *, const struct inode *);
/* Write that attributes follow, and the attributes. */
void put_post(struct xdr *, const struct inode *);
/* put_post of an inode that is not locked: 0 or -EIO. */
int put_post_of(struct xdr *, struct inode *);
/* The size and times before a change, kept until put_wcc. */
struct before {
    u64 size;
    u32 mtime_s, mtime_ns, ctime_s;
};
struct before before(const struct inode *);
void put_wcc(struct xdr *, const struct before *, const struct inode *);
/* Write a changed directory to the disk, with the inode made in it; then
 * put_wcc without `before`. 0 or -EIO. */
int put_changed(struct xdr *, struct inode *);
int make_stable(struct inode *); /* not locked; 0 or -EIO */

/* ---- promises.c ---- */

/* The table of a server that makes promises begins with this. The server's lock
 * guards it. */
struct promises {
    u64 epoch;   /* of the server: its verifier */
    u64 counter; /* of versions and stamps: one number is never used twice */
    u64 grace_ns;
    u32 waiting; /* processes */
};

/* True if the table is there, and of this start of the server. */
bool promises_current(const struct promises *);

/* Begin with an empty table of so many bytes if the server has started since
 * the last call. 0 or -ENOMEM. */
int promises_start(struct promises **, u64 bytes, const char *mark,
                   u64 grace_ns, struct spinlock *);

int promises_mark(const char *mark); /* make the file, durably */

/* Count a process that waits for a client (`waiting`); false: it may not. One
 * serves the port mapper, and at least half of the others serve calls
 * meanwhile. */
bool promises_may_wait(struct promises *);

/* ---- reads.c; the inode is locked ---- */

/* Fetch the file's streams of reads from the table; put them back into it. */
void reads_begin(const struct inode *, struct streams *);
void reads_end(struct inode *, const struct streams *);

/* ---- names.c ---- */

/* A directory's handle and a name: 0, or a status. */
int take_name(struct call *, struct inode **dir, char name[NAME_BYTES + 1]);
/* The inode of a name; the export is its own parent. */
int find_name(struct inode *dir, const char *name, struct inode **);

/* ---- nfs3.c, and the procedures of NFS in files.c, names.c and list.c ---- */

/* Serve c->procedure: its status. */
int serve_procedure(struct call *);

/* X(name, about, must not be done twice, words after an error), in their order
 */
#define NFS_PROCEDURES(X)             \
    X(null, NOTHING, false, 0)        \
    X(getattr, FILE, false, 0)        \
    X(setattr, FILE, true, 2)         \
    X(lookup, NAME, false, 1)         \
    X(access, FILE, false, 1)         \
    X(readlink, FILE, false, 1)       \
    X(read, FILE, false, 1)           \
    X(write, FILE, true, 2)           \
    X(create, NAME, true, 2)          \
    X(mkdir, NAME, true, 2)           \
    X(symlink, NAME, true, 2)         \
    X(mknod, NOTHING, false, 2)       \
    X(remove, NAME, true, 2)          \
    X(rmdir, NAME, true, 2)           \
    X(rename, NAME, true, 4)          \
    X(link, NOTHING, true, 3)         \
    X(readdir, NOTHING, false, 1)     \
    X(readdirplus, NOTHING, false, 1) \
    X(fsstat, FILE, false, 1)         \
    X(fsinfo, FILE, false, 1)         \
    X(pathconf, FILE, false, 1)       \
    X(commit, FILE, false, 2)

#define X(name, about, once, absent) int serve_##name(struct call *);
NFS_PROCEDURES(X)
#undef X

/* Counters: nfs.damaged. */
void nfs_damaged(void);
extern bool nfs_has_served; /* the counters are shown */
