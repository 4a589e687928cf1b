/* Calls of a function of the executable itself go to another one, by a jump at its beginning.
 *
 * The executable is compiled with -fpatchable-function-entry=16: each function begins with instructions that do
 * nothing, no other instruction jumps among them, and callers rely on no more registers than those of the calling
 * convention (GCC leaves out -fipa-ra then). The jump takes their place; the function goes on behind them.
 */
#ifndef HOPCAST_CALIBRATE_ENTRY_H
#define HOPCAST_CALIBRATE_ENTRY_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_ROOM "is compiled without room at its beginning"

/* The executable's file in memory; NULL of one that cannot be read. It stays: a process has one. */
static const char *hopcast_executable(size_t *bytes) {
    static const char *file;
    static size_t length;
    if (!file) {
        int opened = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        struct stat facts;
        if (opened >= 0 && fstat(opened, &facts) == 0 && (size_t)facts.st_size >= sizeof(ElfW(Ehdr))) {
            void *place = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, opened, 0);
            if (place != MAP_FAILED && memcmp(place, ELFMAG, SELFMAG) == 0) {
                file = place;
                length = (size_t)facts.st_size;
            }
        }
        if (opened >= 0)
            close(opened);
    }
    *bytes = length;
    return file;
}

/* Displacement of the executable: that of the first object which the loader lists. */
static int hopcast_first_object(struct dl_phdr_info *object, size_t size, void *displacement) {
    (void)size;
    *(ElfW(Addr) *)displacement = object->dlpi_addr;
    return 1;
}

/* What the compiler makes of a function whose calls it has changed: NAME.constprop.0, NAME.isra.0 and so on. */
static int hopcast_is_variant(const char *symbol, const char *name) {
    size_t length = strlen(name);
    return strncmp(symbol, name, length) == 0 && symbol[length] == '.' && !strstr(symbol, ".cold");
}

struct found {
    unsigned char *place;
    int functions;
    char variant[256];
};

/* Functions of that name in the executable's symbol table. */
static struct found hopcast_search(const char *name) {
    struct found found = {NULL, 0, ""};
    size_t bytes;
    const char *file = hopcast_executable(&bytes);
    if (!file)
        return found;
    const ElfW(Ehdr) *head = (const void *)file;
    if (head->e_shoff == 0 || head->e_shoff + (size_t)head->e_shnum * sizeof(ElfW(Shdr)) > bytes)
        return found;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    ElfW(Addr) displacement = 0;
    dl_iterate_phdr(hopcast_first_object, &displacement);
    for (int i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if ((table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) || table->sh_link >= head->e_shnum)
            continue;
        const ElfW(Shdr) *texts = &sections[table->sh_link];
        if (table->sh_offset + table->sh_size > bytes || texts->sh_offset + texts->sh_size > bytes)
            continue;
        const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
        for (size_t k = 0; k < table->sh_size / sizeof *symbols; k++) {
            const ElfW(Sym) *one = &symbols[k];
            if (ELF64_ST_TYPE(one->st_info) != STT_FUNC || one->st_shndx == SHN_UNDEF)
                continue;
            if (one->st_name >= texts->sh_size)
                continue;
            const char *symbol = file + texts->sh_offset + one->st_name;
            unsigned char *place = (unsigned char *)(displacement + one->st_value);
            if (strcmp(symbol, name) == 0 && place != found.place) {
                found.place = place;
                found.functions++;
            } else if (hopcast_is_variant(symbol, name)) {
                snprintf(found.variant, sizeof found.variant, "%s", symbol);
            }
        }
    }
    return found;
}

#if defined(__x86_64__)
/* jmp *0(%rip), and the address behind it. */
#define JUMP_BYTES 14
static void hopcast_write_jump(unsigned char *place, const void *to) {
    memcpy(place, "\xff\x25\0\0\0\0", 6);
    memcpy(place + 6, &to, sizeof to);
}

/* endbr64: where indirect calls may arrive. */
static unsigned char *hopcast_behind_landing(unsigned char *place) {
    return memcmp(place, "\xf3\x0f\x1e\xfa", 4) == 0 ? place + 4 : place;
}

/* Length of an instruction that does nothing, as GCC and Clang write them (Intel's manual, NOP); 0 of any other. */
static size_t hopcast_nothing(const unsigned char *at) {
    size_t prefixes = 0;
    while (at[prefixes] == 0x66 || at[prefixes] == 0x2e)
        prefixes++;
    const unsigned char *code = at + prefixes;
    if (code[0] == 0x90)
        return prefixes + 1;
    if (code[0] != 0x0f || code[1] != 0x1f)
        return 0;
    unsigned mode = code[2] >> 6, base = code[2] & 7;
    size_t displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    return prefixes + 3 + (base == 4 && mode != 3) + displacement;
}
#elif defined(__aarch64__)
/* ldr x16, #8; br x16; and the address behind them. */
#define JUMP_BYTES 16
static void hopcast_write_jump(unsigned char *place, const void *to) {
    const uint32_t code[] = {0x58000050, 0xd61f0200};
    memcpy(place, code, sizeof code);
    memcpy(place + sizeof code, &to, sizeof to);
}

/* bti c: where indirect calls may arrive. */
static unsigned char *hopcast_behind_landing(unsigned char *place) {
    const uint32_t bti = 0xd503245f;
    return memcmp(place, &bti, sizeof bti) == 0 ? place + sizeof bti : place;
}

static size_t hopcast_nothing(const unsigned char *at) {
    const uint32_t nop = 0xd503201f;
    return memcmp(at, &nop, sizeof nop) == 0 ? sizeof nop : 0;
}
#else
#define JUMP_BYTES 1
static void hopcast_write_jump(unsigned char *place, const void *to) {
    (void)place;
    (void)to;
}
static unsigned char *hopcast_behind_landing(unsigned char *place) {
    return place;
}
static size_t hopcast_nothing(const unsigned char *at) {
    (void)at;
    return 0;
}
#endif

/* Sends calls of the executable's function to `replacement`; gives the function without its beginning.
 *
 * NULL where it has none of that name, or none that can be redirected: `why` says so then.
 */
static void *hopcast_redirect(const char *name, const void *replacement, char *why, size_t room) {
    struct found found = hopcast_search(name);
    why[0] = 0;
    if (found.functions == 0) {
        if (found.variant[0])
            snprintf(why, room, "was changed by the compiler to %s", found.variant);
        return NULL;
    }
    if (found.functions > 1) {
        snprintf(why, room, "is the name of %d functions of the program", found.functions);
        return NULL;
    }
    unsigned char *begin = hopcast_behind_landing(found.place), *end = begin;
    while (end < begin + JUMP_BYTES) {
        size_t length = hopcast_nothing(end);
        if (length == 0) {
            snprintf(why, room, NO_ROOM);
            return NULL;
        }
        end += length;
    }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)begin / page * page;
    size_t bytes = (uintptr_t)end - from;
    if (mprotect((void *)from, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        snprintf(why, room, "cannot be changed in memory: %s", strerror(errno));
        return NULL;
    }
    hopcast_write_jump(begin, replacement);
    mprotect((void *)from, bytes, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char *)begin, (char *)end);
    return end;
}

#endif
