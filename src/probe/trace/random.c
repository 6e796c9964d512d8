/* probe/trace/random.c: random numbers for countdowns. */
#include "probe/trace/random.h"

uint64_t random_word(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double random_part(uint64_t *state)
{
    return ((double) (random_word(state) >> 11) + .5) * 0x1p-53;
}

/* log() of glibc 2.29 is not that of 2.28, on which the probe is to load. x is normal and positive:
 * x = m 2^e with m near 1, and ln m = 2 atanh((m - 1) / (m + 1)) by its series; within 1e-13. */
static double logarithm(double x)
{
    uint64_t bits;
    double m, sum = 0;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    int exponent = (int) (bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1023) << 52;
    __builtin_memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m /= 2;
        exponent++;
    }
    double z = (m - 1) / (m + 1), square = z * z;
    for (int term = 17; term > 0; term -= 2)
        sum = sum * square + 1. / term;
    return exponent * 0.6931471805599453 + 2 * z * sum;
}

double random_exponential(uint64_t *state, double mean)
{
    return -mean * logarithm(random_part(state));
}
