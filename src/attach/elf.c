/* attach/elf.c: the symbols of a loaded ELF file. */
#include "attach/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Bounds on plausible values. */
#define MOST_HEADERS 128
#define MOST_DYNAMIC 512
#define MOST_CHAIN 100000
#define MOST_NAME 128

static int get(const struct elf_image *e, uint64_t address, void *ret, size_t len)
{
    return e->memory->read(e->memory->context, address, ret, len);
}

/* glibc stores addresses of the process here, other C libraries those of the file. */
static uint64_t located(const struct elf_image *e, uint64_t value)
{
    return value < e->base ? value + e->bias : value;
}

static int read_dynamic(struct elf_image *e, uint64_t address)
{
    for (unsigned i = 0; i < MOST_DYNAMIC; i++) {
        Elf64_Dyn d;
        int r = get(e, address + i * sizeof d, &d, sizeof d);
        if (r < 0)
            return r;
        if (d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SYMTAB)
            e->symbols = located(e, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRTAB)
            e->strings = located(e, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRSZ)
            e->strings_len = d.d_un.d_val;
        else if (d.d_tag == DT_GNU_HASH)
            e->gnu_hash = located(e, d.d_un.d_ptr);
        else if (d.d_tag == DT_HASH)
            e->hash = located(e, d.d_un.d_ptr);
    }
    return e->symbols && e->strings && (e->gnu_hash || e->hash) ? 0 : -ENOEXEC;
}

static int read_segments(struct elf_image *e, const Elf64_Ehdr *head)
{
    uint64_t dynamic = 0;
    int first = 1;
    for (unsigned i = 0; i < head->e_phnum && i < MOST_HEADERS; i++) {
        Elf64_Phdr p;
        int r = get(e, e->base + head->e_phoff + i * sizeof p, &p, sizeof p);
        if (r < 0)
            return r;
        if (p.p_type == PT_LOAD && first) {
            e->bias = e->base - (p.p_vaddr & ~(uint64_t) 4095);
            first = 0;
        }
        if (p.p_type == PT_LOAD && (p.p_flags & PF_X))
            e->code_end = e->bias + p.p_vaddr + p.p_memsz;
        if (p.p_type == PT_DYNAMIC)
            dynamic = p.p_vaddr;
    }
    return first || !dynamic ? -ENOEXEC : read_dynamic(e, dynamic + e->bias);
}

int elf_open(const struct elf_memory *memory, uint64_t base, struct elf_image *ret)
{
    struct elf_image e = {.memory = memory, .base = base};
    Elf64_Ehdr head;
    int r = get(&e, base, &head, sizeof head);
    if (r < 0)
        return r;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return -ENOEXEC;
    ret->is_64_bit = e.is_64_bit = head.e_ident[EI_CLASS] == ELFCLASS64;
    if (!e.is_64_bit || head.e_phentsize != sizeof(Elf64_Phdr))
        return -ENOEXEC;
    r = read_segments(&e, &head);
    if (r < 0)
        return r;
    *ret = e;
    return 0;
}

/* ---- symbols ---- */

static int is_named(const struct elf_image *e, const Elf64_Sym *s, const char *name)
{
    char got[MOST_NAME];
    size_t len = strlen(name) + 1;
    if (len > sizeof got || s->st_name >= e->strings_len || e->strings_len - s->st_name < len)
        return 0;
    return get(e, e->strings + s->st_name, got, len) == 0 && memcmp(got, name, len) == 0;
}

/* 1: symbol `index` is the one; 0: it is not. */
static int try_symbol(const struct elf_image *e, uint32_t index, const char *name, uint64_t *ret)
{
    Elf64_Sym s;
    int r = get(e, e->symbols + (uint64_t) index * sizeof s, &s, sizeof s);
    if (r < 0)
        return r;
    if (s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) == STT_TLS || !is_named(e, &s, name))
        return 0;
    *ret = s.st_value + e->bias;
    return 1;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char) *name;
    return h;
}

static int find_by_gnu_hash(const struct elf_image *e, const char *name, uint64_t *ret)
{
    uint32_t head[4]; /* buckets, first symbol, words of the filter, shift */
    int r = get(e, e->gnu_hash, head, sizeof head);
    if (r < 0)
        return r;
    if (head[0] == 0)
        return -ENOENT;
    uint32_t wanted = gnu_hash_of(name), index, hash;
    uint64_t buckets = e->gnu_hash + sizeof head + (uint64_t) head[2] * 8;
    uint64_t chain = buckets + (uint64_t) head[0] * 4;
    r = get(e, buckets + (uint64_t) (wanted % head[0]) * 4, &index, sizeof index);
    if (r < 0)
        return r;
    if (index < head[1])
        return -ENOENT;
    for (unsigned i = 0; i < MOST_CHAIN; i++, index++) {
        r = get(e, chain + (uint64_t) (index - head[1]) * 4, &hash, sizeof hash);
        if (r < 0)
            return r;
        if ((hash | 1) == (wanted | 1) && (r = try_symbol(e, index, name, ret)) != 0)
            return r < 0 ? r : 0;
        if (hash & 1)
            break;
    }
    return -ENOENT;
}

static int find_one_by_one(const struct elf_image *e, const char *name, uint64_t *ret)
{
    uint32_t head[2]; /* buckets, symbols */
    int r = get(e, e->hash, head, sizeof head);
    if (r < 0)
        return r;
    for (uint32_t i = 1; i < head[1] && i < MOST_CHAIN; i++) {
        r = try_symbol(e, i, name, ret);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return -ENOENT;
}

int elf_find(const struct elf_image *e, const char *name, uint64_t *ret_address)
{
    return e->gnu_hash ? find_by_gnu_hash(e, name, ret_address)
                       : find_one_by_one(e, name, ret_address);
}
