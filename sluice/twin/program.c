/* The host's copies of programs (program.h). Executable and Linkable Format
 * (System V gABI); one kind of relocation, as -static-pie makes them.
 *
 * The host's pages may be larger than the kernel's. The linker lays no two
 * segments into one page of the largest that the processor has. */
#define _GNU_SOURCE
#include "sluice/twin/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/twin/pristine.h"
#include "kernel/machine/panic.h"

#define PROGRAMS 128
#ifdef __aarch64__ /* the base plus the addend */
#define RELATIVE R_AARCH64_RELATIVE
#else
#define RELATIVE R_X86_64_RELATIVE
#endif

const char *programs_folder;

KEPT static struct program programs[PROGRAMS];
static struct program_file {
    int fd;
    const u8 *bytes;
} files[PROGRAMS] KEPT;
KEPT static u32 nprograms;

/* ---- the file ---- */

static const Elf64_Ehdr *header(const struct program *p)
{
    return (const Elf64_Ehdr *)p->file->bytes;
}

/* The i-th segment, or NULL. */
static const Elf64_Phdr *segment(const struct program *p, u32 i)
{
    const u8 *first = p->file->bytes + header(p)->e_phoff;
    return i < header(p)->e_phnum ? (const Elf64_Phdr *)first + i : NULL;
}

/* The value of a tag of the dynamic section; 0: it is not there. */
static u64 dynamic(const struct program *p, i64 tag)
{
    const Elf64_Phdr *s;
    for (u32 i = 0; (s = segment(p, i)); i++) {
        const u8 *first = p->file->bytes + s->p_offset;
        const Elf64_Dyn *d = (const Elf64_Dyn *)first;
        for (; s->p_type == PT_DYNAMIC && d->d_tag != DT_NULL; d++)
            if (d->d_tag == tag)
                return d->d_un.d_val;
    }
    return 0;
}

/* Map the whole file for reading, and check that it can lie at any address. */
static void open_file(struct program *p, const char *path)
{
    struct program_file *f = p->file;
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = f->fd < 0 ? 0 : lseek(f->fd, 0, SEEK_END);
    f->bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (f->bytes == MAP_FAILED)
        panic("twin: there is no program %s", path);
    if (memcmp(header(p)->e_ident, ELFMAG, SELFMAG) ||
        header(p)->e_type != ET_DYN)
        panic("twin: %s is no position-independent program", path);
}

/* Note where the program's data begin, where it ends, and its entry. */
static void find_parts(struct program *p)
{
    const Elf64_Phdr *s;
    p->entry = header(p)->e_entry;
    for (u32 i = 0; (s = segment(p, i)); i++) {
        if (s->p_type != PT_LOAD)
            continue;
        if (s->p_flags & PF_W)
            p->data = ROUND_DOWN(s->p_vaddr, sizeof(u64));
        p->end = ROUND_UP(s->p_vaddr + s->p_memsz, PAGE_SIZE);
    }
}

/* Return a program, which is mapped from its file the first time. */
const struct program *program_named(const char *name)
{
    char path[4096];
    for (u32 i = 0; i < nprograms; i++)
        if (!strcmp(programs[i].name, name))
            return &programs[i];
    if (nprograms == PROGRAMS)
        panic("twin: %s is one program too many", name);
    struct program *p = &programs[nprograms];
    p->file = &files[nprograms++];
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", programs_folder, name);
    open_file(p, path);
    find_parts(p);
    return p;
}

/* ---- in memory ---- */

static void map(u64 at, u64 bytes, int access, int flags, int fd, u64 offset)
{
    void *want = (void *)at;
    if (mmap(want, bytes, access, MAP_PRIVATE | flags, fd, offset) != want)
        panic("twin: no memory for a program: raise `ulimit -v`, or ask for "
              "fewer "
              "processes");
}

/* Reserve a place, and map the segments that are only read or executed from the
 * file. A mapping begins at a page, up to `skip` bytes before its segment. */
void program_map(const struct program *p, u64 base, u64 bytes)
{
    const Elf64_Phdr *s;
    map(base, bytes, PROT_READ | PROT_WRITE,
        MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    for (u32 i = 0; (s = segment(p, i)); i++) {
        u64 skip = s->p_vaddr % sysconf(_SC_PAGESIZE);
        if (s->p_type == PT_LOAD && !(s->p_flags & PF_W))
            map(base + s->p_vaddr - skip, s->p_filesz + skip,
                PROT_READ | (s->p_flags & PF_X ? PROT_EXEC : 0),
                MAP_FIXED | MAP_POPULATE, p->file->fd, s->p_offset - skip);
    }
}

/* Copy a program's data to its place, and add the base to each pointer in the
 * data. */
void program_fill(const struct program *p, u64 base)
{
    const Elf64_Phdr *s;
    for (u32 i = 0; (s = segment(p, i)); i++)
        if (s->p_type == PT_LOAD && s->p_flags & PF_W)
            memcpy((void *)(base + s->p_vaddr), p->file->bytes + s->p_offset,
                   s->p_filesz);
    const u8 *first = p->file->bytes + dynamic(p, DT_RELA);
    const Elf64_Rela *r = (const Elf64_Rela *)first;
    for (u64 i = 0; i < dynamic(p, DT_RELASZ) / sizeof *r; i++) {
        if (ELF64_R_TYPE(r[i].r_info) != RELATIVE)
            panic("twin: %s: a relocation of another kind", p->name);
        *(u64 *)(base + r[i].r_offset) = base + r[i].r_addend;
    }
}
