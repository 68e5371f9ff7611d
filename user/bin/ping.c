/*
 * ping: sends echo requests to a host, one a second, and prints how long each
 * reply took. The status is 0 if all were answered.
 */
#include "user/lib.h"

#define MOST_BYTES 16376 /* of data in an echo: kernel/net/internal.h */
#define WAIT_NS    NS_PER_S

static u8 sent[MOST_BYTES], got[MOST_BYTES];

/* Wait up to a second for the reply to the request of this number. Late replies
 * to earlier requests are ignored. */
static i64 reply(int fd, u32 number, u64 until_ns, struct net_address *from)
{
    for (;;) {
        u64 now_ns = gettime(CLOCK_VIRTUAL);
        if (now_ns >= until_ns)
            return -1;
        i64 n = recvfrom(fd, got, sizeof got, from, until_ns - now_ns);
        if (n < 0 || from->port == number)
            return n;
    }
}

/* Send one echo and wait a second for its answer. True if that has the same
 * bytes. */
static bool ask(int fd, u32 host, u32 number, size_t bytes)
{
    char text[HOST_BYTES];
    struct net_address to = {host, number}, from;
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    if (sendto(fd, sent, bytes, &to) < 0) {
        warn("%s", host_text(text, host));
        return false;
    }
    i64 n = reply(fd, number, start_ns + WAIT_NS, &from);
    u64 took_us = (gettime(CLOCK_VIRTUAL) - start_ns) / NS_PER_US;
    if (n < 0) {
        printf("no reply: number %u\n", number);
        return false;
    }
    bool same = (size_t)n == bytes && !memcmp(sent, got, bytes);
    printf("%ld bytes from %s: number %u, %lu.%03lu ms%s\n", n,
           host_text(text, from.host), number, took_us / 1000, took_us % 1000,
           same ? "" : ", other bytes than were sent");
    return same;
}

static void wait_until(u64 time_ns)
{
    u64 now_ns = gettime(CLOCK_VIRTUAL);
    if (now_ns < time_ns)
        sleep(time_ns - now_ns);
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "ping [-c COUNT] [-s BYTES] HOST   (HOST: such as 10.0.0.1)";
    u64 count = 4, bytes = 56, answered = 0;
    for (int c; (c = options(argc, argv, "c:s:", usage)) > 0;)
        *(c == 'c' ? &count : &bytes) = size_arg(optarg, "ping");
    if (argc - optind != 1)
        usage_exit(usage);
    if (count == 0 || count > UINT16_MAX || bytes > MOST_BYTES)
        diex("COUNT is from 1 to %u, BYTES at most %u", UINT16_MAX, MOST_BYTES);
    u32 host = host_arg(argv[optind]);
    int fd = socket(SOCKET_ECHO, 0);
    if (fd < 0)
        die("the network");
    for (size_t i = 0; i < bytes; i++)
        sent[i] = i;
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    for (u32 i = 0; i < count; i++) {
        wait_until(start_ns + i * WAIT_NS);
        answered += ask(fd, host, i, bytes);
    }
    printf("%lu of %lu answered\n", answered, count);
    return answered != count;
}
