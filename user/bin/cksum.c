/* cksum: a checksum, the size and the name of files, as POSIX defines it
 * (XCU, cksum): the same numbers as on the host. */
#include "user/lib.h"

#define POLYNOMIAL 0x04c11db7U

static u32 table[256];

/* Fill in the checksum that each byte leaves of a checksum 0. */
static void make_table(void)
{
    for (u32 i = 0; i < 256; i++) {
        u32 crc = i << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc << 1 ^ (crc >> 31 ? POLYNOMIAL : 0);
        table[i] = crc;
    }
}

static u32 add_byte(u32 crc, u8 byte)
{
    return crc << 8 ^ table[crc >> 24 ^ byte];
}

/* Print the checksum and length of what a descriptor gives. As POSIX wants, the
 * length's bytes count, too, the lowest first. */
static int cksum(int fd, const char *name)
{
    static u8 buf[64 << 10];
    u32 crc = 0;
    u64 bytes = 0;
    i64 n;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        for (i64 i = 0; i < n; i++)
            crc = add_byte(crc, buf[i]);
        bytes += n;
    }
    if (n < 0) {
        warn("%s", name);
        return 1;
    }
    for (u64 length = bytes; length > 0; length >>= 8)
        crc = add_byte(crc, length);
    printf("%u %lu%s%s\n", ~crc, bytes, *name ? " " : "", name);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    while (options(argc, argv, "", "cksum [FILE...]") > 0)
        ;
    make_table();
    if (optind == argc)
        return cksum(0, "");
    for (; optind < argc; optind++) {
        int fd = open(argv[optind], O_RDONLY);
        if (fd < 0) {
            warn("%s", argv[optind]);
            failed = 1;
            continue;
        }
        failed |= cksum(fd, argv[optind]);
        close(fd);
    }
    return failed;
}
