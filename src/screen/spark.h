/* screen/spark.h: a series as a few characters. Pure. Private to screen/. */
#ifndef TIDEMARK_SCREEN_SPARK_H
#define TIDEMARK_SCREEN_SPARK_H

#include "base/base.h"
#include "stat/stat.h"

#include <stdbool.h>

#define SPARK_MOST 48u

/* The floor of the history in each of `columns` equal spans of time; NAN: no sample yet. */
void spark_values(const struct history *h, unsigned columns, double *ret);

/* One character a value, as high as the value is between the least and the largest of them; a blank
 * for NAN. Unless it `grows`, the scale is at least 5 % of the largest, so that noise stays low. */
void spark_add(struct buf *out, const double *values, unsigned columns, bool grows, bool ascii);

#endif
