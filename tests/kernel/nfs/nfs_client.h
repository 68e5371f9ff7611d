/*
 * A small client of the server's, in the same process: each call is encoded
 * here, by other code than the kernel's, answered by rpc_answer, and its reply
 * is kept to be read word by word. Calls and replies lie in memory of just
 * their size, so that a look behind one is found.
 */
#ifndef SLUICE_NFS_CLIENT_H
#define SLUICE_NFS_CLIENT_H

#include "kernel/nfs/internal.h"
#include "tests/kernel/ext2/ext2_rig.h"

#define PORTMAP 100000
#define MOUNT   100005
#define NFS     100003

enum procedure_number {
    GETATTR = 1,
    SETATTR,
    LOOKUP,
    ACCESS,
    READLINK,
    READ,
    WRITE,
    CREATE,
    MKDIR,
    SYMLINK,
    MKNOD,
    REMOVE,
    RMDIR,
    RENAME,
    LINK,
    READDIR,
    READDIRPLUS,
    FSSTAT,
    FSINFO,
    PATHCONF,
    COMMIT,
};

/* Statuses of NFS and types of files, with the names of RFC 1813. */
enum nfs_status {
    NFS3ERR_PERM = 1,
    NFS3ERR_NOENT = 2,
    NFS3ERR_IO = 5,
    NFS3ERR_EXIST = 17,
    NFS3ERR_NOTDIR = 20,
    NFS3ERR_ISDIR = 21,
    NFS3ERR_INVAL = 22,
    NFS3ERR_FBIG = 27,
    NFS3ERR_NAMETOOLONG = 63,
    NFS3ERR_NOTEMPTY = 66,
    NFS3ERR_STALE = 70,
    NFS3ERR_BADHANDLE = 10001,
    NFS3ERR_NOT_SYNC = 10002,
    NFS3ERR_NOTSUPP = 10004,
    NFS3ERR_TOOSMALL = 10005,
};

enum file_type { NF3REG = 1, NF3DIR = 2, NF3LNK = 5 };

struct handle {
    u32 n;
    u8 bytes[64];
};

/* ---- the arguments of the next call ---- */

void arg(u32 word);
void arg64(u64);
void arg_bytes(const void *, u32 n);
void arg_name(const char *);
void arg_handle(const struct handle *);
void arg_nothing_set(void); /* a sattr3 */

/* ---- calls ---- */

extern u32 client_host, client_port, client_xid; /* of the next call */
extern bool client_keeps_xid; /* the next call repeats the last one's */

/* Call a procedure; the accept_stat, with the reply after that to be read.
 * Version 0: the right one. */
u32 rpc(u32 program, u32 version, u32 procedure);
/* Send these bytes instead. False: no reply. */
bool rpc_raw(const u8 *bytes, u32 n);
/* The bytes of the last call, for tests that damage them. */
const u8 *rpc_call(u32 *n);
/* A procedure of NFS, which is accepted: its status. */
u32 nfs(enum procedure_number);

/* ---- the reply ---- */

u32 word(void);
u64 word64(void);
u32 opaque(const u8 **); /* the length */
u32 left(void);          /* bytes that have not been read */
void skip(u32 bytes);
struct handle reply_handle(void);
void check_ended(void); /* all has been read */

/* fattr3. */
struct attributes {
    u32 type, mode, nlink, atime_s, mtime_s, ctime_s;
    u64 size, used, fileid;
};
struct attributes attributes(void);
struct attributes post_attributes(void); /* which are there */
/* wcc_data: true if it has the attributes before; those after are there. */
bool wcc(u64 *size_before);

/* ---- whole calls, which give the status ---- */

extern struct handle root; /* of what is exported */
struct handle mount_path(const char *path);
u32 find(const struct handle *dir, const char *name, struct handle *);
struct handle must_find(const char *name); /* in the root */
u32 make_file(const struct handle *dir, const char *name, struct handle *);
u32 make_dir(const struct handle *dir, const char *name, struct handle *);
u32 write_at(const struct handle *, u64 offset, const void *, u32 n,
             u32 stable);
/* How many bytes were read into out; -status if it failed. */
i64 read_at(const struct handle *, u64 offset, void *out, u32 n);
u32 remove_name_of(const struct handle *dir, const char *name);
u32 rename_to(const struct handle *dir, const char *name,
              const struct handle *to, const char *other);

/* The rig's image, mounted and exported at /m; and all checked and ended. */
void server_begin(const char *script);
void server_end(void);

#endif
