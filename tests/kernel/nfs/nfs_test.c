/*
 * The server of NFS on the host, above the kernel's ext2 and a small image:
 * what each procedure does; that damaged and hostile calls are counted and
 * change nothing; that a repeated call is done once; and that no power cut
 * loses what has been answered.
 *
 * - server_begin makes the image by these commands, and exports /m, whose
 *   handle is `root`; server_end checks the image.
 * - A call's arguments are given by arg and its kind; rpc or nfs makes the
 *   call, and word, word64 and so on read the reply (nfs_client.h). rpc returns
 *   RPC's status: 0 accepted, 1 no such program, 2 no such version, 3 no such
 *   procedure, 4 garbage. nfs returns NFS's status, 0 or an NFS3ERR.
 *
 * link: tests/support/native/main.c tests/kernel/nfs/nfs_client.c
 * link: tests/kernel/ext2/ext2_rig.c
 */
#include "tests/kernel/nfs/nfs_client.h"

#include "kernel/base/stat.h"

extern struct stat_row __start_stats[], __stop_stats[];

/* Return a counter of /dev/stat. */
static u64 stat_of(const char *name)
{
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        if (!strcmp(s->name, name))
            return s->value;
    panic("there is no counter %s\n", name);
}

/* ---- RPC and the port mapper ---- */

/* Return the port that the port mapper has for a program and version, by UDP
 * (17) or TCP (6); 0 is none. */
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

/* NFS and MOUNT have port 2049 and the port mapper 111, by UDP (17). By TCP
 * (6), and for another program, there is none. DUMP lists as many rows as there
 * are programs. */
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

/* Programs, versions and procedures that the server has not. */
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

/* Mount a path. Return the status. */
static u32 mount_status(const char *path)
{
    arg_name(path);
    check_eq(rpc(MOUNT, 0, 1), 0);
    return word();
}

/* A directory below the export is mounted and has the same handle as when it is
 * looked up. Then paths that cannot be mounted, and the list of exports: /m
 * alone. */
TEST(a_directory_of_the_export_can_be_mounted)
{
    server_begin("mkdir /m/d\nmkdir /m/d/e\ncreate /m/f\n");
    struct handle e = mount_path("/m/d/e"), d, other;
    mount_path("/m//d/e/");
    check_eq(find(&root, "d", &d), 0);
    check_eq(find(&d, "e", &other), 0);
    check_eq(other.n, e.n);
    check(!memcmp(other.bytes, e.bytes, e.n));
    check_eq(mount_status("/m/f"), NFS3ERR_NOTDIR);
    check_eq(mount_status("/m/none"), NFS3ERR_NOENT);
    check_eq(mount_status("/m/d/../.."), NFS3ERR_INVAL);
    check_eq(mount_status("/"), NFS3ERR_NOENT);
    check_eq(mount_status("/mm"), NFS3ERR_NOENT);
    check_eq(mount_status(""), NFS3ERR_NOENT);
    check_eq(rpc(MOUNT, 0, 5), 0); /* EXPORT */
    const u8 *path;
    check_eq(word(), 1);
    check_eq(opaque(&path), 2);
    check(!memcmp(path, "/m", 2));
    check_eq(word64(), 0);
    check_ended();
    server_end();
}

/* The rows of MOUNT's DUMP, as "HOST:PATH HOST:PATH". */
static const char *mounted(void)
{
    static char text[4096];
    u32 n = 0;
    check_eq(rpc(MOUNT, 0, 2), 0);
    text[0] = 0;
    while (word()) {
        const u8 *bytes;
        for (u32 i = 0; i < 2; i++) {
            u32 length = opaque(&bytes);
            n += sprintf(text + n, "%s%.*s",
                         i   ? ":"
                         : n ? " "
                             : "",
                         (int)length, bytes);
        }
    }
    check_ended();
    return text;
}

/* A client that mounts a path twice has one row. UMNT ends one mount of a
 * client, UMNTALL all. Only the last rows are kept. */
TEST(dump_says_who_has_mounted_what)
{
    server_begin("mkdir /m/d\n");
    client_host = 0x0a0000ff;
    mount_path("/m/d");
    mount_path("/m/d");
    check(!strcmp(mounted(), "10.0.0.2:/m 10.0.0.255:/m/d"));
    mount_path("/m");
    arg_name("/m/d");
    check_eq(rpc(MOUNT, 0, 3), 0); /* UMNT */
    check_ended();
    check(!strcmp(mounted(), "10.0.0.2:/m 10.0.0.255:/m"));
    check_eq(rpc(MOUNT, 0, 4), 0); /* UMNTALL */
    check_ended();
    check(!strcmp(mounted(), "10.0.0.2:/m"));
    for (client_host = 0; client_host < 100; client_host++)
        mount_path("/m"); /* it remembers the last ones */
    check(strstr(mounted(), "0.0.0.99:/m"));
    server_end();
}

/* ---- handles ---- */

/* Get a file's attributes. Return the status. */
static u32 getattr(const struct handle *h, struct attributes *a)
{
    arg_handle(h);
    u32 status = nfs(GETATTR);
    if (!status)
        *a = attributes();
    check_ended();
    return status;
}

/* For a directory, a file with two names, and a symbolic link. */
TEST(attributes_are_those_of_the_inode)
{
    struct attributes a;
    server_begin("write /m/f 5000 1\nmkdir /m/d\nsymlink f /m/s\n"
                 "ln /m/f /m/g\nchmod /m/f 4751\n");
    check_eq(getattr(&root, &a), 0);
    check_eq(a.type, NF3DIR);
    check_eq(a.fileid, 2);
    check_eq(a.nlink, 3);
    struct handle f = must_find("f"), s = must_find("s");
    check_eq(getattr(&f, &a), 0);
    check_eq(a.type, NF3REG);
    check_eq(a.mode, 04751);
    check_eq(a.nlink, 2);
    check_eq(a.size, 5000);
    check_eq(a.used, 5 * 1024);
    check_eq(a.atime_s, 1000000000);
    check_eq(a.mtime_s, 1100000000);
    check_eq(getattr(&s, &a), 0);
    check_eq(a.type, NF3LNK);
    server_end();
}

/* The new file f has the inode of the old one. The handle of the old one is
 * refused all the same. */
TEST(a_removed_files_handle_is_stale_also_when_its_inode_is_used_again)
{
    struct attributes a, b;
    server_begin("create /m/f\n");
    struct handle old = must_find("f"), new;
    check_eq(getattr(&old, &a), 0);
    check_eq(remove_name_of(&root, "f"), 0);
    check_eq(getattr(&old, &b), NFS3ERR_STALE);
    check_eq(make_file(&root, "f", &new), 0);
    check_eq(getattr(&new, &b), 0);
    check_eq(a.fileid, b.fileid);
    check_eq(getattr(&old, &b), NFS3ERR_STALE);
    check_eq(remove_name_of(&old, "x"), NFS3ERR_STALE);
    server_end();
}

/* A handle of another length or disk is bad. One with another generation or
 * inode number is of a file that is gone. */
TEST(a_handle_of_something_else_is_bad_or_stale)
{
    struct attributes a;
    server_begin("");
    struct handle h = root;
    h.n = 8;
    check_eq(getattr(&h, &a), NFS3ERR_BADHANDLE);
    h.n = 16;
    check_eq(getattr(&h, &a), NFS3ERR_BADHANDLE);
    h = root;
    h.bytes[3] ^= 1; /* another disk */
    check_eq(getattr(&h, &a), NFS3ERR_BADHANDLE);
    h = root;
    h.bytes[11] ^= 1; /* another generation */
    check_eq(getattr(&h, &a), NFS3ERR_STALE);
    static const u32 numbers[] = {0, 1, 3, 8, 10, 128, 129, UINT32_MAX};
    for (u32 i = 0; i < NELEM(numbers); i++) { /* no files' inodes */
        h = root;
        for (u32 j = 0; j < 4; j++)
            h.bytes[4 + j] = numbers[i] >> (24 - 8 * j);
        check_eq(getattr(&h, &a), NFS3ERR_STALE);
    }
    server_end();
}

/* ---- names ---- */

/* In the root and in a directory of it, ".." is the root. */
TEST(the_export_has_no_way_up)
{
    struct handle up, d;
    server_begin("mkdir /m/d\n");
    check_eq(find(&root, "..", &up), 0);
    check(!memcmp(up.bytes, root.bytes, root.n));
    check_eq(find(&root, ".", &up), 0);
    check(!memcmp(up.bytes, root.bytes, root.n));
    check_eq(find(&root, "d", &d), 0);
    check_eq(find(&d, "..", &up), 0);
    check(!memcmp(up.bytes, root.bytes, root.n));
    server_end();
}

/* Empty names, names with a slash or a 0 byte, names that are too long, . and
 * .., and names in a file. */
TEST(names_that_are_none_are_refused_and_change_nothing)
{
    struct handle h;
    char longest[NAME_BYTES + 2];
    server_begin("create /m/f\nmkdir /m/d\n");
    static const char *const bad[] = {"", "a/b", "/", "f/"};
    for (u32 i = 0; i < NELEM(bad); i++) {
        check_eq(find(&root, bad[i], &h), NFS3ERR_INVAL);
        check_eq(make_file(&root, bad[i], &h), NFS3ERR_INVAL);
        check_eq(make_dir(&root, bad[i], &h), NFS3ERR_INVAL);
        check_eq(remove_name_of(&root, bad[i]), NFS3ERR_INVAL);
        check_eq(rename_to(&root, "f", &root, bad[i]), NFS3ERR_INVAL);
        check_eq(rename_to(&root, bad[i], &root, "g"), NFS3ERR_INVAL);
    }
    arg_handle(&root);
    arg_bytes("f\0g", 3); /* a name ends at no 0 */
    check_eq(nfs(REMOVE), NFS3ERR_INVAL);
    memset(longest, 'x', sizeof longest);
    longest[NAME_BYTES + 1] = 0;
    check_eq(make_file(&root, longest, &h), NFS3ERR_NAMETOOLONG);
    longest[NAME_BYTES] = 0;
    check_eq(make_file(&root, longest, &h), 0);
    check_eq(find(&root, longest, &h), 0);
    check_eq(make_file(&root, ".", &h), NFS3ERR_EXIST);
    check_eq(make_dir(&root, "..", &h), NFS3ERR_EXIST);
    check_eq(rename_to(&root, "f", &root, "."), NFS3ERR_INVAL);
    check_eq(rename_to(&root, "..", &root, "g"), NFS3ERR_INVAL);
    struct handle f = must_find("f");
    check_eq(find(&f, "x", &h), NFS3ERR_NOTDIR);
    check_eq(make_file(&f, "x", &h), NFS3ERR_NOTDIR);
    check_eq(rename_to(&root, "d", &root, "f"), NFS3ERR_NOTDIR);
    server_end();
}

/* Create a file in the root: 0 also if it is there, 1 only if it is not, 2 by a
 * verifier. Return the status. */
static u32 create(const char *name, u32 how, u64 verifier, struct handle *h)
{
    arg_handle(&root);
    arg_name(name);
    arg(how);
    if (how == 2)
        arg64(verifier);
    else
        arg_nothing_set();
    u32 status = nfs(CREATE);
    if (!status) {
        check_eq(word(), 1);
        *h = reply_handle();
    }
    return status;
}

/* 0 takes the file that is there, 1 refuses it, 2 takes it if it was made with
 * the same verifier. */
TEST(create_treats_a_name_that_is_there_as_its_kind_says)
{
    struct handle f, h;
    server_begin("mkdir /m/d\nsymlink f /m/s\n");
    check_eq(create("f", 0, 0, &f), 0);
    check_eq(create("f", 1, 0, &h), NFS3ERR_EXIST);
    check_eq(create("f", 0, 0, &h), 0);
    check(!memcmp(f.bytes, h.bytes, f.n));
    check_eq(create("f", 2, 77, &h), NFS3ERR_EXIST);
    check_eq(create("g", 2, 0x1234500000077UL, &f), 0);
    check_eq(create("g", 2, 0x1234500000077UL, &h), 0);
    check(!memcmp(f.bytes, h.bytes, f.n));
    check_eq(create("g", 2, 0x1234600000077UL, &h), NFS3ERR_EXIST);
    check_eq(create("g", 2, 0x1234500000078UL, &h), NFS3ERR_EXIST);
    check_eq(create("d", 0, 0, &h), NFS3ERR_EXIST);
    check_eq(create("s", 0, 0, &h), NFS3ERR_EXIST); /* a link is not followed */
    arg_handle(&root);
    arg_name("f");
    arg(3); /* no kind */
    arg_nothing_set();
    check_eq(rpc(NFS, 0, CREATE), 4);
    server_end();
}

/* A sattr3 that sets what is not UINT32_MAX. */
static void arg_wanted(u32 mode, u32 user, u32 size)
{
    const u32 wanted[] = {mode, user, UINT32_MAX};
    for (u32 i = 0; i < NELEM(wanted); i++) {
        arg(wanted[i] != UINT32_MAX);
        if (wanted[i] != UINT32_MAX)
            arg(wanted[i]);
    }
    arg(size != UINT32_MAX);
    if (size != UINT32_MAX)
        arg64(size);
    arg64(0);
}

/* UINT32_MAX is an attribute that is not given. A mode out of range and a user
 * are refused. */
TEST(create_gives_the_attributes_that_are_wanted_or_makes_nothing)
{
    struct handle f;
    struct attributes a;
    server_begin("write /m/old 3000 1\n");
    static const struct {
        u32 mode, user, size, status;
    } rows[] = {{0640, UINT32_MAX, 100, 0},
                {UINT32_MAX, 0, UINT32_MAX, 0},
                {010000, UINT32_MAX, UINT32_MAX, NFS3ERR_INVAL},
                {UINT32_MAX, 5, UINT32_MAX, NFS3ERR_PERM},
                {0640, UINT32_MAX, UINT32_MAX - 1, 0}};
    for (u32 i = 0; i < NELEM(rows); i++) {
        char name[] = {'a' + i, 0};
        arg_handle(&root);
        arg_name(name);
        arg(1);
        arg_wanted(rows[i].mode, rows[i].user, rows[i].size);
        check_eq(nfs(CREATE), rows[i].status);
        check_eq(find(&root, name, &f), rows[i].status ? NFS3ERR_NOENT : 0);
    }
    f = must_find("a");
    check_eq(getattr(&f, &a), 0);
    check_eq(a.mode, 0640);
    check_eq(a.size, 100);
    f = must_find("b");
    check_eq(getattr(&f, &a), 0);
    check_eq(a.mode, 0644);
    check_eq(a.size, 0);
    arg_handle(&root);
    arg_name("old");
    arg(0);
    arg_wanted(UINT32_MAX, UINT32_MAX, 0);
    check_eq(nfs(CREATE), 0);
    f = must_find("old");
    check_eq(getattr(&f, &a), 0);
    check_eq(a.size, 0);
    server_end();
}

/* Work on names step by step: a handle stays right over a rename, until the
 * last of its names is removed. */
TEST(names_are_made_moved_linked_and_removed)
{
    struct handle d, e, f, h;
    struct attributes a;
    u64 size;
    server_begin("");
    check_eq(make_dir(&root, "d", &d), 0);
    check_eq(make_dir(&root, "d", &e), NFS3ERR_EXIST);
    check_eq(make_dir(&d, "e", &e), 0);
    check_eq(make_file(&e, "f", &f), 0);
    check_eq(rename_to(&e, "f", &root, "g"), 0);
    check_eq(find(&e, "f", &h), NFS3ERR_NOENT);
    h = must_find("g");
    check(!memcmp(f.bytes, h.bytes, f.n)); /* a handle outlives a rename */
    check_eq(rename_to(&root, "d", &e, "x"), NFS3ERR_INVAL);
    arg_handle(&f);
    arg_handle(&d);
    arg_name("hard");
    check_eq(nfs(LINK), 0);
    check_eq(post_attributes().nlink, 2);
    check(!wcc(&size));
    check_ended();
    arg_handle(&d);
    arg_handle(&root);
    arg_name("hard");
    check_eq(nfs(LINK), NFS3ERR_PERM); /* a directory */
    skip(12);
    check_ended();
    arg_handle(&root);
    arg_name("d");
    check_eq(nfs(RMDIR), NFS3ERR_NOTEMPTY);
    check_eq(remove_name_of(&root, "d"), NFS3ERR_ISDIR);
    check_eq(remove_name_of(&root, "g"), 0);
    check_eq(getattr(&f, &a), 0); /* it has another name */
    check_eq(remove_name_of(&d, "hard"), 0);
    check_eq(getattr(&f, &a), NFS3ERR_STALE);
    arg_handle(&d);
    arg_name("e");
    check_eq(nfs(RMDIR), 0);
    check(!wcc(&size));
    check_ended();
    check_eq(getattr(&e, &a), NFS3ERR_STALE);
    arg_handle(&root);
    arg_name("pipe");
    arg(7);
    check_eq(nfs(MKNOD), NFS3ERR_NOTSUPP);
    skip(8);
    check_ended();
    server_end();
}

/* A link is made and its text read. A directory is no link, a link is no file,
 * and a text has no 0 byte. */
TEST(symbolic_links_are_made_and_read)
{
    struct handle s;
    const u8 *text;
    server_begin("");
    arg_handle(&root);
    arg_name("s");
    arg_nothing_set();
    arg_name("some/where");
    check_eq(nfs(SYMLINK), 0);
    s = must_find("s");
    arg_handle(&s);
    check_eq(nfs(READLINK), 0);
    check_eq(post_attributes().type, NF3LNK);
    check_eq(opaque(&text), 10);
    check(!memcmp(text, "some/where", 10));
    check_ended();
    arg_handle(&root);
    check_eq(nfs(READLINK), NFS3ERR_INVAL);
    arg_handle(&s);
    arg64(0);
    arg(10);
    check_eq(nfs(READ), NFS3ERR_INVAL);
    arg_handle(&root);
    arg_name("t");
    arg_nothing_set();
    arg_bytes("a\0b", 3);
    check_eq(nfs(SYMLINK), NFS3ERR_INVAL);
    check_eq(find(&root, "t", &s), NFS3ERR_NOENT);
    server_end();
}

/* ---- contents ---- */

/* Write two pieces of 8,192 bytes and, beyond a hole, three bytes. Reads of
 * 1,000 bytes give them back, zeros in the hole, and nothing past the end. */
TEST(what_is_written_is_read)
{
    static u8 data[8192], back[8192];
    struct handle f;
    server_begin("");
    for (u32 i = 0; i < sizeof data; i++)
        data[i] = i * 7 + i / 256;
    check_eq(make_file(&root, "f", &f), 0);
    check_eq(write_at(&f, 0, data, sizeof data, 2), 0);
    check_eq(write_at(&f, 8192, data, sizeof data, 0), 0);
    check_eq(write_at(&f, 20001, data, 3, 1), 0);
    for (u64 at = 0; at < 16384; at += 1000) {
        u32 n = MIN(16384 - at, 1000);
        check_eq(read_at(&f, at, back, n), n);
        for (u32 i = 0; i < n; i++)
            check_eq(back[i], data[(at + i) % 8192]);
    }
    check_eq(read_at(&f, 16384, back, 8192), 20004 - 16384);
    for (u32 i = 0; i < 20001 - 16384; i++)
        check_eq(back[i], 0);
    check_eq(read_at(&f, 20000, back, UINT32_MAX), 4);
    check_eq(read_at(&f, 20004, back, 10), 0);
    check_eq(read_at(&f, ~0UL, back, 10), 0);
    check_eq(read_at(&root, 0, back, 10), (u64)-NFS3ERR_ISDIR);
    check_eq(write_at(&root, 0, data, 10, 2), NFS3ERR_ISDIR);
    check_eq(write_at(&f, ~0UL, data, 10, 2), NFS3ERR_FBIG);
    check_eq(write_at(&f, 1UL << 40, data, 10, 2), NFS3ERR_FBIG);
    check_eq(write_at(&f, 5, data, 0, 2), 0);
    server_end();
}

/* Its reply has the size before, 1000 bytes, and after, 1005. So has that of a
 * SETATTR. */
TEST(a_write_tells_the_attributes_before_and_after)
{
    struct handle f;
    u64 size;
    server_begin("write /m/f 1000 1\n");
    f = must_find("f");
    arg_handle(&f);
    arg64(995);
    arg(10);
    arg(2);
    arg_bytes("0123456789", 10);
    check_eq(nfs(WRITE), 0);
    check_eq(word(), 1);
    check_eq(word64(), 1000);
    skip(16);
    check_eq(post_attributes().size, 1005);
    arg_handle(&f);
    arg_wanted(0600, UINT32_MAX, 2000);
    arg(0);
    check_eq(nfs(SETATTR), 0);
    check(wcc(&size));
    check_eq(size, 1005);
    check_ended();
    server_end();
}

/* One call says 11 bytes and has 10; another one names a stability that is
 * none. Both change nothing. */
TEST(a_write_whose_count_exceeds_its_data_is_garbage)
{
    struct handle f;
    struct attributes a;
    server_begin("create /m/f\n");
    f = must_find("f");
    u64 damaged = stat_of("nfs.damaged");
    for (u32 i = 0; i < 2; i++) {
        arg_handle(&f);
        arg64(0);
        arg(i ? 10 : 11);
        arg(i ? 3 : 0); /* no such stability */
        arg_bytes("0123456789", 10);
        check_eq(rpc(NFS, 0, WRITE), 4);
        check_ended();
    }
    check_eq(stat_of("nfs.damaged"), damaged + 2);
    check_eq(getattr(&f, &a), 0);
    check_eq(a.size, 0);
    server_end();
}

/* A guard is the change time that the file must have: with another one nothing
 * is set. Users cannot be set. */
TEST(setattr_sets_what_is_wanted_and_heeds_its_guard)
{
    struct handle f;
    struct attributes a;
    server_begin("write /m/f 1000 1\nchmod /m/f 600\n");
    f = must_find("f");
    check_eq(getattr(&f, &a), 0);
    arg_handle(&f);
    arg_wanted(0, UINT32_MAX, UINT32_MAX);
    arg(1);
    arg(a.ctime_s + 1);
    arg(0);
    check_eq(nfs(SETATTR), NFS3ERR_NOT_SYNC);
    skip(8);
    check_ended();
    arg_handle(&f);
    for (u32 i = 0; i < 4; i++)
        arg(0);
    arg(2);
    arg(123);
    arg(0);
    arg(1); /* the server's time */
    arg(1);
    arg(a.ctime_s);
    arg(0);
    check_eq(nfs(SETATTR), 0);
    struct attributes b;
    check_eq(getattr(&f, &b), 0);
    check_eq(b.atime_s, 123);
    check(b.mtime_s > a.mtime_s);
    check_eq(b.mode, 0600);
    check_eq(b.size, 1000);
    arg_handle(&root);
    arg_wanted(UINT32_MAX, UINT32_MAX, 5);
    arg(0);
    check_eq(nfs(SETATTR), NFS3ERR_ISDIR);
    arg_handle(&f);
    arg_wanted(0700, 7, 5); /* users are not kept: nothing is changed */
    arg(0);
    check_eq(nfs(SETATTR), NFS3ERR_PERM);
    check_eq(getattr(&f, &b), 0);
    check_eq(b.mode, 0600);
    check_eq(b.size, 1000);
    server_end();
}

/* Return, as bits, which kinds of access a file allows. */
static u32 may(const struct handle *h)
{
    arg_handle(h);
    arg(0x3f);
    check_eq(nfs(ACCESS), 0);
    post_attributes();
    u32 bits = word();
    check_ended();
    return bits;
}

/* The bits are read 1, look up 2, modify 4, extend 8, delete 16 and execute
 * 32. */
TEST(access_allows_what_the_kernel_does)
{
    server_begin("create /m/f\ncreate /m/x\nchmod /m/f 0\nchmod /m/x 100\n");
    struct handle f = must_find("f"), x = must_find("x");
    check_eq(may(&root), 0x1f);
    check_eq(may(&f), 0x0d);
    check_eq(may(&x), 0x2d);
    server_end();
}

/* ---- the file system ---- */

/* FSSTAT has the bytes and inodes, FSINFO the sizes of calls and of a file, in
 * bytes, and PATHCONF the limits of links and names. */
TEST(what_the_file_system_has_is_told)
{
    server_begin("");
    arg_handle(&root);
    check_eq(nfs(FSSTAT), 0);
    post_attributes();
    u64 all = word64(), free = word64();
    check(all > free && all < rig_bytes());
    check_eq(word64(), free);
    check_eq(word64(), image_super(rig_image())->inodes_count);
    skip(16 + 4);
    check_ended();
    arg_handle(&root);
    check_eq(nfs(FSINFO), 0);
    post_attributes();
    for (u32 i = 0; i < 2; i++) {
        check_eq(word(), 8192);
        check_eq(word(), 8192);
        check_eq(word(), 512);
    }
    check_eq(word(), 8192);
    check_eq(word64(), (12UL + 256 + 256 * 256 + 256 * 256 * 256) * 1024);
    check_eq(word64(), 1UL << 32);
    check_eq(word(), 0x1b);
    check_ended();
    arg_handle(&root);
    check_eq(nfs(PATHCONF), 0);
    post_attributes();
    check_eq(word(), 32000);
    check_eq(word(), 255);
    skip(16);
    check_ended();
    server_end();
}

/* ---- READDIR ---- */

#define NAMES 120

/* Read a directory with answers of so many bytes, and note how often each
 * name nI came; the number of calls, or minus the status. `remove`: each as
 * soon as it has come. */
static int read_names(u32 seen[NAMES], u32 bytes, bool plus, bool remove)
{
    u64 cookie = 0;
    memset(seen, 0, NAMES * sizeof *seen);
    for (int calls = 1;; calls++) {
        arg_handle(&root);
        arg64(cookie);
        arg64(0);
        arg(plus ? bytes / 3 : bytes);
        if (plus)
            arg(bytes);
        u32 status = nfs(plus ? READDIRPLUS : READDIR);
        if (status)
            return -(int)status;
        check(left() <= bytes);
        post_attributes();
        check_eq(word64(), 0);
        char gone[NAMES][8];
        u32 ngone = 0;
        while (word()) {
            const u8 *name;
            u64 fileid = word64();
            u32 n = opaque(&name), number = NAMES;
            cookie = word64();
            if (*name == 'n' && n < 8) {
                sprintf(gone[ngone], "%.*s", (int)n, name);
                number = atoi(gone[ngone++] + 1);
                seen[number]++;
            }
            if (plus) {
                check_eq(post_attributes().fileid, fileid);
                check_eq(word(), 1);
                reply_handle();
            }
        }
        bool end = word();
        check_ended();
        for (u32 i = 0; remove && i < ngone; i++)
            check_eq(remove_name_of(&root, gone[i]), 0);
        if (end)
            return calls;
    }
}

/* Make files with names in the root. */
static void make_names(void)
{
    server_begin("many /m 120 n\n");
}

/* Read a directory with answers of 300 to 10,000 bytes: each name comes once.
 * An answer that holds no entry is too small. */
TEST(a_directory_is_listed_once_whatever_the_answers_size)
{
    u32 seen[NAMES];
    make_names();
    for (u32 plus = 0; plus < 2; plus++)
        for (u32 bytes = 300; bytes < 10000; bytes += 77) {
            check(read_names(seen, bytes, plus, false) > 0);
            for (u32 i = 0; i < NAMES; i++)
                check_eq(seen[i], 1);
        }
    check(read_names(seen, 400, false, false) > 10);
    check_eq(read_names(seen, 8192, false, false), 1);
    check_eq(read_names(seen, 100, false, false), -NFS3ERR_TOOSMALL);
    check_eq(read_names(seen, 130, true, false), -NFS3ERR_TOOSMALL);
    check_eq(read_names(seen, 0, false, false), -NFS3ERR_TOOSMALL);
    server_end();
}

/* With READDIR and READDIRPLUS, in replies of 700 bytes: each name is seen once
 * and removed, so a second list has none. */
TEST(a_directory_is_listed_whole_while_its_names_are_removed)
{
    u32 seen[NAMES];
    for (u32 plus = 0; plus < 2; plus++) {
        make_names();
        check(read_names(seen, 700, plus, true) > 0);
        for (u32 i = 0; i < NAMES; i++)
            check_eq(seen[i], 1);
        check(read_names(seen, 700, plus, true) > 0);
        for (u32 i = 0; i < NAMES; i++)
            check_eq(seen[i], 0);
        server_end();
    }
}

/* A cookie says where a listing goes on. The client may send any number. */
TEST(a_cookie_of_any_number_is_accepted)
{
    u64 seed = 1;
    make_names();
    for (u32 i = 0; i < 2000; i++) {
        u64 cookie = random_u64(&seed) >> random_u64(&seed) % 64;
        arg_handle(&root);
        arg64(cookie);
        arg64(0);
        arg(i % 2 ? 500 : 8192);
        check_eq(nfs(READDIR), 0);
    }
    struct handle f = must_find("n1");
    arg_handle(&f);
    arg64(0);
    arg64(0);
    arg(8192);
    check_eq(nfs(READDIR), NFS3ERR_NOTDIR);
    server_end();
}

/* ---- repeated calls ---- */

/* Send the last call once more: the reply's status. */
static u32 again(void)
{
    u32 n;
    const u8 *bytes = rpc_call(&n);
    check(rpc_raw(bytes, n));
    skip(6 * 4);
    return word();
}

/* again() sends the last call's bytes once more. It gets the first answer,
 * unless client, port, xid or contents differ. */
TEST(a_repeated_call_is_done_once_and_answered_alike)
{
    struct handle f;
    server_begin("create /m/f\n");
    u64 repeated = stat_of("nfs.repeated");
    check_eq(remove_name_of(&root, "f"), 0);
    check_eq(again(), 0);
    check_eq(stat_of("nfs.repeated"), repeated + 1);
    check_eq(remove_name_of(&root, "f"), NFS3ERR_NOENT); /* another xid */
    check_eq(again(), NFS3ERR_NOENT);
    check_eq(make_file(&root, "g", &f), 0);
    check_eq(again(), 0);
    check_eq(word(), 1);
    struct handle h = reply_handle();
    check(!memcmp(h.bytes, f.bytes, f.n));
    client_port++; /* another client, by chance with this xid */
    check_eq(again(), NFS3ERR_EXIST);
    client_host++;
    check_eq(again(), NFS3ERR_EXIST);
    client_keeps_xid = true; /* the same xid, but another call */
    check_eq(make_file(&root, "i", &f), 0);
    server_end();
}

/* Remove /f, and make 255 other calls: the first one, repeated, gets its
 * answer, 0. After one call more it is done anew, and finds no such name. */
TEST(the_last_256_answers_are_remembered)
{
    u32 n;
    server_begin("create /m/f\n");
    u32 first = client_xid + 1;
    check_eq(remove_name_of(&root, "f"), 0);
    const u8 *bytes = rpc_call(&n);
    u8 *kept = malloc(n);
    memcpy(kept, bytes, n);
    for (u32 i = 0; i < 255; i++)
        check_eq(remove_name_of(&root, "x"), NFS3ERR_NOENT);
    check(rpc_raw(kept, n));
    check_eq(word(), first);
    skip(5 * 4);
    check_eq(word(), 0);
    check_eq(remove_name_of(&root, "x"), NFS3ERR_NOENT);
    check(rpc_raw(kept, n)); /* it is done anew: not there */
    skip(6 * 4);
    check_eq(word(), 2);
    free(kept);
    server_end();
}

/* The test begins to serve a call itself (`sum` is the hash of its bytes). The
 * call repeated gets no answer until replies_end; then it gets 28 bytes. */
TEST(a_call_that_comes_again_while_it_is_served_gets_no_answer)
{
    static struct call c;
    u32 n;
    server_begin("create /m/f\n");
    remove_name_of(&root, "none");
    const u8 *bytes = rpc_call(&n);
    u8 *kept = malloc(n);
    memcpy(kept, bytes, n);
    kept[3] ^= 0x80; /* another xid, which is being served: */
    c.xid = client_xid ^ 0x80;
    c.from = (struct net_address){client_host, client_port};
    c.sum = 0xcbf29ce484222325UL;
    for (u32 i = 0; i < n; i++)
        c.sum = (c.sum ^ kept[i]) * 0x100000001b3UL;
    check_eq(replies_begin(&c), REPEATED_NOT);
    check(!rpc_raw(kept, n));
    c.out.at = c.reply + 28;
    replies_end(&c);
    check(rpc_raw(kept, n));
    check_eq(left(), 28);
    free(kept);
    server_end();
}

/* ---- damaged calls ---- */

/* Make a call of each procedure in turn, with arguments that are right. */
static void call_something(u32 i)
{
    struct handle f, d;
    char name[16], other[16];
    sprintf(name, "f%u", i % 7);
    sprintf(other, "g%u", i % 5);
    switch (i % 13) {
    case 0:
        make_file(&root, name, &f);
        break;
    case 1:
        make_dir(&root, other, &d);
        break;
    case 2:
        if (!find(&root, name, &f))
            write_at(&f, i % 3000, "some bytes of a file", 20, i % 3);
        break;
    case 3:
        rename_to(&root, name, &root, other);
        break;
    case 4:
        remove_name_of(&root, other);
        break;
    case 5:
        arg_handle(&root);
        arg_name(name);
        arg_nothing_set();
        arg_name("a/link");
        nfs(SYMLINK);
        break;
    case 6:
        arg_handle(&root);
        arg64(i % 2000);
        arg64(0);
        arg(300);
        arg(2000);
        nfs(READDIRPLUS);
        break;
    case 7:
        if (!find(&root, name, &f)) {
            arg_handle(&f);
            arg_wanted(0644, UINT32_MAX, i % 5000);
            arg(0);
            nfs(SETATTR);
        }
        break;
    case 8:
        if (!find(&root, name, &f)) {
            arg_handle(&f);
            arg_handle(&root);
            arg_name(other);
            nfs(LINK);
        }
        break;
    case 9:
        arg_handle(&root);
        arg_name(other);
        nfs(RMDIR);
        break;
    case 10:
        arg_name("/m/g1");
        rpc(MOUNT, 0, i % 2 ? 1 : 3);
        break;
    case 11:
        if (!find(&root, name, &f)) {
            arg_handle(&f);
            arg64(i % 3000);
            arg(1000);
            nfs(READ);
        }
        break;
    case 12:
        create(name, i % 3, i, &f);
        break;
    }
}

/* Damage the last call: change bits, cut it, or put other words into it. */
static u32 damage(u8 *bytes, u32 n, u64 *seed)
{
    static const u32 words[] = {0,          1,          2,         3,
                                255,        8192,       9000,      0x7fffffff,
                                0x80000000, 0xfffffffc, 0xffffffff};
    u32 hits = 1 + random_u64(seed) % 3;
    for (u32 i = 0; i < hits; i++) {
        u32 place = random_u64(seed) % n;
        u32 w = words[random_u64(seed) % NELEM(words)];
        switch (random_u64(seed) % 3) {
        case 0:
            bytes[place] ^= 1 << random_u64(seed) % 8;
            break;
        case 1:
            for (u32 j = 0; j < 4; j++)
                bytes[place / 4 * 4 + j] = w >> (24 - 8 * j);
            break;
        default:
            n = place + 1;
        }
    }
    return n;
}

/* Make 60,000 calls, each with random damage; the server goes on. */
TEST(damaged_calls_of_every_kind_harm_nothing)
{
    u32 n, answered = 0;
    u64 seed = 2026;
    server_begin("");
    for (u32 i = 0; i < 60000; i++) {
        call_something(i);
        const u8 *last = rpc_call(&n);
        u8 *bytes = malloc(n + 4);
        memcpy(bytes, last, n);
        n = damage(bytes, n, &seed);
        answered += rpc_raw(bytes, n);
        free(bytes);
    }
    check(answered > 30000 && answered < 60000);
    check(stat_of("nfs.damaged") > 5000);
    check_eq(getattr(&root, &(struct attributes){0}), 0);
    server_end();
}

/* A good call to make a link is cut after each of its bytes. With less than
 * the header's 40 bytes it is dropped, otherwise answered with "garbage
 * arguments" (4), and there is no link. */
TEST(a_call_cut_anywhere_is_dropped_or_garbage_and_changes_nothing)
{
    struct handle h;
    u32 n;
    server_begin("create /m/f\n");
    struct handle f = must_find("f");
    arg_handle(&f);
    arg_handle(&root);
    arg_name("hard");
    check_eq(nfs(LINK), 0);
    check_eq(remove_name_of(&root, "hard"), 0);
    arg_handle(&f);
    arg_handle(&root);
    arg_name("hard");
    check_eq(nfs(LINK), 0);
    check_eq(find(&root, "hard", &h), 0);
    check_eq(remove_name_of(&root, "hard"), 0);
    arg_handle(&f);
    arg_handle(&root);
    arg_name("hard");
    check_eq(rpc(NFS, 0, LINK), 0);
    const u8 *last = rpc_call(&n);
    u8 *bytes = malloc(n);
    memcpy(bytes, last, n);
    check_eq(remove_name_of(&root, "hard"), 0);
    for (u32 cut = 0; cut < n; cut++) {
        u64 damaged = stat_of("nfs.damaged");
        bool answered = rpc_raw(bytes, cut);
        check_eq(answered, cut >= 40);
        if (answered) {
            skip(5 * 4);
            check_eq(word(), 4);
        }
        check_eq(stat_of("nfs.damaged"), damaged + 1);
        check_eq(find(&root, "hard", &h), NFS3ERR_NOENT);
    }
    free(bytes);
    server_end();
}

/* A reply gets no answer; a wrong version of RPC and unknown credentials get
 * the refusals that RFC 1831 describes. */
TEST(a_call_that_is_none_and_credentials_of_other_kinds_are_refused)
{
    u8 head[44] = {0, 0, 0, 9, 0, 0, 0, 1}; /* a reply */
    server_begin("");
    check(!rpc_raw(head, 40));
    head[7] = 0;
    head[11] = 3; /* RPC 3 */
    check(rpc_raw(head, 40));
    check_eq(word(), 9);
    check_eq(word64(), 1UL << 32 | 1);
    check_eq(word(), 0);
    check_eq(word64(), 2UL << 32 | 2);
    check_ended();
    head[11] = 2;
    head[27] = 6; /* RPCSEC_GSS */
    check(rpc_raw(head, 40));
    skip(8);
    check_eq(word64(), 1UL << 32 | 1);
    check_eq(word(), 2);
    check_ended();
    head[27] = 1;
    head[30] = 2; /* 512 bytes of a credential */
    check(!rpc_raw(head, 40));
    server_end();
}

/* ---- what has been answered is on the disk ---- */

/* Return what is on the disk after a power cut that loses all that may be lost.
 * Where metadata is delayed, only what is asked for must be whole. */
static u8 *cut(void)
{
    u8 *image = malloc(rig_bytes());
    shim_cut(rig_disk, image, 0);
    if (shim.delays == ORDERS_NOW)
        free(rig_look(image, IMAGE_CUT, "a power cut"));
    return image;
}

/* How many links the inode of a path counts; 0: the name is not there. */
static u32 is_there(const char *path)
{
    u8 *image = cut();
    u32 ino = image_ino(image, path);
    u32 links = ino ? image_inode(image, ino)->links_count : 0;
    check(!ino || links);
    free(image);
    return links;
}

/* Return whether an inode is in use on the disk after a power cut. */
static bool is_in_use(u64 ino)
{
    u8 *image = cut();
    bool used = image_inode(image, ino)->links_count;
    free(image);
    return used;
}

/* Return the contents that a path has on the disk after a power cut. */
static const char *contents_of(const char *path)
{
    static char text[32];
    u8 *image = cut();
    u32 ino = image_ino(image, path);
    check(ino);
    u32 n = image_inode(image, ino)->size;
    u32 block = image_map(image, ino, 0);
    check(n < sizeof text);
    memset(text, 0, sizeof text);
    if (block)
        memcpy(text, image_block(image, block), n);
    free(image);
    return text;
}

/* Check, with this order policy, that each change of names is on the disk when
 * it is answered. */
static void names_outlive_a_power_cut(enum shim_order order)
{
    struct handle f, d;
    shim.volatile_cache = true;
    shim.delays = order;
    server_begin("");
    check_eq(make_file(&root, "f", &f), 0);
    check(is_there("/f"));
    check_eq(make_dir(&root, "d", &d), 0);
    check(is_there("/d"));
    check_eq(rename_to(&root, "f", &d, "g"), 0);
    check(is_there("/d/g") && !is_there("/f"));
    arg_handle(&f);
    arg_handle(&root);
    arg_name("hard");
    check_eq(nfs(LINK), 0);
    check_eq(is_there("/hard"), 2);
    check_eq(is_there("/d/g"), 2);
    check_eq(remove_name_of(&d, "g"), 0);
    check(!is_there("/d/g"));
    arg_handle(&root);
    arg_name("d");
    check_eq(nfs(RMDIR), 0);
    check(!is_there("/d"));
    arg_handle(&root);
    arg_name("s");
    arg_nothing_set();
    arg_name("text");
    check_eq(nfs(SYMLINK), 0);
    check(is_there("/s"));
    arg_handle(&f);
    arg_wanted(0711, UINT32_MAX, 10);
    arg(0);
    check_eq(nfs(SETATTR), 0);
    u8 *image = cut();
    struct ext2_inode *ino = image_inode(image, image_ino(image, "/hard"));
    check_eq(ino->mode, S_IFREG | 0711);
    check_eq(ino->size, 10);
    free(image);
    server_end();
}

/* is_in_use tells what the platters have of an inode after a cut now. REMOVE,
 * RENAME over a file, and RMDIR are there when they are answered. */
TEST(a_removed_file_is_gone_after_a_power_cut)
{
    struct handle f, g, h;
    struct attributes a, b, d;
    static u8 data[5000];
    shim.volatile_cache = true;
    server_begin("mkdir /m/d\n");
    check_eq(make_file(&root, "f", &f), 0);
    check_eq(make_file(&root, "g", &g), 0);
    check_eq(make_file(&root, "h", &h), 0);
    check_eq(write_at(&f, 0, data, sizeof data, 0), 0);
    check_eq(getattr(&f, &a), 0);
    check_eq(getattr(&g, &b), 0);
    h = must_find("d");
    check_eq(getattr(&h, &d), 0);
    u64 waited = shim_writes_waited();
    check_eq(remove_name_of(&root, "f"), 0);
    check(!is_in_use(a.fileid));
    check(is_in_use(b.fileid));
    check(shim_writes_waited() - waited < 10); /* its data is not written */
    check_eq(rename_to(&root, "h", &root, "g"), 0);
    check(!is_in_use(b.fileid));
    arg_handle(&root);
    arg_name("d");
    check_eq(nfs(RMDIR), 0);
    check(!is_in_use(d.fileid));
    server_end();
}

TEST(names_that_have_been_answered_outlive_a_power_cut)
{
    names_outlive_a_power_cut(ORDERS_NOW);
}

TEST(names_that_have_been_answered_outlive_it_where_metadata_is_delayed)
{
    names_outlive_a_power_cut(ORDERS_NONE);
}

/* contents_of is a file after a power cut now. Stability 2 and 1 are on the
 * platters at once, 0 when a COMMIT is answered. */
TEST(a_stable_write_outlives_a_power_cut_and_an_unstable_one_after_commit)
{
    struct handle f;
    u64 size;
    shim.volatile_cache = true;
    server_begin("");
    check_eq(make_file(&root, "f", &f), 0);
    check_eq(write_at(&f, 0, "one", 3, 2), 0);
    check(!strcmp(contents_of("/f"), "one"));
    check_eq(write_at(&f, 0, "two!", 4, 1), 0);
    check(!strcmp(contents_of("/f"), "two!"));
    check_eq(write_at(&f, 0, "three", 5, 0), 0);
    check(!strcmp(contents_of("/f"), "two!")); /* it may be lost */
    arg_handle(&f);
    arg64(0);
    arg(0);
    check_eq(nfs(COMMIT), 0);
    check(wcc(&size));
    check_eq(word64(), exported.verifier);
    check_ended();
    check(!strcmp(contents_of("/f"), "three"));
    server_end();
}

/* An unstable write succeeds. COMMIT writes it to the disk, which fails. */
TEST(a_commit_that_fails_says_so)
{
    struct handle f;
    server_begin("");
    check_eq(make_file(&root, "f", &f), 0);
    check_eq(write_at(&f, 0, "three", 5, 0), 0);
    shim_fail(FAULT_WRITE, rig_disk, 1, false);
    arg_handle(&f);
    arg64(0);
    arg(0);
    check_eq(nfs(COMMIT), NFS3ERR_IO);
    skip(8);
    check_ended();
    shim_fail(FAULT_WRITE, rig_disk, 0, false);
    server_end();
}

/* A client compares verifiers to know whether the server lost unstable writes.
 * A second export of the same server keeps it. */
TEST(the_verifier_changes_with_each_start)
{
    server_begin("");
    u64 first = exported.verifier;
    for (u32 i = 0; i < 70; i++)
        clock_wall_ns(); /* the shim's time goes on */
    check_eq(export_begin("/m"), 0);
    check_eq(exported.verifier, first); /* a second process, no start */
    export_end();
    export_end();
    check_eq(export_begin("/m"), 0);
    check(exported.verifier != first);
    server_end();
}

/* While /m is exported no other directory can be, and /m cannot be
 * unmounted. */
TEST(one_directory_is_served)
{
    server_begin("mkdir /m/d\ncreate /m/f\n");
    check_eq(export_begin("/m/d"), -EBUSY);
    check_eq(export_begin("/m/f"), -ENOTDIR);
    check_eq(export_begin("/m/none"), -ENOENT);
    check_eq(rig_do("umount /m"), -EBUSY);
    export_end();
    check_eq(export_begin("/m/d"), 0);
    server_end();
}

/* ---- an export below the root of its file system ---- */

/* /m/d is exported: ".." in it, by LOOKUP and in the list of READDIRPLUS, is
 * /m/d itself. */
TEST(an_export_below_its_file_systems_root_has_no_way_up_either)
{
    struct handle up, e;
    struct attributes a;
    server_begin("mkdir /m/d\nmkdir /m/d/e\n");
    export_end();
    check_eq(export_begin("/m/d"), 0);
    root = mount_path("/m/d");
    check_eq(mount_status("/m"), NFS3ERR_NOENT);
    check_eq(find(&root, "..", &up), 0);
    check(!memcmp(up.bytes, root.bytes, root.n));
    check_eq(find(&root, "e", &e), 0);
    check_eq(find(&e, "..", &up), 0);
    check(!memcmp(up.bytes, root.bytes, root.n));
    check_eq(getattr(&root, &a), 0);
    arg_handle(&root);
    arg64(0);
    arg64(0);
    arg(4096);
    arg(4096);
    check_eq(nfs(READDIRPLUS), 0);
    post_attributes();
    word64();
    for (u32 i = 0; i < 2; i++) { /* "." and ".." */
        const u8 *name;
        check_eq(word(), 1);
        check_eq(word64(), a.fileid);
        check_eq(opaque(&name), 1 + i);
        word64();
        check_eq(post_attributes().fileid, a.fileid);
        check_eq(word(), 1);
        up = reply_handle();
        check(!memcmp(up.bytes, root.bytes, root.n));
    }
    server_end();
}

/* The wanted size, 2^50 bytes, is too large for any file. */
TEST(a_create_that_cannot_have_its_size_makes_nothing)
{
    struct handle h;
    server_begin("");
    arg_handle(&root);
    arg_name("f");
    arg(0);
    arg64(0); /* no mode, no user */
    arg(0);   /* no group */
    arg(1);
    arg64(1UL << 50);
    arg64(0);
    check_eq(nfs(CREATE), NFS3ERR_FBIG);
    check_eq(find(&root, "f", &h), NFS3ERR_NOENT);
    server_end();
}

/* A credential has 400 bytes at most, a handle 64. */
TEST(what_is_longer_than_it_may_be_is_refused_though_it_is_there)
{
    u8 call[40 + 404] = {0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3,
                         0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1,    0x90};
    struct handle h;
    server_begin("");
    check(rpc_raw(call, 40 + 400));
    call[31] += 4;
    check(!rpc_raw(call, 40 + 404));
    u8 handle[68] = {0};
    arg_bytes(handle, 64);
    check_eq(nfs(GETATTR), NFS3ERR_BADHANDLE);
    arg_bytes(handle, 68);
    check_eq(rpc(NFS, 0, GETATTR), 4);
    check_eq(find(&root, "x", &h), NFS3ERR_NOENT);
    server_end();
}

/* A call is being served while 600 others come and go; a repetition of it is
 * still known. */
TEST(a_call_that_is_served_long_keeps_its_row)
{
    static struct call c;
    server_begin("");
    c = (struct call){.xid = 5, .sum = 7, .from = {1, 2}};
    check_eq(replies_begin(&c), REPEATED_NOT);
    for (u32 i = 0; i < 600; i++)
        check_eq(remove_name_of(&root, "x"), NFS3ERR_NOENT);
    check_eq(replies_begin(&c), REPEATED_NOW);
    c.out.at = c.reply + 28;
    replies_end(&c);
    check_eq(replies_begin(&c), REPEATED_DONE);
    server_end();
}

/* ---- several processes at once ---- */

#define SERVERS 4
#define RECORDS 1500

static struct {
    u8 *bytes;
    u32 n;
} records[RECORDS];
static struct call calls[SERVERS];
static u64 order_seed;

/* Serve recorded calls. Server i draws them in an order of its own. */
static void serve_some(u32 i)
{
    u64 seed = order_seed + i;
    for (u32 k = 0; k < RECORDS / SERVERS; k++) {
        u32 which = random_u64(&seed) % RECORDS;
        u8 *bytes = malloc(records[which].n);
        memcpy(bytes, records[which].bytes, records[which].n);
        bytes[0] = i; /* an xid of its own */
        bytes[1] = k >> 8;
        bytes[2] = k;
        u32 n = rpc_answer(&calls[i - 1], (struct net_address){i, 700}, bytes,
                           records[which].n);
        free(bytes);
        check(n >= 28);
        shim_check_idle("a call");
    }
}

/* Calls on files in the root, in g0 and in g0/g1. Calls also make, rename and
 * remove directories, such as g0 and g1. */
static void record_calls(void)
{
    struct handle d[3], f;
    u64 seed = 5;
    check_eq(make_dir(&root, "g0", &d[0]), 0);
    check_eq(make_dir(&d[0], "g1", &d[1]), 0);
    d[2] = root;
    for (u32 i = 0; i < RECORDS; i++) {
        char name[4], other[4];
        u32 n;
        const struct handle *from = &d[random_u64(&seed) % 3];
        sprintf(name, "f%lu", random_u64(&seed) % 4);
        sprintf(other, "g%lu", random_u64(&seed) % 4);
        const struct handle *to = &d[random_u64(&seed) % 3];
        switch (random_u64(&seed) % 9) {
        case 0:
            make_file(from, name, &f);
            break;
        case 1:
            find(from, "..", &f);
            break;
        case 2:
            rename_to(from, name, to, name);
            break;
        case 3:
            rename_to(from, other, to, other);
            break;
        case 4:
            remove_name_of(from, name);
            break;
        case 5:
            arg_handle(from);
            arg64(0);
            arg64(0);
            arg(4000);
            arg(8000);
            nfs(READDIRPLUS);
            break;
        case 6:
            arg_handle(from);
            arg_name(other);
            nfs(RMDIR);
            break;
        case 7:
            make_dir(from, other, &f);
            break;
        case 8:
            if (!find(from, name, &f))
                write_at(&f, 0, name, 3, i % 3);
            break;
        }
        const u8 *bytes = rpc_call(&n);
        records[i].bytes = malloc(n);
        records[i].n = n;
        memcpy(records[i].bytes, bytes, n);
    }
}

TEST(processes_that_serve_together_do_not_wait_for_each_other_for_ever)
{
    server_begin("");
    record_calls();
    for (order_seed = 0; order_seed < 100 * SERVERS; order_seed += SERVERS + 1)
        shim_fibres(SERVERS, serve_some, 0);
    for (u32 i = 0; i < RECORDS; i++)
        free(records[i].bytes);
    server_end();
}
