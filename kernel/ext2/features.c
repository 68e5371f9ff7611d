/*
 * The features of a file system, read one by one (mke2fs -O, dumpe2fs -h).
 *
 * - Incompatible: only filetype is handled. With another one the disk is not
 *   mounted.
 * - Read-only compatible: sparse_super and large_file are handled. With another
 *   one the disk is mounted for reading.
 * - Compatible: any may be there. sparse_super2 is the one that cannot be
 *   ignored: it says which groups begin with a copy of the superblock
 *   (super.c). A feature that is not known may do so, too. A journal is empty
 *   unless there is needs_recovery, an incompatible feature: it is replayed
 *   (recover.c). A table of dir_index is dropped when its directory changes
 *   (dir.c).
 *
 * A feature that is known and not handled is refused by its name, with what to
 * do. Source of names and numbers: e2fsprogs 1.47, misc/ext4.5.in.
 */
#include "kernel/ext2/internal.h"

#define MAKE  "make the image with mke2fs -t ext2"
#define CLEAR "tune2fs -O clears it, with a ^ before its name"

static const struct feature {
    u32 bit;
    const char *name, *advice;
} incompatible[] =
    {
        {0x1, "compression", MAKE},
        {0x4, "needs_recovery", "e2fsck replays the journal"},
        {0x8, "journal_dev", "this is another disk's journal: mount that disk"},
        {0x10, "meta_bg", MAKE},
        {0x40, "extents", MAKE},
        {0x80, "64bit", MAKE},
        {0x100, "mmp", CLEAR},
        {0x200, "flex_bg", MAKE},
        {0x400, "ea_inode", MAKE},
        {0x1000, "dirdata", MAKE},
        {0x2000, "metadata_csum_seed", MAKE},
        {0x4000, "large_dir", MAKE},
        {0x8000, "inline_data", MAKE},
        {0x10000, "encrypt", MAKE},
        {0x20000, "casefold", MAKE},
        {0},
},
  read_only[] = {
      {0x4, "btree_dir", MAKE},
      {0x8, "huge_file", CLEAR},
      {0x10, "uninit_bg", CLEAR},
      {0x20, "dir_nlink", CLEAR},
      {0x40, "extra_isize", CLEAR},
      {0x80, "has_snapshot", MAKE},
      {0x100, "quota", CLEAR},
      {0x200, "bigalloc", MAKE},
      {0x400, "metadata_csum", CLEAR},
      {0x800, "replica", MAKE},
      {0x1000, "read-only", CLEAR},
      {0x2000, "project", CLEAR},
      {0x4000, "shared_blocks", "e2fsck -E unshare_blocks clears it"},
      {0x8000, "verity", MAKE},
      {0x10000, "orphan_present", "e2fsck clears it"},
      {0},
};

/* Print the features, among these bits, that are not handled, as `what`. */
static void complain(struct fs *fs, const char *what, u32 bits,
                     const struct feature *table)
{
    for (const struct feature *f = table; f->bit; f++)
        if (bits & f->bit) {
            fs_report(fs, REFUSED, 0, "%s 0x%x: %s is not handled: %s", what,
                      f->bit, f->name, f->advice);
            bits &= ~f->bit;
        }
    if (bits)
        fs_report(fs, REFUSED, 0, "%s 0x%x are not known: " MAKE, what, bits);
}

/* True if the disk has a journal, and in a file of its own. */
static bool has_journal(const struct ext2_super *sb)
{
    return sb->feature_compat & EXT2_COMPAT_HAS_JOURNAL &&
           sb->journal_inum == EXT2_JOURNAL_INO && !sb->journal_dev;
}

/* Take over the features of the superblock. Unknown ones refuse the mount, or
 * make it for reading only; both are printed by name. */
int check_features(struct fs *fs, const struct ext2_super *sb)
{
    fs->revision_0 = sb->rev_level == 0;
    if (sb->rev_level > 1)
        return fs_report(fs, REFUSED, -EINVAL, "revision %u is not known",
                         sb->rev_level);
    if (fs->revision_0)
        return 0;
    u32 incompat = sb->feature_incompat & ~EXT2_INCOMPAT_KNOWN;
    fs->has_journal = has_journal(sb);
    fs->needs_recovery = incompat & EXT2_INCOMPAT_RECOVER && fs->has_journal;
    if (fs->needs_recovery)
        incompat &= ~EXT2_INCOMPAT_RECOVER;
    complain(fs, "incompatible features", incompat, incompatible);
    if (incompat)
        return -EINVAL;
    u32 ro = sb->feature_ro_compat & ~EXT2_RO_COMPAT_KNOWN;
    if (ro && !fs->read_only) {
        complain(fs, "read-only: features", ro, read_only);
        fs->read_only = true;
    }
    fs->file_types = sb->feature_incompat & EXT2_INCOMPAT_FILETYPE;
    fs->ro_compat = sb->feature_ro_compat;
    fs->two_supers = sb->feature_compat & EXT2_COMPAT_SPARSE_SUPER2;
    fs->strange = sb->feature_compat & ~EXT2_COMPAT_KNOWN;
    memcpy(fs->super_groups, sb->super_groups, sizeof(fs->super_groups));
    return 0;
}
