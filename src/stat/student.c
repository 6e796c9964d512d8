/* stat/student.c: Student's t distribution, for a small number of repeats. */
#include "stat/student.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/*
 * The finite sums for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4), with
 * theta = atan(t / sqrt(freedom)).
 */
double student_chance(double t, unsigned freedom)
{
    assert(freedom >= 1);
    double theta = atan(fabs(t) / sqrt((double) freedom));
    double cosine = cos(theta), sine = sin(theta), sum = 0;
    bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1;
    for (unsigned k = odd ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= cosine * cosine * (double) (k - 1) / (double) k;
    }
    double within = odd ? 2 / M_PI * (theta + sine * sum) : sine * sum;
    return fmin(1, fmax(0, 1 - within));
}

double student_quantile(double chance, unsigned freedom)
{
    assert(chance > 0 && chance < 1);
    double low = 0, high = 1;
    while (student_chance(high, freedom) > chance && high < 1e12)
        high *= 2;
    for (unsigned i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (student_chance(middle, freedom) > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}
