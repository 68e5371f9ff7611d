/*
 * The files of a mount that are known, by number and by handle.
 *
 * - A file's number is its inode's, and says where its blocks are. So a number
 *   is given to another file only when no block of the old one is cached.
 * - Files are in pages, which are freed by unmounting.
 */
#include "kernel/cache/bio.h"
#include "kernel/machine/mem.h"
#include "kernel/remote/internal.h"

#define PER_PAGE (PAGE_SIZE / sizeof(struct file))
_Static_assert(PER_PAGE *FILE_PAGES >= FILES, "pages for all files");

struct file *file_at(struct mount *m, u32 number)
{
    return m->pages[number / PER_PAGE] + number % PER_PAGE;
}

static struct list *bucket(struct mount *m, const u8 *handle, u32 bytes)
{
    u32 sum = 2166136261; /* FNV-1a */
    for (u32 i = 0; i < bytes; i++)
        sum = (sum ^ handle[i]) * 16777619;
    return &m->hash[sum % BUCKETS];
}

/* Return the file with this handle, or NULL. */
struct file *file_find(struct mount *m, const u8 *handle, u32 bytes)
{
    struct list *b = bucket(m, handle, bytes);
    ITEM_EACH (struct file, f, b, hash)
        if (f->handle_bytes == bytes && !memcmp(f->handle, handle, bytes))
            return f;
    return NULL;
}

/* Return a file that was never used; NULL: there is none. page: memory for
 * more. */
static struct file *take_new(struct mount *m, char **page)
{
    if (m->nfiles == FILES)
        return NULL;
    struct file **at = &m->pages[m->nfiles / PER_PAGE];
    if (!*at) {
        *at = (struct file *)*page;
        *page = NULL;
    }
    if (!*at)
        return NULL;
    struct file *f = *at + m->nfiles % PER_PAGE;
    f->number = m->nfiles++;
    return f;
}

/* Return, of the files that are not in use, the one that was looked up least
 * recently, or NULL. In use are the root, files with an inode or an open, and
 * those for which a call or a process works, or is due to work. */
static struct file *oldest(struct mount *m)
{
    ITEM_EACH (struct file, f, &m->age, age)
        if (!f->ip && f->number != m->root && !f->own.working &&
            !f->own.calling && !list_on(&f->own.due) && !f->opens)
            return f;
    return NULL;
}

/* Take the oldest file out of the lists, and free it. Its dirty blocks are
 * written first. */
static struct file *take_oldest(struct mount *m)
{
    struct file *f;
    while ((f = oldest(m)) && f->written) {
        spin_unlock(&m->lock);
        int error = flush_file(m, f);
        spin_lock(&m->lock);
        if (error)
            return NULL;
    }
    if (f) {
        list_remove(&f->hash);
        list_remove(&f->age);
    }
    return f;
}

/* Give a slot to a file. It is the youngest. */
static void enter(struct mount *m, struct file *f, const u8 *handle, u32 bytes)
{
    *f = (struct file){.number = f->number, .handle_bytes = bytes};
    memcpy(f->handle, handle, bytes);
    list_push_back(bucket(m, handle, bytes), &f->hash);
    list_push_back(&m->age, &f->age);
}

/* Return the file with this handle. A new one gets a new slot, or that of the
 * oldest which is not in use; NULL if there is none. */
struct file *file_of_handle(struct mount *m, const u8 *handle, u32 bytes)
{
    PAGE_OWNED char *page = page_alloc_zero();
    spin_lock(&m->lock);
    struct file *f = file_find(m, handle, bytes), *old = NULL;
    if (f) {
        list_remove(&f->age);
        list_push_back(&m->age, &f->age);
    } else if ((f = take_new(m, &page))) {
        enter(m, f, handle, bytes);
    } else {
        old = take_oldest(m);
    }
    spin_unlock(&m->lock);
    if (!old)
        return f;
    drop_blocks(m, old, 0, file_end(old) + 1);
    HOLD(spin, &m->lock);
    f = file_find(m, handle, bytes); /* another process may have been faster */
    if (f) {
        old->handle_bytes = 0;
        list_push_front(&m->age, &old->age);
        list_push_back(bucket(m, NULL, 0), &old->hash);
        return f;
    }
    enter(m, old, handle, bytes);
    return old;
}

/* Free all slots. */
void files_free(struct mount *m)
{
    for (u32 i = 0; i < FILE_PAGES && m->pages[i]; i++) {
        page_free(m->pages[i]);
        m->pages[i] = NULL;
    }
}
