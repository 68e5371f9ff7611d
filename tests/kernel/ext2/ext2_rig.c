/*
 * What unit tests of ext2 stand on: a small image, mounted at /m, and commands
 * on it (ext2_rig.h).
 *
 * link: kernel/ext2/alloc.c kernel/ext2/claim.c
 * link: kernel/ext2/dir.c kernel/ext2/data.c
 * link: kernel/ext2/features.c kernel/ext2/order.c kernel/ext2/vfs.c
 * link: kernel/ext2/recover.c kernel/journal/recover.c
 * link: kernel/journal/append.c kernel/journal/transaction.c
 * link: kernel/ext2/inode.c kernel/ext2/make.c kernel/ext2/map.c
 * link: kernel/ext2/redo.c kernel/ext2/remove.c kernel/ext2/rename.c
 * link: kernel/ext2/walk.c kernel/ext2/super.c tests/kernel/ext2/ext2_shim.c
 * link: kernel/cache/lost.c tests/support/native/main.c
 * link: tests/support/native/random.c tests/support/native/text.c
 * link: tests/kernel/ext2/ext2_commands.c tests/kernel/ext2/ext2_image.c
 */
#include "tests/kernel/ext2/ext2_rig.h"

#include <stdarg.h>
#include <sys/time.h>

#define CPU_S 60 /* of a test, against one that never ends: they take three */

/* Images are large and many: what is freed is soon used again. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=2";
}

struct disk *rig_disk;
static u64 bytes;
static u8 *kept;
static char *said;

/* The root, with a directory /m. */
static void make_root(const struct image_options *o)
{
    u64 n;
    u8 *image =
        image_make(&(struct image_options){.block_bytes = o->block_bytes}, &n);
    shim.block_bytes = image_block_bytes(image);
    struct disk *root = shim_disk_of(image, n);
    ext2_init();
    check_eq(ext2_mount_root(root), 0);
    check_eq(rig_do("mkdir /m"), 0);
    rig_disk = command_disk = shim_disk_of(malloc(1), 0);
}

/* Put a new image into disk1, made with these options. */
void rig_make(const struct image_options *o)
{
    static const struct image_options usual;
    if (!rig_disk) {
        shim.flush_permille = shim.through_permille = 0;
        shim.buffers = 100000;
        shim.quiet = true;
        make_root(o ? o : &usual);
    }
    u8 *image = image_make(o ? o : &usual, &bytes);
    shim_insert(rig_disk, image, bytes);
}

u8 *rig_image(void)
{
    return shim_bytes(rig_disk);
}

u64 rig_bytes(void)
{
    return bytes;
}

void rig_keep(void)
{
    free(kept);
    kept = malloc(bytes);
    memcpy(kept, rig_image(), bytes);
}

const u8 *rig_kept(void)
{
    return kept;
}

void rig_restore(void)
{
    shim_refill(rig_disk, kept, bytes);
}

int rig_do(const char *fmt, ...)
{
    char line[2 * PATH_BYTES];
    size_t n;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    free(said);
    command_out = open_memstream(&said, &n);
    int error = command_run(line, NULL);
    fclose(command_out);
    return error;
}

const char *rig_said(void)
{
    return said;
}

/* Do the commands of a text, a line each; one that fails ends the test. */
void rig_script(const char *lines)
{
    while (*lines) {
        int n = strcspn(lines, "\n");
        int error = rig_do("%.*s", n, lines);
        if (error || command_failed) {
            printf("%.*s: %d\n%s", n, lines, error, said);
            exit(1);
        }
        lines += n + (lines[n] == '\n');
    }
}

/* Return the tree of an image; anything wrong with it ends the test. */
char *rig_look(const u8 *image, enum image_state state, const char *after)
{
    char *wrong, *tree = image_look(image, bytes, state, &wrong);
    if (*wrong) {
        printf("after %s:\n%s", after, wrong);
        exit(1);
    }
    free(wrong);
    return tree;
}

void rig_end(void)
{
    check_eq(rig_do("umount /m"), 0);
    check_eq(image_super(rig_image())->state, EXT2_VALID_FS);
    free(rig_look(rig_image(), IMAGE_WHOLE, "all that"));
}

struct inode *rig_open(const char *path)
{
    struct inode *ip;
    check_eq(command_open(path, false, &ip), 0);
    return ip;
}

void rig_close(struct inode *ip)
{
    command_close(ip);
}

/* However a test loops, it ends. */
static __attribute__((constructor)) void limit_time(void)
{
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = CPU_S},
              NULL);
}
