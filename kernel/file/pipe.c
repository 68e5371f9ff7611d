/*
 * Pipes: a ring of pages, written at one end and read at the other.
 *
 * - head counts the bytes ever written, tail those ever read; the ring holds
 *   the bytes between. Only the process that has the writing turn moves head,
 *   only the one that has the reading turn moves tail.
 * - Bytes are moved with pipe.lock released, for user memory may have to be
 *   allocated; the turn keeps others out meanwhile. A turn is waited for by
 *   sleep_until, so every waiter can be killed.
 * - A reader has its turn only while it moves bytes. A writer keeps its turn
 *   for the whole write: what one call writes is never mixed with another's.
 * - A writer that must wait, waits for room for all the rest or for half the
 *   ring: large transfers switch between the two ends twice a ring.
 * - A wakeup is sent only if somebody waits for it. Each counter of waiters
 *   is also what they sleep on.
 */
#include "kernel/file/file.h"
#include "kernel/proc/proc.h"

#define PIPE_PAGES 4
#define RING_BYTES (PIPE_PAGES * PAGE_SIZE)

struct pipe {
    struct spinlock lock; /* guards all but the ring's bytes and page[] */
    u64 head, tail;
    bool reader_open, writer_open;
    bool reading, writing; /* the turns are taken */
    u64 room_wanted;       /* by the writer */
    u32 readers;           /* waiting: for bytes, or for their turn */
    u32 writers;           /* waiting: the one with the turn, for room */
    u32 turns;             /* waiting: for the writing turn */
    char *page[PIPE_PAGES];
};

/* Sleep until pipe_wake is called for this counter. 0 or -EINTR. */
static int pipe_wait(struct pipe *p, u32 *waiters)
{
    ++*waiters;
    int error = sleep_until(waiters, &p->lock, 0);
    --*waiters;
    return error;
}

/* Wake those who wait on this counter, if there are any. */
static void pipe_wake(u32 *waiters)
{
    if (*waiters)
        wakeup(waiters);
}

/* Return how many bytes can be written before the ring is full. */
static u64 room(const struct pipe *p)
{
    return RING_BYTES - (p->head - p->tail);
}

/* Move n bytes that lie in the ring from the count `at` on. */
static int ring_move(struct pipe *p, u64 at, u64 n, struct uio *u)
{
    int error = 0;
    while (n > 0 && !error) {
        u64 off = at % PAGE_SIZE;
        u64 piece = MIN(n, PAGE_SIZE - off);
        error = uio_move(p->page[at / PAGE_SIZE % PIPE_PAGES] + off, piece, u);
        at += piece;
        n -= piece;
    }
    return error;
}

/* Read what there is, after waiting for the first byte. 0: it is empty and no
 * writer is left. */
i64 pipe_read(struct pipe *p, struct uio *u)
{
    u64 wanted = u->left;
    if (wanted == 0)
        return 0;
    HOLD(spin, &p->lock);
    while (p->reading || (p->head == p->tail && p->writer_open))
        TRY(pipe_wait(p, &p->readers));
    u64 n = MIN(p->head - p->tail, wanted);
    if (n == 0)
        return 0;
    p->reading = true;
    spin_unlock(&p->lock);
    int error = ring_move(p, p->tail, n, u);
    spin_lock(&p->lock);
    p->reading = false;
    p->tail += wanted - u->left;
    if (room(p) >= p->room_wanted)
        pipe_wake(&p->writers);
    if (p->head != p->tail || !p->writer_open)
        pipe_wake(&p->readers);
    return uio_result(u, wanted, error);
}

/* Wait for room and fill it. Caller has the writing turn and holds the lock,
 * which is released meanwhile. */
static int write_some(struct pipe *p, struct uio *u)
{
    u64 left = u->left;
    p->room_wanted = MIN(left, RING_BYTES / 2);
    while (p->reader_open && room(p) < p->room_wanted)
        TRY(pipe_wait(p, &p->writers));
    if (!p->reader_open)
        return -EPIPE;
    u64 n = MIN(room(p), left);
    spin_unlock(&p->lock);
    int error = ring_move(p, p->head, n, u);
    spin_lock(&p->lock);
    p->head += left - u->left;
    pipe_wake(&p->readers);
    return error;
}

/* Write all bytes, waiting for readers. Return how many were written, or an
 * error. */
i64 pipe_write(struct pipe *p, struct uio *u)
{
    u64 wanted = u->left;
    int error = 0;
    HOLD(spin, &p->lock);
    while (p->writing)
        TRY(pipe_wait(p, &p->turns));
    p->writing = true;
    while (!error && u->left > 0)
        error = write_some(p, u);
    p->writing = false;
    pipe_wake(&p->turns);
    return uio_result(u, wanted, error);
}

static void pipe_free(struct pipe *p)
{
    for (u32 i = 0; i < PIPE_PAGES; i++)
        page_free(p->page[i]);
    page_free(p);
}

/* Return a pipe with its pages, both ends open, or NULL. */
static struct pipe *pipe_alloc(void)
{
    struct pipe *p = page_alloc();
    if (!p)
        return NULL;
    *p = (struct pipe){
        .lock = SPINLOCK("pipe", RANK_PIPE),
        .reader_open = true,
        .writer_open = true,
    };
    for (u32 i = 0; i < PIPE_PAGES; i++)
        if (!(p->page[i] = page_alloc())) {
            pipe_free(p);
            return NULL;
        }
    return p;
}

/* Close one end, and wake the other. The last to close frees the pipe. */
void pipe_close(struct pipe *p, bool writer)
{
    spin_lock(&p->lock);
    *(writer ? &p->writer_open : &p->reader_open) = false;
    pipe_wake(&p->readers);
    pipe_wake(&p->writers);
    bool last = !p->reader_open && !p->writer_open;
    spin_unlock(&p->lock);
    if (last)
        pipe_free(p);
}

/* Make a pipe as two open files. Return 0 or an error. */
int pipe_make(struct file **reader, struct file **writer)
{
    struct pipe *p = pipe_alloc();
    if (!p)
        return -ENOMEM;
    struct file *r = file_alloc(O_RDONLY), *w = file_alloc(O_WRONLY);
    if (!r || !w) {
        file_close(r);
        file_close(w);
        pipe_free(p);
        return -ENFILE;
    }
    r->type = w->type = FILE_PIPE;
    r->pipe = w->pipe = p;
    *reader = r;
    *writer = w;
    return 0;
}
