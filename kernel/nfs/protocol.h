/*
 * The parts that the server and the client (kernel/remote) share: XDR (RFC
 * 4506), and the numbers of ONC RPC (RFC 5531), MOUNT and NFS, version 3 (RFC
 * 1813).
 */
#pragma once

#include "kernel/base/types.h"

#define PORTMAP_PORT 111
#define NFS_PORT     2049

#define TRANSFER_BYTES \
    8192 /* of READ, WRITE, READDIR, at most: FSINFO says so */
#define HEAD_BYTES    1024 /* more than anything around them */
#define MESSAGE_BYTES (TRANSFER_BYTES + HEAD_BYTES)

#define PORTMAP_PROGRAM 100000
#define MOUNT_PROGRAM   100005
#define NFS_PROGRAM     100003

#define MAP_GETPORT 3 /* procedures */
#define MOUNT_MNT   1
#define MAP_UDP     17 /* the port mapper's number of UDP */

#define RPC_VERSION 2
#define AUTH_SYS    1
#define AUTH_MOST   400 /* bytes of a credential */
#define HANDLE_MOST 64  /* bytes of any server's handle of a file */

enum { RPC_CALL, RPC_REPLY };

/* Procedures of NFS that clients call. */
enum nfs_procedure {
    NFS_GETATTR = 1,
    NFS_SETATTR,
    NFS_LOOKUP,
    NFS_READLINK = 5,
    NFS_READ,
    NFS_WRITE,
    NFS_CREATE,
    NFS_MKDIR,
    NFS_SYMLINK,
    NFS_REMOVE = 12,
    NFS_RMDIR,
    NFS_RENAME,
    NFS_LINK,
    NFS_READDIR,
    NFS_FSSTAT = 18,
    NFS_COMMIT = 21,
};

#define NFS_REG 1 /* the type of a plain file */

/* How CREATE treats an existing name: it succeeds; or it fails; or it fails
 * unless this client has made the file with the same verifier. */
enum how { UNCHECKED, GUARDED, EXCLUSIVE };

/* How stable a WRITE's data must be when it is answered. */
enum stable { UNSTABLE, DATA_SYNC, FILE_SYNC };

/* ---- xdr.c ---- */

/*
 * A cursor over a message that is read or made. A field that does not fit sets
 * `bad`. Then every read gives zeros and every write does nothing, so a
 * function decodes all its arguments and checks `bad` once.
 */
struct xdr {
    u8 *at, *end;
    bool bad;
};

/* The next n bytes, which are padded to whole words; NULL: bad. */
u8 *xdr_skip(struct xdr *, u32 n);

u32 xdr_u32(struct xdr *);
u64 xdr_u64(struct xdr *);
bool xdr_bool(struct xdr *);
/* Bytes of a variable length: at most `most`. NULL: bad. */
u8 *xdr_bytes(struct xdr *, u32 *n, u32 most);

void xdr_put(struct xdr *, u32 word);
void xdr_put64(struct xdr *, u64);
void xdr_put_bytes(struct xdr *, const void *, u32 n);
void xdr_put_text(struct xdr *, const char *);
/* End the n bytes that have been made at the cursor: their padding. */
void xdr_pad(struct xdr *, u32 n);

/* ---- rpc.c ---- */

/* The words of a call before the credential's bytes and the verifier. */
struct rpc_head {
    u32 xid, type, rpc, program, version, procedure, flavor;
};

/* Decode a call up to its procedure's arguments. */
struct rpc_head rpc_take_head(struct xdr *);

/* True if it is a call of this procedure of a program's version 1. */
bool rpc_calls(const struct rpc_head *, u32 program, u32 procedure);

/* ---- statuses of NFS that the kernel has not, or by another number ---- */

#define NFS_ACCES       13
#define NFS_NAMETOOLONG 63
#define NFS_NOTEMPTY    66
#define NFS_DQUOT       69
#define NFS_STALE       70
#define NFS_BADHANDLE   10001
#define NFS_NOT_SYNC    10002
#define NFS_NOTSUPP     10004
#define NFS_TOOSMALL    10005
#define NFS_SERVERFAULT 10006
#define NFS_JUKEBOX     10008 /* try again later */
