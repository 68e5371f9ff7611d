/*
 * The server of NFS on the host, above the kernel's ext2 and a small image:
 * what each procedure does; that damaged and hostile calls are counted and
 * change nothing; that a repeated call is done once; and that no power cut
 * loses what has been answered.
 *
 * link: tests/kernel/nfs/nfs_client.c tests/kernel/ext2/ext2_rig.c
 */
#include "tests/kernel/nfs/nfs_client.h"

#include "kernel/base/stat.h"

extern struct stat_row __start_stats[], __stop_stats[];

static u64 stat_of(const char *name)
{
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        if (!strcmp(s->name, name))
            return s->value;
    panic("there is no counter %s\n", name);
}

/* ---- RPC and the port mapper ---- */

static u32 port_of(u32 program, u32 version, u32 protocol)
{
    arg(program);
    arg(version);
    arg(protocol);
    arg(0);
    check_eq(rpc(PORTMAP, 0, 3), 0);
    u32 port = word();
    check_ended();
    return port;
}

TEST(the_port_mapper_knows_what_is_served_by_udp)
{
    server_begin("");
    check_eq(port_of(NFS, 3, 17), 2049);
    check_eq(port_of(MOUNT, 3, 17), 2049);
    check_eq(port_of(MOUNT, 1, 17), 2049); /* some clients ask so */
    check_eq(port_of(PORTMAP, 2, 17), 111);
    check_eq(port_of(NFS, 3, 6), 0);
    check_eq(port_of(100021, 4, 17), 0);
    check_eq(rpc(PORTMAP, 0, 4), 0);
    u32 rows = 0;
    for (; word(); rows++)
        skip(16);
    check_eq(rows, PROGRAMS);
    check_ended();
    server_end();
}

TEST(what_is_not_served_is_said)
{
    server_begin("");
    check_eq(rpc(NFS, 0, 0), 0);
    check_ended();
    check_eq(rpc(100021, 4, 0), 1); /* PROG_UNAVAIL */
    check_ended();
    for (u32 version = 3; version <= 4; version++) {
        check_eq(rpc(PORTMAP, version, 0), 2); /* PROG_MISMATCH */
        check_eq(word(), 2);
        check_eq(word(), 2);
        check_ended();
    }
    check_eq(rpc(NFS, 2, 0), 2);
    check_eq(word64(), 3UL << 32 | 3);
    check_eq(rpc(NFS, 0, 22), 3); /* PROC_UNAVAIL */
    check_eq(rpc(PORTMAP, 0, 1), 3);
    check_eq(rpc(PORTMAP, 0, UINT32_MAX), 3);
    check_ended();
    check_eq(stat_of("nfs.damaged"), 0);
    server_end();
}

/* ---- MOUNT ---- */

static u32 mount_status(const char *path)
{
    arg_name(path);
    check_eq(rpc(MOUNT, 0, 1), 0);
    return word();
}

TEST(a_directory_of_the_export_can_be_mounted)
{
    server_begin("mkdir /m/d\nmkdir /m/d/e\ncreate /m/f\n");
    struct handle e = mount_path("/m/d/e"), d, other;
    mount_path("/m//d/e/");
    check_eq(find(&root, "d", &d), 0);
    check_eq(find(&d, "e", &other), 0);
    check_eq(other.n, e.n);
    check(!memcmp(other.bytes, e.bytes, e.n));
    check_eq(mount_status("/m/f"), 20);
    check_eq(mount_status("/m/none"), 2);
    check_eq(mount_status("/m/d/../.."), 22);
    check_eq(mount_status("/"), 2);
    check_eq(mount_status("/mm"), 2);
    check_eq(mount_status(""), 2);
    check_eq(rpc(MOUNT, 0, 5), 0); /* EXPORT */
    const u8 *path;
    check_eq(word(), 1);
    check_eq(opaque(&path), 2);
    check(!memcmp(path, "/m", 2));
    check_eq(word64(), 0);
    check_ended();
    server_end();
}
