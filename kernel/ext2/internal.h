/*
 * Declarations that the files of ext2 share. No other room includes it.
 *
 * Rules that hold in all of them, and why:
 * - At most one buffer is held at a time. A damaged disk may name one block
 *   in two roles; a process that held it and asked for it would wait for
 *   itself.
 * - No lock is taken and fs_error is not called with a buffer held.
 * - Two directories are locked together only under tree_lock; a process that
 *   holds one without tree_lock waits for no other (it learns an inode's type
 *   before it locks the inode inside a directory). So no processes wait in a
 *   circle, even where the names on a damaged disk form one. Order:
 *   mount_lock, tree_lock, inodes, fs->follow_lock, operations (operation_
 *   begin), fs->intent_lock, fs->lock, buffers.
 * - Each change of metadata is part of an operation. Under the order policy
 *   journal it reaches the disk as a whole, so what is said below of steps and
 *   their order then matters to no power cut.
 * - iput may lock the inode: it is called with none locked, except for one
 *   just made, which nobody else can reach.
 * - Every number read from the disk is checked before it is used.
 * - Metadata that must reach the disk in order is written by write_now: if
 *   that fails, order is lost, and the file system goes read-only. What the
 *   rest of these rules say of power cuts holds if the order policy is sync.
 * - No more than one sector is written as a whole: a power cut may leave any
 *   sectors of a block as they were and the others new. Inodes, descriptors,
 *   pointers, bits and the intent record lie in one sector each, and no two of
 *   them must change at once. Directory entries may cross sectors: see dir.c.
 * - That order is such that after a power cut at any instant e2fsck -p repairs
 *   what is left, and no name leads to an inode that can be given out again.
 *   An inode that has contents but not quite a name yet, or is about to lose
 *   its last one, is a husk on the disk: an empty directory without blocks,
 *   which e2fsck -p clears together with its name. make.c, remove.c and
 *   rename.c open with their orders. redo.c finishes at mount what no order
 *   makes whole.
 * - `a ?: b` is the error of a, or if there is none, that of b, which is done
 *   only then.
 */
#pragma once

#include "kernel/depend/depend.h"
#include "kernel/ext2/ext2.h"
#include "kernel/ext2/format.h"
#include "kernel/journal/journal.h"

#define GROUPS_PER_PAGE (PAGE_SIZE / sizeof(struct ext2_group))

struct fs {
    /* Changed under mount_lock, read with a reference to an inode of it. */
    struct disk *disk;                     /* NULL: it is not mounted */
    const struct fs_operations *elsewhere; /* NULL: it is ext2 */
    struct inode *root;                    /* referenced */
    struct inode *on; /* covered directory, referenced; root fs: NULL */
    u16 mount_count;  /* mounts of the disk, with this one; 0: not known */
    u16 found_state;  /* EXT2_VALID_FS ... as it was before mounting */
    bool file_types;  /* entries carry types */
    bool revision_0;
    bool has_journal;    /* in a file of its own */
    bool needs_recovery; /* the journal is to be replayed */
    bool two_supers;     /* copies of the superblock are in super_groups only */
    u32 super_groups[2]; /* 0: none */
    u32 strange;         /* compatible features that are not known */
    u32 block_bytes, block_shift;
    u32 blocks, first_data_block;
    u32 blocks_per_group, inodes_per_group, groups;
    u32 inodes, first_ino, inode_bytes;
    u32 table_blocks; /* of a group's part of the inode table */
    u32 own_blocks;   /* all the file system's own metadata */
    u32 own_end;      /* first block after group 0's descriptors */
    u64 max_bytes;    /* of a file */
    bool no_atime;    /* reading does not change an inode */
    /* lock */
    struct sleeplock lock; /* the allocator */
    struct ext2_group **group_pages;
    u64 free_blocks, free_inodes; /* sums over the groups, and blocks that */
                                  /* the transaction will have freed */
    u32 ro_compat;
    u32 generation;            /* of the next inode made */
    struct ext2_intent intent; /* the superblock's; magic 0: it has none */
    bool intent_on_disk; /* the disk may have a record, perhaps this one */
    struct sleeplock intent_lock; /* one process writes it at a time */
    struct journal journal; /* open: metadata goes into its transactions */
    struct sleeplock follow_lock; /* one process opens or closes it at a time */
    u64 followed; /* atomic: the number of the policy that it was opened or
                     closed for */
    /* atomic: only ever become true, while mounted */
    u32 read_only;
    u32 failed;      /* damage or a lost write: ERROR flag */
    u32 failed_told; /* sync has been told */
    u32 delays;      /* an order policy has delayed metadata */
    u32 complaints;  /* only grows */
};

extern struct fs mounts[MAX_DISKS]; /* by the disk's number */
extern struct spinlock icache_lock;
extern struct sleeplock tree_lock; /* shape of the tree: rename, rmdir */
extern bool far_indirect; /* indirect=far: where files grow; set at boot */

/* Return the time as it is stored: in seconds since 1970, of 32 bits without a
 * sign, so up to February 2106. A clock past that stores its last second. */
static inline u32 now_s(void)
{
    return MIN(clock_wall_ns() / NS_PER_S, UINT32_MAX);
}

/* True if an entry may name the inode. */
static inline bool ino_ok(const struct fs *fs, u32 ino)
{
    return ino == EXT2_ROOT_INO || (ino >= fs->first_ino && ino <= fs->inodes);
}

/* Return the owner by which the cache knows the inode's blocks: all of one
 * owner are flushed together. */
static inline u64 owner_of(const struct inode *ip)
{
    return (u64)(ip->fs - mounts) << 32 | ip->ino;
}

/* Return how many blocks hold this many bytes. */
static inline u64 blocks_of(const struct fs *fs, u64 bytes)
{
    return (bytes + fs->block_bytes - 1) >> fs->block_shift;
}

static inline u32 sectors_of(const struct fs *fs)
{
    return fs->block_bytes / SECTOR_BYTES;
}

/* True if the pointers of such an inode lead to blocks; else they are a link's
 * text or a number. */
static inline bool has_blocks(u32 mode, u64 size)
{
    return S_ISREG(mode) || S_ISDIR(mode) ||
           (S_ISLNK(mode) && size >= EXT2_LINK_INLINE);
}

/* Return the error for the caller: for an -EIO of a file system elsewhere, its
 * cause. */
static inline int cause_of(const struct inode *ip, int error)
{
    bool asks = error == -EIO && ip->fs->elsewhere;
    return asks ? ip->fs->elsewhere->error(ip) : error;
}

/* features.c: take over what the superblock says of them; prints what is not
 * handled. 0 or -EINVAL. */
int check_features(struct fs *, const struct ext2_super *);

/* super.c */
enum trouble {
    REFUSED, /* the disk is not mounted as it was wanted */
    DAMAGED, /* the rest is usable: print, but not more than eight times */
    FAILED   /* print once, go read-only, set the ERROR flag if that can be */
};
/* Print a line about a file system. Returns the error. */
int fs_report(struct fs *, enum trouble, int error, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define fs_damaged(fs, ...) fs_report(fs, DAMAGED, -EIO, __VA_ARGS__)
#define fs_error(fs, ...)   fs_report(fs, FAILED, -EIO, __VA_ARGS__)
/* Make sure the superblock says that there are files of this size. */
int fs_allow_size(struct fs *, u64 bytes);
/* Write the record of a rename into the superblock; NULL, or if the order
 * policy delays metadata: if the disk has one still, of a rename that is done,
 * write that there is none. 0 or -EIO. */
int fs_intend(struct fs *, const struct ext2_intent *);
struct inode *root_inode(void);
/* Write that the journal is empty. failed: and that damage was found. */
int super_recovered(struct fs *, bool failed);
/* Call fn for every mount; the first error, when all have been called. */
int each_mount(int (*fn)(struct fs *));

/* Say on the disk whether the journal needs recovery; 0 or -EIO. */
int super_needs_recovery(struct fs *, bool needs);

/* recover.c: replay the journal if the disk needs it, and see that it is empty
 * if the disk may be written. 1: what was read of the disk is out of date; 0 or
 * -errno. */
int journal_replay(struct fs *);
/* Find where the journal lies. The numbers of its blocks are in memory that
 * log_release releases. 0 or -errno, with why. */
int log_find(struct fs *, struct log *, const char **why);
void log_release(struct log *);

/* order.c */
void order_init(void); /* owns the order kind */
/* Write metadata of the owner on which later writes rely, as the order policy
 * decides: by default it is on the disk before what is written later. A failure
 * is the file system's. 0 or -EIO. */
int write_now(struct fs *, struct buf *, u64 owner);
/* Write metadata and wait, whatever the order policy is. 0 or -EIO. */
int write_stable(struct fs *, struct buf *);
/* True if the policy delays the write of this block of metadata. */
bool order_delays(struct fs *, u64 blkno);
/* If metadata was delayed, write all dirty blocks, or those of metadata alone.
 * 0 or -EIO. */
int order_settle(struct fs *, bool metadata);
/* Write metadata of the owner on which no later write relies: it is delayed. */
void write_late(struct fs *, struct buf *, u64 owner);
/* 0, or -EINVAL, with a message: the policy needs a journal. For a mount. */
int order_check(struct fs *);
/* Open or close the journal, as the policy wants; then write delayed metadata.
 * The caller is in no operation. 0 or -errno. */
int order_follow(struct fs *);
/* Close the journal for good, at the end of a mount. 0 or -EIO. */
int order_end(struct fs *);
/* Commit, as journal_commit, if the journal is open; 0 or -EIO. */
int order_commit(struct fs *, bool asked);

/* Begin an operation, which has locked its inodes. All changes of metadata are
 * in one, except a mount's. HOLD(operation, fs) ends it, too. */
void operation_begin(struct fs *);
void operation_end(struct fs *);
HOLDER(operation, struct fs, operation_begin, operation_end)
/* Allow a long operation to be cut in two here. The inode is written. */
int operation_pause(struct inode *);

/* alloc.c; they take fs->lock */
struct ext2_group *group_of(const struct fs *, u32 group);
u32 group_blocks(const struct fs *, u32 group);
/* True if a file may own these n blocks: in range, and none the system's
 * own. */
bool blocks_ok(const struct fs *, u32 first, u32 n);
/* A block for ip, at the goal if that is not 0 and free, else near it. */
int block_alloc(struct inode *ip, u32 goal, u32 *blkno);
/* A goal in the next group after this block's that has at least its share of
 * the free blocks. */
u32 goal_elsewhere(struct fs *, u32 blkno);
int blocks_free(struct fs *, u32 first, u32 n);
/* Free blocks in the bitmaps; with a journal, in the transaction's commit. */
int blocks_give_back(void *fs, u32 first, u32 n);
/* Allocate an inode's number for something of that mode in dir. */
int ino_alloc(struct inode *dir, u32 mode, u32 *ino);
int ino_free(struct fs *, u32 ino, bool directory);
/* Mark a block, or an inode, as in use because it has an owner, whatever its
 * bitmap says: after a power cut, with fs->lock held. Then count all again. */
int block_claim(struct fs *, u32 blkno);
int ino_claim(struct fs *, u32 ino);
int groups_recount(struct fs *);

/* claim.c: mark what inodes own as in use, if a power cut may have lost it; at
 * mount. 0 or -EIO. */
int claim_all(struct fs *);

/* inode.c */
/* Free an inode without names, with its blocks and attributes. The inode is
 * locked; afterwards it is not valid any more. */
void inode_free(struct inode *);
void inodes_init(void);
int iget(struct fs *, u32 ino, struct inode **);
/* Make an inode: allocated, referenced, locked, with as many names as it will
 * have (a directory 2); not yet on the disk. */
int inode_make(struct inode *dir, u32 mode, struct inode **);
/* Copy a locked inode to its block's buffer; wait: then write_now. */
int inode_write(struct inode *, bool wait);
/* Then write_stable. Before it, pointers that wait for the file's data. If a
 * swap has just opened the journal, it has written all that was dirty, the
 * inode too. */
int inode_sync(struct inode *);
u32 inode_block(const struct inode *); /* the disk's block that has it */
int inode_write_husk(struct inode *);  /* and wait; the inode stays as it is */
/* iget, if the disk has the inode in that generation; else *out is NULL. *husk:
 * on the disk the inode is a husk. */
int iget_was(struct fs *, struct ext2_named, struct inode **out, bool *husk);
/* Of the inodes in use, free those without names, or write all dirty ones to
 * their buffers. The first error. */
int inodes_settle(struct fs *, bool nameless);
bool inodes_busy(struct fs *);   /* icache_lock held */
void inodes_forget(struct fs *); /* none referenced */

/* map.c */
/* Find the disk's block that holds a block of the file; 0: a hole. */
int map(struct inode *, u64 block, u32 *blkno);
/* Like map, but a hole gets a block, with undefined contents: then *fresh. */
int map_alloc(struct inode *, u64 block, u32 *blkno, bool *fresh);
/* A buffer of zeros for the first block of a new inode, now allocated. */
int first_block(struct inode *, struct buf **);
/* Free every block from the given one on; writes the inode. */
int map_cut(struct inode *, u64 keep_blocks);

/* data.c */
int read_link(struct inode *, struct uio *); /* ext2_readlink, of ext2's link */

/* dir.c; the directory is locked and valid */
struct search {
    bool found;
    u32 ino, block, at; /* if found: block of the directory, byte in it */
    bool room;          /* the first place found with room for the name */
    u32 room_block, room_at;
};
int dir_search(struct inode *dir, const char *name, struct search *);
/* Write an entry for ip into the room that dir_search found. The directory's
 * block is written on return. */
int dir_enter(struct inode *dir, const struct search *, const char *name,
              struct inode *ip);
int dir_remove(struct inode *dir, const struct search *);
/* Make the entry that was found lead to ip; nothing else changes. */
int dir_point(struct inode *dir, const struct search *, const struct inode *);
/* Exchange the inodes of two entries in one write. This can be done if the
 * heads of both are in one sector. */
bool dir_can_swap(const struct search *, const struct search *);
int dir_swap(struct inode *dir, const struct search *, const struct search *);
/* Rename ip's entry within its block, so that a power cut leaves one of the two
 * names. -ENOSPC: no room for that. */
int dir_rename(struct inode *dir, const struct search *, const char *name,
               struct inode *ip);
/* Find the entry at a byte of a block, as dir_search does; !found: none. */
int dir_entry(struct inode *dir, u32 block, u32 at, struct search *);
/* Have the ".." of a locked directory lead to `to` and no longer to `from`, if
 * it does not yet; then change the counts of links of both. */
int dir_set_parent(struct inode *dir, struct inode *from, struct inode *to);
int dir_empty(struct inode *dir); /* 0, -ENOTEMPTY or -EIO */
/* Give a new directory its first block. */
int dir_init(struct inode *dir, u32 parent_ino);
/* The name by which dir knows inode ino. -ENOENT. */
int dir_name_of(struct inode *dir, u32 ino, char name[NAME_BYTES + 1]);

/* walk.c */
struct walk {
    struct inode *at; /* referenced: the directory `name` is looked up in */
    const char *rest; /* of the path, after `name` */
    char *page;       /* holds rest, once a link has been followed */
    u32 links;
    bool last;  /* `name` is the last of the path */
    bool slash; /* ... with slashes after it */
    char name[NAME_BYTES + 1];
};
/* Relative paths start at the directory `at`, or if it is NULL at the
 * process's. */
void walk_start(struct walk *, struct inode *at, const char *path);
void walk_end(struct walk *);
#define WALK_OWNED __attribute__((cleanup(walk_end))) /* once it has begun */
/* Go on to the last name of the path: walk->at is its directory. */
int walk_parent(struct walk *);
/* walk_start, then walk_parent; walk_end is due even if it fails. */
int walk_to_parent(struct walk *, struct inode *at, const char *path);
/* 0 if the path may end at ip, to which its last name led. -EAGAIN: ip was a
 * link that is followed, and the path has a new end. An error consumes ip. */
int walk_arrived(struct walk *, struct inode *ip, bool follow);
/* Locked: 0 if it is a directory in which names can be looked up. */
int check_dir(struct inode *dir);
/* Return an inode's S_IFMT bits, or -EIO. The inode is not locked. */
int type_of(struct inode *);
/* The root of the file system mounted there, or else ip; ip is consumed. */
struct inode *cross_down(struct inode *ip);

/* redo.c: the record of a rename that takes several writes */
#define REDO_SPARE_BYTES 24
void redo_end(struct fs *); /* begun by fs_intend */
/* Finish the rename that the superblock tells of; at mount. 0 or -EIO. */
int redo_finish(struct fs *);
/* Write the name that a replaced file has for a while. */
void redo_spare_name(char name[REDO_SPARE_BYTES], u32 ino);

/* True for "." and "..". */
static inline bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The inode that a new name is to have. */
struct making {
    u32 mode, rdev;
    bool exclusive;     /* a file: the name must be new */
    const char *target; /* of a symbolic link */
};

/* vfs.c: where dir, or the walk's directory, is elsewhere */
int make_elsewhere(struct walk *, const struct making *, struct inode **out);
int remove_elsewhere(struct walk *, struct inode *);
int rename_elsewhere(struct walk *from, struct walk *to);

/* make.c, remove.c; for rename too. Inodes are locked. */
/* Change the count of links on the disk. */
int set_links(struct inode *, u32 nlink, bool wait);
/* The inode will lose a name. Before it loses the last, make it a husk. */
int before_removal(struct inode *);
int after_removal(struct inode *); /* a name is gone */
/* Remove the name found of ip. */
int remove_name(struct inode *dir, const struct search *, struct inode *ip);
/* 0 if a name of ip may be removed. A directory must be empty; tree_lock
 * held. */
int check_removal(struct inode *);
bool is_mounted_on(const struct inode *); /* takes icache_lock */
