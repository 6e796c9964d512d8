/* plot/labels.c: where texts may stand, so that no two of them overlap. */
#include "plot/labels.h"

#include <stdlib.h>

void labels_init(struct labels *l, struct box bounds)
{
    *l = (struct labels){.bounds = bounds};
}

void labels_release(struct labels *l)
{
    free(l->taken);
    *l = (struct labels){.taken = NULL};
}

bool boxes_overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

bool labels_fit(const struct labels *l, struct box box, double gap)
{
    const struct box *b = &l->bounds;
    if (box.left < b->left || box.top < b->top || box.right > b->right || box.bottom > b->bottom)
        return false;
    struct box wide = {box.left - gap, box.top, box.right + gap, box.bottom};
    for (size_t i = 0; i < l->count; i++)
        if (boxes_overlap(&wide, &l->taken[i]))
            return false;
    return true;
}

void labels_take(struct labels *l, struct box box)
{
    if ((l->count & (l->count - 1)) == 0) {
        l->taken = reallocarray(l->taken, l->count ? 2 * l->count : 1, sizeof(*l->taken));
        if (!l->taken)
            base_out_of_memory();
    }
    l->taken[l->count++] = box;
}

bool labels_put(struct labels *l, struct canvas *c, struct point at, const char *text,
                const struct text_style *style)
{
    struct box box = canvas_text_box(c, at, text, style);
    if (!labels_fit(l, box, style->size / 2))
        return false;
    labels_take(l, box);
    canvas_text(c, at, text, style);
    return true;
}
