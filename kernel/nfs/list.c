/*
 * READDIR and READDIRPLUS.
 *
 * - A cookie is the place in the directory after its entry. Entries stay where
 *   they are while others are made and removed, so a cookie is good for
 *   ever, and the cookies' verifier is always 0.
 * - Entries are taken from the directory some at a time, and it is not locked
 *   while their inodes are looked at.
 */
#include "kernel/nfs/internal.h"

#define ENTRY_BYTES(n) \
    (24 + ROUND_UP(n, 4)) /* in an answer: without the rest */

struct listing {
    struct inode *dir;
    bool plus;       /* with attributes and handles */
    u32 names_bytes; /* that the entries may still have without these */
    u64 place;       /* in the directory, of the next entry */
    bool any, full;  /* an entry is in the answer; the next does not fit */
};

/* Add READDIRPLUS's fields to an entry, if its inode can be read. */
static void put_plus(struct xdr *x, struct inode *dir, const char *name)
{
    OWNED(inode) struct inode *ip = NULL;
    struct xdr start = *x;
    int error = find_name(dir, name, &ip) ?: put_post_of(x, ip);
    xdr_put(x, true);
    if (error ?: put_handle(x, ip)) {
        *x = start;
        xdr_put(x, false);
        xdr_put(x, false);
    }
}

/* Put one entry. If it does not fit, take it back and note that the answer is
 * full. ".." of the exported directory leads to itself. */
static void put_entry(struct xdr *x, struct listing *l, const struct dirent *d,
                      u64 after)
{
    bool stays = l->dir == exported.root && !strcmp(d->name, "..");
    struct xdr start = *x;
    xdr_put(x, true);
    xdr_put64(x, stays ? l->dir->ino : d->ino);
    xdr_put_bytes(x, d->name, d->name_len);
    xdr_put64(x, after);
    if (l->plus && !x->bad)
        put_plus(x, l->dir, d->name);
    l->full = x->bad || ENTRY_BYTES(d->name_len) > l->names_bytes;
    if (l->full) {
        *x = start;
        return;
    }
    l->names_bytes -= ENTRY_BYTES(d->name_len);
    l->place = after;
    l->any = true;
}

/* Take some entries, from the place on, into c->entries. Returns how many
 * bytes; 0 at the end, or -errno. */
static int take_entries(struct call *c, const struct listing *l)
{
    struct uio u = {
        .addr = (u64)c->entries, .left = sizeof c->entries, .offset = l->place};
    TRY(ilock_valid(l->dir));
    TRY(iunlock_with(l->dir, ext2_getdents(l->dir, &u, c->after)));
    return sizeof c->entries - u.left;
}

/* Put the next few entries of the directory. Return the bytes of those taken
 * from it, 0 at the end, or an error. */
static int put_entries(struct call *c, struct listing *l)
{
    int n = take_entries(c, l);
    const struct dirent *d = (void *)c->entries;
    for (u32 i = 0; (u8 *)d < c->entries + MAX(n, 0) && !l->full; i++) {
        put_entry(&c->out, l, d, c->after[i]);
        d = (void *)((u8 *)d + d->length);
    }
    return n;
}

/* Answer with entries, in at most `bytes` from the attributes on. */
static int list(struct call *c, struct listing *l, u32 bytes)
{
    u8 *end = c->out.end, *most = c->out.at + MIN(bytes, TRANSFER_BYTES);
    int n = 1;
    TRY(put_post_of(&c->out, l->dir));
    xdr_put64(&c->out, 0); /* the cookies' verifier */
    if (most < c->out.at + 8)
        return NFS_TOOSMALL;
    c->out.end = most - 8; /* the last two words */
    while (n > 0 && !l->full)
        n = put_entries(c, l);
    c->out.end = end;
    xdr_put(&c->out, false);
    xdr_put(&c->out, n == 0);
    return n < 0 ? n : l->full && !l->any ? NFS_TOOSMALL : 0;
}

/* Take the arguments of either procedure, and list. */
static int serve_list(struct call *c, bool plus)
{
    struct listing l = {.plus = plus};
    TRY(take_handle(c, &c->ip));
    l.dir = c->ip;
    l.place = xdr_u64(&c->in);
    xdr_u64(&c->in); /* the cookies' verifier */
    l.names_bytes = xdr_u32(&c->in);
    u32 bytes = plus ? xdr_u32(&c->in) : l.names_bytes;
    return args_end(c) ?: list(c, &l, bytes);
}

/* READDIR: names and inode numbers. */
int serve_readdir(struct call *c)
{
    return serve_list(c, false);
}

/* READDIRPLUS: also attributes and handles. */
int serve_readdirplus(struct call *c)
{
    return serve_list(c, true);
}
