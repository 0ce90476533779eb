/* The roofs of this machine once more, in C: a witness that shares no line with roofs.py.
 *
 *     multiply_add   sum = sum * a + b, on as many sums as hide the wait for each; no load, no store
 *     copy           C's memcpy, what the library's own roof is measured with
 *     scale          to = q * from, a plain loop: STREAM's Scale (John McCalpin's benchmark of memory)
 *     triad          to = b + q * c, likewise
 *
 * Plain C, without intrinsics. Every function does its work `times` over.
 */

#include <string.h>

/* A vector as wide as the processor's registers, in gcc's and clang's notation. The sums, a and b must all
 * fit into the registers: processors with AVX-512 or NEON have 32 of them, the others 16. */
#if defined(__AVX512F__)
enum { BYTES = 64, SUMS = 16 };
#elif defined(__AVX__)
enum { BYTES = 32, SUMS = 12 };
#elif defined(__aarch64__)
enum { BYTES = 16, SUMS = 16 };
#else
enum { BYTES = 16, SUMS = 12 };
#endif
enum { LANES = BYTES / sizeof(float) };
typedef float vector __attribute__((vector_size(BYTES)));

/* Tells the compiler that memory may have changed, at no cost. Else it would see that one pass does it. */
#define ANEW __asm__ volatile("" ::: "memory")

/* How many numbers `multiply_add` works on: each sum of each lane. */
long numbers(void) { return SUMS * LANES; }

/* The numbers come from memory, where they may all differ: of equal sums the compiler would keep one. */
void multiply_add(float *number, float a, float b, long times)
{
    vector sum[SUMS];
    memcpy(sum, number, sizeof sum);
    for (long t = 0; t < times; t++)
        for (int i = 0; i < SUMS; i++)
            sum[i] = sum[i] * a + b;
    memcpy(number, sum, sizeof sum);
}

void copy(float *restrict to, const float *restrict from, long count, long times)
{
    for (long t = 0; t < times; t++) {
        memcpy(to, from, count * sizeof *to);
        ANEW;
    }
}

void scale(float *restrict to, const float *restrict from, float q, long count, long times)
{
    for (long t = 0; t < times; t++) {
        for (long i = 0; i < count; i++)
            to[i] = q * from[i];
        ANEW;
    }
}

void triad(float *restrict to, const float *restrict b, const float *restrict c, float q, long count,
           long times)
{
    for (long t = 0; t < times; t++) {
        for (long i = 0; i < count; i++)
            to[i] = b[i] + q * c[i];
        ANEW;
    }
}
