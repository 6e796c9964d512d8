/* plot/look.c: the colours and sizes of a picture. */
#include "plot/look.h"

#include <math.h>

#define LEAST_TEXT 9.0 /* pixels */

static const struct look light = {
    .background = 0xffffff,
    .ink = 0x1b1f24,
    .quiet = 0x4a525b,
    .grid = 0xe3e6ea,
    .axis = 0x8a939d,
    .floor = 0x0b5cad,
    .range = 0x79b4e6,
    .alarm = 0xb42318,
    .spike = 0x7a2f8f,
    .limit = 0xb42318,
    .phase = {[PHASE_START] = 0x8a939d,
              [PHASE_WARM_UP] = 0xe5a000,
              [PHASE_STABLE] = 0x009e73,
              [PHASE_GROWING] = 0xd55e00,
              [PHASE_SHRINKING] = 0x56b4e9,
              [PHASE_LEVEL_SHIFT] = 0xcc79a7},
    .phase_tint = 0.10,
    .verdict = {[VERDICT_INCONCLUSIVE] = 0x7a5200,
                [VERDICT_NO_LEAK] = 0x0d6b4f,
                [VERDICT_LEAK] = 0xb42318},
    .on_verdict = 0xffffff,
};

static const struct look dark = {
    .background = 0x14171b,
    .ink = 0xeceff2,
    .quiet = 0xaab2bb,
    .grid = 0x2b3138,
    .axis = 0x6d757e,
    .floor = 0x6fb5f7,
    .range = 0x3b79b5,
    .alarm = 0xff8a75,
    .spike = 0xd7a0e8,
    .limit = 0xff8a75,
    .phase = {[PHASE_START] = 0x8a939d,
              [PHASE_WARM_UP] = 0xf2b13c,
              [PHASE_STABLE] = 0x2fc496,
              [PHASE_GROWING] = 0xf58a3c,
              [PHASE_SHRINKING] = 0x7cc7f2,
              [PHASE_LEVEL_SHIFT] = 0xdf9cc1},
    .phase_tint = 0.14,
    .verdict = {[VERDICT_INCONCLUSIVE] = 0xf2b13c,
                [VERDICT_NO_LEAK] = 0x5fd3ac,
                [VERDICT_LEAK] = 0xff8a75},
    .on_verdict = 0x14171b,
};

void look_init(struct look *l, bool is_dark, double unit)
{
    *l = is_dark ? dark : light;
    l->unit = unit;
}

struct paint look_paint(uint32_t rgb, double opacity)
{
    return (struct paint){rgb, opacity};
}

struct text_style look_text(const struct look *l, double size, uint32_t rgb)
{
    return (struct text_style){.size = fmax(size * l->unit, LEAST_TEXT),
                               .paint = look_paint(rgb, 1)};
}
