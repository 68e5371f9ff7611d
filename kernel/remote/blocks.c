/*
 * Blocks of remote files, as commands of a disk: READ, WRITE and COMMIT.
 *
 * - The disk's scheduler has chosen a command, and up to CARRIERS processes
 *   carry out one each. A command's blocks are neighbours in one file, and have
 *   at most TRANSFER_BYTES.
 * - A WRITE command goes: first (in m->first) - carried - aside - done. Aside
 *   means: the server has the data and may still lose them, and the disk may
 *   have another command in the meantime. Once no WRITE is in an earlier state,
 *   or ASIDE commands are aside, all commands that are aside are committed,
 *   file by file. A command whose verifier differs from the COMMIT's is carried
 *   again.
 * - Only bytes of the file are written: up to its size, as this client has it.
 * - A block that the server does not have, as it is behind the end there, is
 *   read as zeros.
 */
#include "kernel/cache/bio.h"
#include "kernel/machine/mem.h"
#include "kernel/proc/proc.h"
#include "kernel/remote/internal.h"

COUNTER_WITH(again, "remote.written_again", "calls",
             "WRITEs made again, as the server had lost them", &remote_used);

enum stable write_as;

/* Take the first command off the queue, which is not empty. Caller holds
 * m->lock. */
static struct io *pop(struct mount *m)
{
    struct io *io = m->first;
    m->first = io->held;
    if (!m->first)
        m->last = &m->first;
    io->held = NULL;
    return io;
}

/* Put a command at the end of the queue. Caller holds m->lock. */
static void push(struct mount *m, struct io *io)
{
    io->held = NULL;
    *m->last = io;
    m->last = &io->held;
    m->writes += io->request.write;
    wakeup(&m->first);
}

/* Queue a command that the scheduler has chosen, for a carrier. */
void blocks_carry(struct disk *d, struct io *io)
{
    struct mount *m = d->mapping;
    HOLD(spin, &m->lock);
    push(m, io);
}

/* ---- the bytes of a command ---- */

struct place {
    struct file *file;
    u64 offset;
    u32 bytes;
};

/* Return the file and the bytes of a command. Each file has a run of sectors of
 * its own. */
static struct place place_of_command(struct mount *m, const struct io *io)
{
    u64 block_sectors = bio_block_bytes() / SECTOR_BYTES;
    u64 run_sectors = EXT2_ELSEWHERE_BLOCKS * block_sectors;
    u64 sector = io->request.sector;
    struct place p = {.file = file_at(m, sector / run_sectors),
                      .offset = sector % run_sectors * SECTOR_BYTES};
    for (; io; io = io_next(io))
        p.bytes += io->span.bytes;
    return p;
}

/* Move n bytes between data and the command, from its byte `at` on; data NULL:
 * zeros. */
static void move(struct io *io, u32 at, u8 *data, u32 n)
{
    for (; io && n; io = io_next(io)) {
        u32 skip = MIN(at, io->span.bytes);
        u32 piece = MIN(io->span.bytes - skip, n);
        u8 *here = (u8 *)io->span.data + skip;
        if (!data)
            memset(here, 0, piece);
        else if (io->request.write)
            memcpy(data, here, piece);
        else
            memcpy(here, data, piece);
        data = data ? data + piece : NULL;
        at -= skip;
        n -= piece;
    }
}

/* ---- READ ---- */

/* Read some bytes. Returns how many, and sets whether the file ends there; or
 * -errno. */
static int read_some(struct mount *m, struct io *io, const struct place *p,
                     u32 done, bool *end)
{
    struct attributes a;
    u32 n, want = p->bytes - done;
    OWNED(call) struct call *c = nfs_begin(NFS_READ, p->file);
    xdr_put64(&c->out, p->offset + done);
    xdr_put(&c->out, want);
    TRY(nfs_send(m, c));
    take_post(&c->in, &a);
    xdr_u32(&c->in); /* the number of bytes, which comes again */
    *end = xdr_bool(&c->in);
    u8 *data = xdr_bytes(&c->in, &n, want);
    if (!data || (n == 0 && !*end))
        return -EIO;
    move(io, done, data, n);
    return n;
}

/* Carry a READ command, by as many calls as it takes. Behind the file's end all
 * is zero. */
static void carry_read(struct mount *m, struct io *io)
{
    struct place p = place_of_command(m, io);
    u32 done = 0;
    bool end = false;
    int n = 0;
    while (done < p.bytes && n >= 0 && !end) {
        n = read_some(m, io, &p, done, &end);
        done += MAX(n, 0);
    }
    move(io, done, NULL, p.bytes - done);
    if (n < 0)
        p.file->error = n;
    disk_ended(m->disk, io, n < 0 ? -EIO : 0);
}

/* ---- WRITE ---- */

struct written {
    u32 done;
    enum stable stable; /* the least of the answers */
    u64 verifier;       /* of the first */
    bool differs;       /* another answer has another one */
};

/* Send the command's bytes from w->done to `end` by one WRITE call. w gathers
 * what the replies say. */
static int write_some(struct mount *m, struct io *io, const struct place *p,
                      u32 end, struct written *w)
{
    u32 n = end - w->done;
    OWNED(call) struct call *c = nfs_begin(NFS_WRITE, p->file);
    xdr_put64(&c->out, p->offset + w->done);
    xdr_put(&c->out, n);
    xdr_put(&c->out, write_as);
    xdr_put(&c->out, n);
    u8 *data = c->out.at;
    xdr_pad(&c->out, n);
    move(io, w->done, data, n);
    TRY(nfs_send(m, c));
    take_wcc(c, m, p->file);
    u32 did = xdr_u32(&c->in);
    enum stable stable = xdr_u32(&c->in);
    u64 verifier = xdr_u64(&c->in);
    if (c->in.bad || did == 0 || did > n)
        return -EIO;
    w->differs |= w->done && verifier != w->verifier;
    w->verifier = w->done ? w->verifier : verifier;
    w->stable = MIN(w->stable, stable);
    w->done += did;
    return 0;
}

/* Return how many bytes of the command lie in the file. */
static u32 bytes_in_file(struct mount *m, const struct place *p)
{
    HOLD(spin, &m->lock);
    u64 size = p->file->ip ? p->file->ip->size : p->file->size;
    if (p->file->gone || size <= p->offset)
        return 0;
    return MIN(p->bytes, size - p->offset);
}

/* Write a command: true if it is aside now. Else it has ended, with *error. */
static bool write_command(struct mount *m, struct io *io, int *error)
{
    struct place p = place_of_command(m, io);
    u32 end = bytes_in_file(m, &p);
    struct written w;
    do {
        w = (struct written){.stable = FILE_SYNC};
        *error = 0;
        while (w.done < end && !*error)
            *error = write_some(m, io, &p, end, &w);
    } while (!*error && w.differs);
    if (*error == -ESTALE && !p.file->ip)
        *error = 0; /* nobody has the file any more */
    if (*error)
        p.file->error = *error;
    if (*error || w.stable == FILE_SYNC)
        return false;
    HOLD(spin, &m->lock);
    m->aside[m->naside++] = (struct aside){io, p.file, w.verifier};
    return true;
}

/* ---- COMMIT ---- */

/* Commit a file: 0 and the server's verifier; or -errno. */
static int commit_file(struct mount *m, struct file *f, u64 *verifier)
{
    OWNED(call) struct call *c = nfs_begin(NFS_COMMIT, f);
    xdr_put64(&c->out, 0); /* from the beginning */
    xdr_put(&c->out, 0);   /* to the end */
    TRY(nfs_send(m, c));
    take_wcc(c, m, f);
    *verifier = xdr_u64(&c->in);
    return c->in.bad ? -EIO : 0;
}

/* End a command that was committed, or failed; if the server has started again
 * since its WRITE, queue it again. */
static void end_aside(struct mount *m, struct aside *a, int error, u64 verifier)
{
    disk_aside(m->disk, false);
    if (error) {
        a->file->error = error;
        disk_ended(m->disk, a->command, -EIO);
    } else if (a->verifier == verifier) {
        disk_ended(m->disk, a->command, 0);
    } else {
        count(&again, 1);
        HOLD(spin, &m->lock);
        push(m, a->command);
    }
}

/* Commit all commands that are aside. Others may be put aside meanwhile. */
static void commit_all(struct mount *m)
{
    struct aside all[ASIDE];
    u32 n;
    {
        HOLD(spin, &m->lock);
        n = m->naside;
        memcpy(all, m->aside, n * sizeof *all);
        m->naside = 0;
    }
    for (u32 i = 0; i < n; i++) {
        struct file *f = all[i].file;
        u64 verifier = 0;
        int error = f ? commit_file(m, f, &verifier) : 0;
        for (u32 j = i; f && j < n; j++)
            if (all[j].file == f) {
                end_aside(m, &all[j], error, verifier);
                all[j].file = NULL;
            }
    }
}

/* Carry a WRITE command: it ends, or is aside. Commit when no WRITE is under
 * way, or too many are aside. */
static void carry_write(struct mount *m, struct io *io)
{
    int error;
    bool aside = write_command(m, io, &error), due;
    if (aside)
        disk_aside(m->disk, true);
    else
        disk_ended(m->disk, io, error ? -EIO : 0);
    {
        HOLD(spin, &m->lock);
        m->writes--;
        due = m->naside && (!m->writes || m->naside > ASIDE - CARRIERS);
    }
    if (due)
        commit_all(m);
}

/* ---- the processes ---- */

/* Wait for a command, and return it. */
static struct io *next_command(struct mount *m)
{
    HOLD(spin, &m->lock);
    while (!m->first)
        sleep_on(&m->first, &m->lock);
    return pop(m);
}

/* A process that carries commands, one at a time. */
static void carrier(void *arg)
{
    struct mount *m = arg;
    for (;;) {
        struct io *io = next_command(m);
        trace(TRACE_carried, m->disk->id, io->request.sector, myproc()->pid,
              io->request.write ? TRACE_WRITE : 0);
        (io->request.write ? carry_write : carry_read)(m, io);
    }
}

/* Start the carriers that do not run yet. Return 0 or -ENOMEM. */
int blocks_start(struct mount *m)
{
    for (; m->ncarriers < CARRIERS; m->ncarriers++)
        if (!kthread_try("nfsiod", carrier, m))
            return -ENOMEM;
    return 0;
}
