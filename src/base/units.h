/* base/units.h: sizes, counts and durations as text for people. Pure. */
#ifndef TIDEMARK_BASE_UNITS_H
#define TIDEMARK_BASE_UNITS_H

#include "base/buf.h"

/*
 * In tidemark MB, MiB and M all mean 2^20 bytes, GB 2^30, KB 2^10: that is what the tools whose
 * logs are read print (nvidia-smi, psutil scripts, TrainWatch, /proc), and what is written.
 */

/* "512 B", "16.0 KB", "2.30 MB", "148 MB", "9.34 GB": three significant digits. Less than a
 * millionth of a byte is what rounding leaves of nothing: "0 B". */
void units_add_bytes(struct buf *b, double bytes);

/* "6,529", "1,234.5": thousands separators, at most `decimals` decimals, no trailing zeros. */
void units_add_count(struct buf *b, double count, int decimals);

/* "0.61 ms", "45 s", "12 min", "3.2 h", "4.1 days". */
void units_add_duration(struct buf *b, double seconds);

#endif
