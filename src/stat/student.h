/* stat/student.h: Student's t distribution, for a small number of repeats. Pure. */
#ifndef TIDEMARK_STAT_STUDENT_H
#define TIDEMARK_STAT_STUDENT_H

/* The two-sided probability that chance alone gives a |t| this large: 1 for 0, 0 for INFINITY. */
double student_chance(double t, unsigned freedom); /* freedom >= 1 */

/* The |t| that chance alone exceeds with probability `chance`, above 0 and below 1. */
double student_quantile(double chance, unsigned freedom);

#endif
