/*
 * A small client of the NFS server, for its tests: nfs_client.h says what each
 * function does. The next call's arguments gather in `arguments`, and the reply
 * is in `got`, of which `at` bytes have been read.
 *
 * link: kernel/nfs/xdr.c kernel/nfs/rpc.c kernel/nfs/portmap.c
 * link: kernel/nfs/mount.c kernel/nfs/export.c kernel/nfs/replies.c
 * link: kernel/nfs/attributes.c kernel/nfs/files.c kernel/nfs/reads.c
 * link: kernel/nfs/names.c kernel/nfs/list.c kernel/nfs/nfs3.c
 */
#include "tests/kernel/nfs/nfs_client.h"

u32 client_host = 0x0a000002, client_port = 700, client_xid = 1000;
bool client_keeps_xid;
struct handle root;

static u8 arguments[20000];
static u32 narguments;
static u8 *sent, *got;
static u32 nsent, ngot, at;

/* ---- arguments ---- */

void arg(u32 word)
{
    for (u32 i = 0; i < 4; i++)
        arguments[narguments++] = word >> (24 - 8 * i);
}

void arg64(u64 v)
{
    arg(v >> 32);
    arg(v);
}

void arg_bytes(const void *bytes, u32 n)
{
    arg(n);
    memcpy(arguments + narguments, bytes, n);
    narguments += n;
    while (narguments % 4)
        arguments[narguments++] = 0;
}

void arg_name(const char *name)
{
    arg_bytes(name, strlen(name));
}

void arg_handle(const struct handle *h)
{
    arg_bytes(h->bytes, h->n);
}

void arg_nothing_set(void)
{
    for (u32 i = 0; i < 6; i++)
        arg(0);
}

/* ---- calls ---- */

/* Return the version of a program that the server has. */
static u32 version_of(u32 program)
{
    return program == PORTMAP ? 2 : 3;
}

/* Have the server answer these bytes, and keep its reply for word() and the
 * like. False: there is no reply. */
bool rpc_raw(const u8 *bytes, u32 n)
{
    static struct call call;
    u8 *exact = malloc(n);
    memcpy(exact, bytes, n);
    memset(call.reply, 0xa5, sizeof call.reply); /* nobody may get this */
    ngot = rpc_answer(&call, (struct net_address){client_host, client_port},
                      exact, n);
    shim_check_idle("a call");
    free(exact);
    free(got);
    got = malloc(MAX(ngot, 1));
    memcpy(got, call.reply, ngot);
    at = 0;
    return ngot;
}

/* Make a call with the arguments given so far, and check its reply's head.
 * Returns accept_stat, 0 if the call was accepted. */
u32 rpc(u32 program, u32 version, u32 procedure)
{
    u8 body[sizeof arguments];
    u32 n = narguments;
    memcpy(body, arguments, n);
    narguments = 0;
    client_xid += !client_keeps_xid;
    client_keeps_xid = false;
    arg(client_xid);
    arg(0); /* CALL */
    arg(2);
    arg(program);
    arg(version ? version : version_of(program));
    arg(procedure);
    arg64(0); /* AUTH_NONE, twice */
    arg64(0);
    free(sent);
    nsent = narguments + n;
    sent = malloc(nsent);
    memcpy(sent, arguments, narguments);
    memcpy(sent + narguments, body, n);
    narguments = 0;
    check(rpc_raw(sent, nsent));
    check_eq(word(), client_xid);
    check_eq(word(), 1); /* REPLY */
    check_eq(word(), 0); /* accepted */
    check_eq(word64(), 0);
    return word();
}

const u8 *rpc_call(u32 *n)
{
    *n = nsent;
    return sent;
}

u32 nfs(enum procedure_number procedure)
{
    check_eq(rpc(NFS, 0, procedure), 0);
    return word();
}

/* ---- the reply ---- */

u32 word(void)
{
    check(at + 4 <= ngot);
    u32 v = 0;
    for (u32 i = 0; i < 4; i++)
        v = v << 8 | got[at++];
    return v;
}

u64 word64(void)
{
    u64 high = word();
    return high << 32 | word();
}

u32 left(void)
{
    return ngot - at;
}

void skip(u32 bytes)
{
    check(bytes <= left());
    at += bytes;
}

/* Read bytes of a variable length, whose padding must be 0. Returns the
 * length. */
u32 opaque(const u8 **bytes)
{
    u32 n = word();
    *bytes = got + at;
    skip((n + 3) / 4 * 4);
    for (u32 i = n; i < (n + 3) / 4 * 4; i++)
        check_eq((*bytes)[i], 0);
    return n;
}

void check_ended(void)
{
    check_eq(left(), 0);
}

struct handle reply_handle(void)
{
    struct handle h;
    const u8 *bytes;
    h.n = opaque(&bytes);
    check(h.n && h.n <= sizeof h.bytes);
    memcpy(h.bytes, bytes, h.n);
    return h;
}

struct attributes attributes(void)
{
    struct attributes a;
    a.type = word();
    a.mode = word();
    a.nlink = word();
    check_eq(word64(), 0); /* user and group */
    a.size = word64();
    a.used = word64();
    skip(8 + 8); /* rdev, fsid */
    a.fileid = word64();
    a.atime_s = word();
    word();
    a.mtime_s = word();
    word();
    a.ctime_s = word();
    word();
    return a;
}

struct attributes post_attributes(void)
{
    check_eq(word(), 1);
    return attributes();
}

/* Read what a reply says of the file before and after a change. False: nothing
 * of before, where *size_before becomes 0. */
bool wcc(u64 *size_before)
{
    bool before = word();
    *size_before = before ? word64() : 0;
    if (before)
        skip(16);
    post_attributes();
    return before;
}

/* ---- whole calls ---- */

struct handle mount_path(const char *path)
{
    arg_name(path);
    check_eq(rpc(MOUNT, 0, 1), 0);
    check_eq(word(), 0);
    struct handle h = reply_handle();
    check_eq(word(), 2);
    skip(8);
    check_ended();
    return h;
}

u32 find(const struct handle *dir, const char *name, struct handle *h)
{
    arg_handle(dir);
    arg_name(name);
    u32 status = nfs(LOOKUP);
    if (status) {
        check_eq(word(), 0);
    } else {
        *h = reply_handle();
        post_attributes();
        check_eq(post_attributes().type, 2);
    }
    check_ended();
    return status;
}

struct handle must_find(const char *name)
{
    struct handle h;
    check_eq(find(&root, name, &h), 0);
    return h;
}

/* The reply of CREATE, MKDIR and SYMLINK. */
static u32 made(u32 status, struct handle *h)
{
    u64 size;
    if (status) {
        check_eq(word64(), 0);
    } else {
        check_eq(word(), 1);
        *h = reply_handle();
        post_attributes();
        check(!wcc(&size));
    }
    check_ended();
    return status;
}

u32 make_file(const struct handle *dir, const char *name, struct handle *h)
{
    arg_handle(dir);
    arg_name(name);
    arg(1); /* GUARDED */
    arg_nothing_set();
    return made(nfs(CREATE), h);
}

u32 make_dir(const struct handle *dir, const char *name, struct handle *h)
{
    arg_handle(dir);
    arg_name(name);
    arg_nothing_set();
    return made(nfs(MKDIR), h);
}

/* Write to a file. Check how much was written and how stable it is. */
u32 write_at(const struct handle *h, u64 offset, const void *data, u32 n,
             u32 stable)
{
    u64 size;
    arg_handle(h);
    arg64(offset);
    arg(n);
    arg(stable);
    arg_bytes(data, n);
    u32 status = nfs(WRITE);
    if (status) {
        check_eq(word64(), 0);
    } else {
        check(wcc(&size));
        check_eq(word(), n);
        check_eq(word(), stable ? 2 : 0);
        check_eq(word64(), exported.verifier);
    }
    check_ended();
    return status;
}

i64 read_at(const struct handle *h, u64 offset, void *out, u32 n)
{
    const u8 *bytes;
    arg_handle(h);
    arg64(offset);
    arg(n);
    u32 status = nfs(READ);
    if (status)
        return -(i64)status;
    u64 size = post_attributes().size;
    u32 count = word();
    check_eq(word(), offset + count >= size);
    check_eq(opaque(&bytes), count);
    memcpy(out, bytes, count);
    check_ended();
    return count;
}

u32 remove_name_of(const struct handle *dir, const char *name)
{
    u64 size;
    arg_handle(dir);
    arg_name(name);
    u32 status = nfs(REMOVE);
    if (status)
        check_eq(word64(), 0);
    else
        check(!wcc(&size));
    check_ended();
    return status;
}

u32 rename_to(const struct handle *dir, const char *name,
              const struct handle *to, const char *other)
{
    u64 size;
    arg_handle(dir);
    arg_name(name);
    arg_handle(to);
    arg_name(other);
    u32 status = nfs(RENAME);
    for (u32 i = 0; i < 2; i++)
        if (status)
            check_eq(word64(), 0);
        else
            check(!wcc(&size));
    check_ended();
    return status;
}

/* ---- the server ---- */

void server_begin(const char *script)
{
    static const struct image_options image = {.inodes_per_group = 64};
    rig_make(&image);
    rig_script("mount /m\n");
    rig_script(script);
    nfs_init();
    check_eq(export_begin("/m"), 0);
    root = mount_path("/m");
}

void server_end(void)
{
    export_end();
    rig_end();
}
