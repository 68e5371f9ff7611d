/*
 * udpecho: the echo service over UDP (RFC 862), and who asks it.
 *
 *   udpecho -l             answers each datagram with its own bytes
 *   udpecho HOST TEXT      sends the text and prints what comes back
 *
 * Without an answer it is sent again after a second, four times in all.
 */
#include "user/lib.h"

#define ECHO_PORT  7
#define MOST_BYTES 16376 /* of a datagram: kernel/net/internal.h */
#define TRIES      4

static char buffer[MOST_BYTES];

static int open_socket(u32 port)
{
    int fd = socket(SOCKET_UDP, port);
    if (fd < 0)
        die("port %u", port);
    return fd;
}

/* Answer `count` datagrams; 0: for ever. */
static int serve(int fd, u64 count)
{
    struct net_address from;
    for (u64 i = 0; count == 0 || i < count; i++) {
        i64 n = recvfrom(fd, buffer, sizeof buffer, &from, 0);
        if (n < 0)
            die("receive");
        if (sendto(fd, buffer, n, &from) < 0)
            warn("the answer");
    }
    return 0;
}

/* Send a text and print the answer; each try waits a second for it. */
static int ask(int fd, struct net_address to, const char *text)
{
    for (u32 i = 0; i < TRIES; i++) {
        struct net_address from;
        if (sendto(fd, text, strlen(text), &to) < 0)
            die("%s", text);
        i64 n = recvfrom(fd, buffer, sizeof buffer, &from, NS_PER_S);
        if (n < 0 && errno != ETIMEDOUT)
            die("receive");
        if (n < 0)
            continue;
        fwrite(buffer, 1, n, stdout);
        putchar('\n');
        return 0;
    }
    diex("no answer");
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "udpecho [-p PORT] HOST TEXT, or udpecho -l [-p PORT] [-c COUNT]";
    u64 port = ECHO_PORT, count = 0;
    bool listens = false;
    for (int c; (c = options(argc, argv, "lp:c:", usage)) > 0;)
        if (c == 'l')
            listens = true;
        else
            *(c == 'p' ? &port : &count) = size_arg(optarg, "udpecho");
    if (argc - optind != (listens ? 0 : 2))
        usage_exit(usage);
    if (port == 0 || port > UINT16_MAX)
        diex("PORT is from 1 to %u", UINT16_MAX);
    if (listens)
        return serve(open_socket(port), count);
    struct net_address to = {host_arg(argv[optind]), port};
    return ask(open_socket(0), to, argv[optind + 1]);
}
