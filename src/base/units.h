/* base/units.h: sizes, counts and durations as text for people. Pure. */
#ifndef TIDEMARK_BASE_UNITS_H
#define TIDEMARK_BASE_UNITS_H

#include "base/buf.h"

/*
 * In input and output, MB, MiB and M all mean 2^20 bytes, GB 2^30, KB 2^10, as in the tools whose
 * logs tidemark reads (nvidia-smi, psutil scripts, TrainWatch, /proc).
 */

/* "512 B", "16.0 KB", "2.30 MB", "148 MB", "9.34 GB": three significant digits. Less than a
 * millionth of a byte is a rounding error: "0 B". */
void units_add_bytes(struct buf *b, double bytes);

/* "6,529", "1,234.5": thousands separators, at most `decimals` decimals, no trailing zeros. */
void units_add_count(struct buf *b, double count, int decimals);

/* "0.61 ms", "45 s", "12 min", "3.2 h", "4.1 days". */
void units_add_duration(struct buf *b, double seconds);

/* The duration of a step: "480 us", "12.3 ms", "1.20 s": three significant digits. */
void units_add_short_time(struct buf *b, double seconds);

/* A share as "0.42 %", "1.3 %", "-42 %", "310 %". */
void units_add_percent(struct buf *b, double share);

#endif
