/* symbol/elf_bytes.c: an ELF file as bytes. */
#include "symbol/elf_bytes.h"

#include "symbol/offsets.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Bounds on plausible values. */
#define MOST_SECTIONS 100000u
#define MOST_SEGMENTS 1000u
#define MOST_NAME 16384u

/* ---- pieces ---- */

static struct elf_piece piece(struct elf_piece of, uint64_t at, uint64_t size)
{
    if (at > of.size || size > of.size - at)
        return (struct elf_piece){0};
    return (struct elf_piece){of.bytes + at, size};
}

/* Copies: nothing in a file has to be aligned. */
static bool get(struct elf_piece from, uint64_t at, void *ret, size_t size)
{
    struct elf_piece p = piece(from, at, size);
    if (!p.bytes)
        return false;
    memcpy(ret, p.bytes, size);
    return true;
}

/* The text at an offset; NULL: not there, not ended, or too long. */
static const char *text_at(struct elf_piece from, uint64_t at)
{
    if (at >= from.size)
        return NULL;
    uint64_t room = from.size - at;
    const uint8_t *text = from.bytes + at;
    return memchr(text, '\0', room < MOST_NAME ? room : MOST_NAME) ? (const char *) text : NULL;
}

/* ---- sections ---- */

static bool get_section(const struct elf_bytes *e, uint64_t i, Elf64_Shdr *ret)
{
    return i < e->section_count && get(e->file, e->sections + i * sizeof *ret, ret, sizeof *ret);
}

static struct elf_piece content(const struct elf_bytes *e, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOBITS)
        return (struct elf_piece){0};
    return piece(e->file, s->sh_offset, s->sh_size);
}

static bool find_section(const struct elf_bytes *e, const char *name, Elf64_Shdr *ret)
{
    for (uint64_t i = 1; get_section(e, i, ret); i++) {
        const char *its = text_at(e->section_names, ret->sh_name);
        if (its && strcmp(its, name) == 0)
            return true;
    }
    return false;
}

/* Where a count does not fit into the file's header, it is in section 0. */
static void open_sections(struct elf_bytes *e, const Elf64_Ehdr *head)
{
    Elf64_Shdr first, names;
    if (head->e_shoff == 0 || head->e_shentsize != sizeof first)
        return;
    e->sections = head->e_shoff;
    e->section_count = 1;
    if (!get_section(e, 0, &first)) {
        e->section_count = 0;
        return;
    }
    e->section_count = head->e_shnum ? head->e_shnum : first.sh_size;
    if (e->section_count > MOST_SECTIONS)
        e->section_count = MOST_SECTIONS;
    uint64_t index = head->e_shstrndx == SHN_XINDEX ? first.sh_link : head->e_shstrndx;
    if (get_section(e, index, &names))
        e->section_names = content(e, &names);
}

static bool is_ours(const Elf64_Ehdr *head)
{
    const uint16_t one = 1;
    const uint8_t order = *(const uint8_t *) &one ? ELFDATA2LSB : ELFDATA2MSB;
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == order;
}

int elf_bytes_open(const void *bytes, size_t size, struct elf_bytes *ret)
{
    struct elf_bytes e = {.file = {bytes, size}};
    Elf64_Ehdr head;
    if (!get(e.file, 0, &head, sizeof head) || !is_ours(&head))
        return -ENOEXEC;
    /* Half of what an offset can be: sums of offsets cannot overflow then. */
    if (head.e_shoff > INT64_MAX || head.e_phoff > INT64_MAX)
        return -ENOEXEC;
    open_sections(&e, &head);
    if (head.e_phentsize == sizeof(Elf64_Phdr)) {
        e.segments = head.e_phoff;
        e.segment_count = head.e_phnum < MOST_SEGMENTS ? head.e_phnum : MOST_SEGMENTS;
    }
    *ret = e;
    return 0;
}

/* ---- notes ---- */

static struct elf_piece note_build_id(struct elf_piece notes)
{
    static const char owner[4] = "GNU";
    Elf64_Nhdr n;
    char name[sizeof owner];
    for (uint64_t at = 0; get(notes, at, &n, sizeof n);) {
        uint64_t text = at + sizeof n, body = text + (((uint64_t) n.n_namesz + 3) & ~UINT64_C(3));
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == sizeof owner &&
            get(notes, text, name, sizeof name) && memcmp(name, owner, sizeof owner) == 0)
            return piece(notes, body, n.n_descsz);
        at = body + (((uint64_t) n.n_descsz + 3) & ~UINT64_C(3));
    }
    return (struct elf_piece){0};
}

/* Sections first: in a file with debug information alone, segments lead nowhere. */
struct elf_piece elf_bytes_build_id(const struct elf_bytes *e)
{
    struct elf_piece id = {0};
    Elf64_Shdr s;
    Elf64_Phdr p;
    for (uint64_t i = 1; !id.bytes && get_section(e, i, &s); i++)
        if (s.sh_type == SHT_NOTE)
            id = note_build_id(content(e, &s));
    for (uint64_t i = 0; !id.bytes && i < e->segment_count; i++)
        if (get(e->file, e->segments + i * sizeof p, &p, sizeof p) && p.p_type == PT_NOTE)
            id = note_build_id(piece(e->file, p.p_offset, p.p_filesz));
    return id.size > 0 ? id : (struct elf_piece){0};
}

bool elf_bytes_has_build_id(const struct elf_bytes *e, const uint8_t *id, size_t length)
{
    struct elf_piece own = elf_bytes_build_id(e);
    return own.bytes && length > 0 && own.size >= length && memcmp(own.bytes, id, length) == 0;
}

/* ---- debug information ---- */

bool elf_bytes_has_debug_info(const struct elf_bytes *e)
{
    Elf64_Shdr s;
    return (find_section(e, ".debug_info", &s) || find_section(e, ".zdebug_info", &s)) &&
           content(e, &s).size > 0;
}

bool elf_bytes_debug_link(const struct elf_bytes *e, const char **ret_name, uint32_t *ret_crc)
{
    Elf64_Shdr s;
    uint32_t crc;
    if (!find_section(e, ".gnu_debuglink", &s))
        return false;
    struct elf_piece link = content(e, &s);
    const char *name = text_at(link, 0);
    if (!name || !*name || !get(link, (strlen(name) + 4) & ~UINT64_C(3), &crc, sizeof crc))
        return false;
    *ret_name = name;
    *ret_crc = crc;
    return true;
}

uint32_t elf_crc(const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    uint32_t table[256], crc = ~UINT32_C(0);
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (unsigned bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ p[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

/* ---- functions ---- */

static bool is_function(const Elf64_Sym *s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
           s->st_size > 0;
}

/* malloc, not __libc_malloc: fewer underscores in front, then shorter, then by the alphabet. */
static bool is_plainer(const char *name, const char *than)
{
    size_t own = strspn(name, "_"), its = strspn(than, "_");
    if (own != its)
        return own < its;
    own = strlen(name), its = strlen(than);
    return own != its ? own < its : strcmp(name, than) < 0;
}

static bool fits_better(const struct elf_function *old, const Elf64_Sym *s, const char *name)
{
    if (!old->name || s->st_value != old->start)
        return !old->name || s->st_value > old->start;
    return is_plainer(name, old->name);
}

static void find_in(struct elf_piece symbols, struct elf_piece names, const uint64_t *addresses,
                    size_t count, struct elf_function *list)
{
    Elf64_Sym s;
    for (uint64_t at = 0; get(symbols, at, &s, sizeof s); at += sizeof s) {
        size_t i = is_function(&s) ? offsets_first_from(addresses, count, s.st_value) : count;
        if (i == count || addresses[i] - s.st_value >= s.st_size)
            continue;
        const char *name = text_at(names, s.st_name);
        if (!name || !*name)
            continue;
        for (; i < count && addresses[i] - s.st_value < s.st_size; i++)
            if (fits_better(&list[i], &s, name))
                list[i] = (struct elf_function){name, s.st_value};
    }
}

void elf_bytes_find(const struct elf_bytes *e, const uint64_t *addresses, size_t count,
                    struct elf_function *list)
{
    Elf64_Shdr s, names;
    for (uint64_t i = 1; get_section(e, i, &s); i++)
        if ((s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM) &&
            s.sh_entsize == sizeof(Elf64_Sym) && get_section(e, s.sh_link, &names))
            find_in(content(e, &s), content(e, &names), addresses, count, list);
}
