/*
 * The console: a terminal on the serial port, as a device.
 *
 * Typed bytes lie in a ring:  first <= ready <= end <= first + RING_BYTES.
 *   [first, ready)  is for readers
 *   [ready, end)    is the line being edited; empty in raw mode
 * - Cooked mode: a line becomes ready whole, by newline or ^D. The ^D stays
 *   in the ring as the mark where a read ends.
 * - Raw mode: every byte is ready as it comes.
 * - A byte is echoed once a process reads it: at once if a reader waits, else
 *   when one comes. So a script fed to the console all at once
 *   gives the same picture as one typed slowly.
 * - Bytes typed ahead are not lost. With the ring full no byte is taken from
 *   the serial port, and the sender waits, until a reader makes room; a line
 *   that fills all of it becomes ready as it is. A change to cooked mode edits
 *   what is in the ring as if it were typed now. A ^C acts when it comes (or
 *   then), whatever there is to be read before it.
 *
 * tty.lock guards all of struct tty. Output needs no state and no lock here.
 */
#include "kernel/file/console.h"
#include "kernel/file/dev.h"
#include "kernel/machine/args.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/uart.h"
#include "kernel/proc/proc.h"

#define RING_BYTES  8192
#define CHUNK_BYTES 256 /* moved from or to the process at a time */
#define CTRL(c)     ((c) - '@')
#define DELETE      0x7f

static struct {
    struct spinlock lock;
    u64 first, ready, end; /* bytes since boot */
    u64 shown;             /* echoed up to here, in cooked mode */
    u32 waiting;           /* readers asleep */
    bool raw;
    u32 foreground;   /* process group that ^C kills; 0: none */
    bool interrupted; /* by ^C in cooked mode, since a process asked */
    char ring[RING_BYTES];
} tty = {.lock = SPINLOCK("console", RANK_CONSOLE)};

/* Return the place in the ring of the byte with number i, counted since the
 * boot. */
static char *typed(u64 i)
{
    return &tty.ring[i % RING_BYTES];
}

static bool is_full(void)
{
    return tty.end - tty.first == RING_BYTES;
}

/* Everything below, up to take, is called with tty.lock held. */

/* Let readers have all that has been typed. */
static void make_ready(void)
{
    tty.ready = tty.end;
    wakeup(&tty);
}

/* True for a byte that is echoed as ^ and a letter. */
static bool is_control(char c)
{
    return (u8)c < ' ' || c == DELETE;
}

/* Put a byte at the end of the ring. */
static void keep(char c)
{
    *typed(tty.end++) = c;
}

/* Print a byte as typed, control characters as ^ and a letter. A newline goes
 * as it is, and ^D's mark not at all. */
static void echo(char c)
{
    char visible[] = {'^', c ^ 0x40};
    if (c == CTRL('D'))
        return;
    if (is_control(c) && c != '\n')
        uart_put(visible, 2);
    else
        uart_put(&c, 1);
}

/* Echo what is not echoed yet of the bytes before `end`. */
static void show_up_to(u64 end)
{
    while (tty.shown < end)
        echo(*typed(tty.shown++));
}

/* Take the last byte off the line, and off the screen if it is there. */
static void rub_out(void)
{
    char c = *typed(--tty.end);
    if (tty.shown <= tty.end)
        return;
    tty.shown = tty.end;
    uart_put("\b \b\b \b", is_control(c) ? 6 : 3);
}

/* Take back the last word of the line, and the spaces after it. */
static void rub_out_word(void)
{
    while (tty.end != tty.ready && *typed(tty.end - 1) == ' ')
        rub_out();
    while (tty.end != tty.ready && *typed(tty.end - 1) != ' ')
        rub_out();
}

/* Interrupt the foreground job and drop the line. The job may just have ended.
 * So the ^C is also kept for the shell. */
static void interrupt_job(void)
{
    tty.interrupted = true;
    tty.end = tty.ready;
    tty.shown = MIN(tty.shown, tty.end);
    uart_put("^C\n", 3);
    if (tty.foreground)
        proc_kill(-(i64)tty.foreground);
}

/* Do what a byte means in cooked mode: change the line, end it, or interrupt
 * the job. */
static void edit(char c)
{
    switch (c) {
    case CTRL('C'):
        interrupt_job();
        break;
    case CTRL('U'):
        while (tty.end != tty.ready)
            rub_out();
        break;
    case CTRL('W'):
        rub_out_word();
        break;
    case '\b':
    case DELETE:
        if (tty.end != tty.ready)
            rub_out();
        break;
    case CTRL('D'):
    case '\r':
    case '\n':
        keep(c == '\r' ? '\n' : c);
        make_ready();
        break;
    default:
        keep(c);
    }
    if (tty.waiting)
        show_up_to(tty.end);
}

/* Take one byte that was typed, in either mode. */
static void typed_byte(char c)
{
    if (tty.raw)
        keep(c);
    else
        edit(c);
    if (tty.raw || (is_full() && tty.ready == tty.first))
        make_ready();
}

/* Take the bytes that the serial port has, while there is room. */
static void receive(void)
{
    int c;
    while (!is_full() && (c = uart_get()) >= 0)
        typed_byte((char)c);
    uart_listen(!is_full());
}

/* Change the mode. What was typed ahead is ready at once in raw mode; in cooked
 * mode it is edited as if it were typed now. */
static void set_raw(bool raw)
{
    u64 from = tty.first, end = tty.end;
    if (raw == tty.raw)
        return;
    tty.raw = raw;
    if (raw) {
        make_ready();
        return;
    }
    for (tty.ready = tty.end = tty.shown = from; from != end; from++)
        typed_byte(*typed(from));
}

static void console_interrupt(u32)
{
    HOLD(spin, &tty.lock);
    receive();
}

/* Sleep until bytes are ready. Caller holds the lock. */
static int wait_ready(void)
{
    int error = 0;
    tty.waiting++;
    if (!tty.raw && tty.first == tty.ready)
        show_up_to(tty.end);
    while (tty.first == tty.ready && !error)
        error = sleep_until(&tty, &tty.lock, 0);
    tty.waiting--;
    return error;
}

/* Hand out up to n ready bytes, in cooked mode to the end of the line at most;
 * more says whether the line goes on. wait: until there are some, which no
 * other reader can then have taken. Return how many, or -EINTR. */
static i64 take(char *to, u64 n, bool wait, bool *more)
{
    u64 taken = 0;
    HOLD(spin, &tty.lock);
    TRY(wait ? wait_ready() : 0);
    bool was_full = is_full();
    while ((*more = tty.first != tty.ready)) {
        char c = *typed(tty.first);
        bool mark = c == CTRL('D') && !tty.raw;
        if (taken == n && !mark)
            break;
        tty.first++;
        if (!tty.raw)
            show_up_to(tty.first);
        if (!mark)
            to[taken++] = c;
        if (mark || (c == '\n' && !tty.raw)) {
            *more = false;
            break;
        }
    }
    if (was_full)
        receive();
    return taken;
}

/* Move what is typed to the reader. It waits for the first bytes only. */
static int console_read(u32, struct uio *uio)
{
    char chunk[CHUNK_BYTES];
    for (bool more = true, wait = true; more && uio->left; wait = false) {
        i64 n = take(chunk, MIN(uio->left, sizeof(chunk)), wait, &more);
        TRY(n < 0 ? n : uio_move(chunk, n, uio));
    }
    return 0;
}

/* Print the writer's bytes, a chunk at a time. */
static int console_write(u32, struct uio *uio)
{
    char chunk[CHUNK_BYTES];
    while (uio->left) {
        u64 n = MIN(uio->left, sizeof(chunk));
        TRY(uio_move(chunk, n, uio));
        print_bytes(chunk, n);
    }
    return 0;
}

/* True if ^C was typed since the last call. In raw mode, drop all that was
 * typed up to that ^C. */
static bool take_interrupt(void)
{
    u64 end = tty.raw ? tty.end : tty.first;
    while (end != tty.first && *typed(end - 1) != CTRL('C'))
        end--;
    bool found = tty.interrupted || end != tty.first;
    tty.interrupted = false;
    tty.first = end;
    receive();
    return found;
}

/* Set the foreground group or the mode, or ask for a ^C that was typed. */
static int console_ioctl(u32, u32 request, u64 arg)
{
    HOLD(spin, &tty.lock);
    switch (request) {
    case TTY_FOREGROUND:
        if (arg > UINT32_MAX)
            return -EINVAL;
        tty.foreground = (u32)arg;
        return 0;
    case TTY_COOKED:
    case TTY_RAW:
        set_raw(request == TTY_RAW);
        return 0;
    case TTY_INTERRUPTED:
        return take_interrupt();
    default:
        return -ENOTTY;
    }
}

void console_init(void)
{
    print_times = arg_number("console_times", 0, 0, 1);
    if (print_times && !clock_is_virtual())
        boot_fail("console_times=1 is for virtual time");
    irq_register(machine.uart.irq, console_interrupt);
    uart_listen(true);
}

static const struct device console = {.id = CONSOLE_ID,
                                      .name = "console",
                                      .read = console_read,
                                      .write = console_write,
                                      .ioctl = console_ioctl};
DEVICE(console);
