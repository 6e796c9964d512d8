/* tests/fuzz/fuzz_gpu.c: any text as CUDA_VISIBLE_DEVICES. */
#include "gpu/gpu.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* The first three are a machine without MIG, all of them one with MIG. */
static const struct gpu_device devices[] = {
    {.index = 0, .uuid = "GPU-8932f937-d72c"},
    {.index = 1, .uuid = "GPU-8911aaaa-0000"},
    {.index = 2, .uuid = ""},
    {.index = 3, .uuid = "GPU-c0ffee00-1234"},
    {.index = 3, .uuid = "MIG-11112222-0000"},
    {.index = 3, .uuid = "MIG-GPU-c0ffee00-1234/1/0"},
};

/* The first byte says how many devices there are, the rest is the variable. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t count = data[0] % (sizeof devices / sizeof *devices + 1);
    char *visible = malloc(size);
    size_t *found = malloc((count + 1) * sizeof *found);
    REQUIRE(visible && found);
    memcpy(visible, data + 1, size - 1);
    visible[size - 1] = '\0';
    found[count] = SIZE_MAX;
    int n = gpu_visible_parse(visible, devices, count, found);
    REQUIRE(n == -EINVAL || (n >= 0 && (size_t) n <= count));
    REQUIRE(n != -EINVAL || count > 4);
    for (int i = 0; i < n; i++) {
        REQUIRE(found[i] < count);
        for (int k = 0; k < i; k++)
            REQUIRE(found[k] != found[i]);
    }
    REQUIRE(found[count] == SIZE_MAX);
    free(found);
    free(visible);
    return 0;
}
