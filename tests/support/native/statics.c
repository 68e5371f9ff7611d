/* Statics (statics.h), found in the symbol table of the program's own file. */
#include "tests/support/native/statics.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/native/test.h"

/* The program's own file, in memory. */
static const u8 *image(void)
{
    struct stat s;
    int fd = open("/proc/self/exe", O_RDONLY);
    check(fd >= 0 && fstat(fd, &s) == 0);
    const u8 *at = mmap(NULL, s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    check(at != MAP_FAILED && close(fd) == 0);
    return at;
}

/* Where symbol 0 of the file would be in memory: programs are loaded anywhere.
 */
static u64 load_bias(const Elf64_Sym *symbols, u64 n, const char *names)
{
    for (u64 i = 0; i < n; i++) {
        if (strcmp(names + symbols[i].st_name, "static_of") == 0)
            return (u64)static_of - symbols[i].st_value;
    }
    check(!"a symbol table");
    return 0;
}

/* The value, in the file, of a source's variable. The symbols of a source
 * follow its name. */
static u64 value_of(const Elf64_Sym *symbols, u64 n, const char *names,
                    const char *file, const char *variable)
{
    bool here = false;
    for (u64 i = 0; i < n; i++) {
        const char *name = names + symbols[i].st_name;
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FILE)
            here = strcmp(name, file) == 0;
        else if (here && strcmp(name, variable) == 0)
            return symbols[i].st_value;
    }
    printf("%s has no static variable %s\n", file, variable);
    exit(1);
}

u64 *static_of(const char *file, const char *variable)
{
    const u8 *at = image();
    const Elf64_Ehdr *head = (const void *)at;
    const Elf64_Shdr *sections = (const void *)(at + head->e_shoff);
    for (u32 i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const void *)(at + sections[i].sh_offset);
        const char *names =
            (const char *)at + sections[sections[i].sh_link].sh_offset;
        u64 n = sections[i].sh_size / sizeof *symbols;
        return (u64 *)(load_bias(symbols, n, names) +
                       value_of(symbols, n, names, file, variable));
    }
    check(!"a symbol table");
    return NULL;
}
