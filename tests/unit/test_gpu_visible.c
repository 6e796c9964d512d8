/* tests/unit/test_gpu_visible.c: CUDA_VISIBLE_DEVICES. */
#include "gpu/gpu.h"
#include "unit.h"

#include <errno.h>

#define UUID_0 "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
#define UUID_1 "GPU-8911aaaa-0000-4106-c12f-20bd9faed9f6"
#define UUID_2 "GPU-c0ffee00-1234-4106-c12f-20bd9faed9f6"

static const struct gpu_device plain[] = {
    {.index = 0, .uuid = UUID_0},
    {.index = 1, .uuid = UUID_1},
    {.index = 2, .uuid = UUID_2},
};

static const struct gpu_device mig[] = {
    {.index = 0, .uuid = UUID_0},
    {.index = 0, .uuid = "MIG-11112222-0000-5555-8888-000000000001"},
    {.index = 0, .uuid = "MIG-33334444-0000-5555-8888-000000000002"},
};

static const struct gpu_device old_mig[] = {
    {.index = 0, .uuid = UUID_0},
    {.index = 0, .uuid = "MIG-" UUID_0 "/1/0"},
    {.index = 0, .uuid = "MIG-" UUID_0 "/11/0"},
};

/* The visible devices as digits: "02"; "?" if they cannot be determined. */
static const char *seen(const struct gpu_device devices[3], const char *visible)
{
    static char text[8];
    size_t found[3] = {9, 9, 9};
    int n = gpu_visible_parse(visible, devices, 3, found);
    if (n == -EINVAL)
        return "?";
    if (n < 0 || n > 3)
        return "wrong";
    for (int i = 0; i < n; i++)
        text[i] = (char) ('0' + found[i]);
    text[n] = '\0';
    return text;
}

TEST(gpu_visible__reads_indices_in_their_order)
{
    CHECK_TEXT(seen(plain, "0"), "0");
    CHECK_TEXT(seen(plain, "0,2"), "02");
    CHECK_TEXT(seen(plain, "2,1,0"), "210");
    CHECK_TEXT(seen(plain, " 2 ,\t1 "), "21");
    CHECK_TEXT(seen(plain, "+1"), "1");
}

TEST(gpu_visible__reads_a_variable_that_is_not_set_as_all)
{
    CHECK_TEXT(seen(plain, NULL), "012");
}

TEST(gpu_visible__reads_nothing_as_none)
{
    CHECK_TEXT(seen(plain, ""), "");
    CHECK_TEXT(seen(plain, "  "), "");
    CHECK_TEXT(seen(plain, "-1"), "");
    CHECK_TEXT(seen(plain, ","), "");
    CHECK_TEXT(seen(plain, "NoDevFiles"), "");
}

TEST(gpu_visible__ends_at_what_fits_no_device)
{
    CHECK_TEXT(seen(plain, "1,junk,0"), "1");
    CHECK_TEXT(seen(plain, "0,2,-1,1"), "02");
    CHECK_TEXT(seen(plain, "0,3,1"), "0");
    CHECK_TEXT(seen(plain, "0,,1"), "0");
    CHECK_TEXT(seen(plain, "0,1,"), "01");
    CHECK_TEXT(seen(plain, "4294967296"), "");
    CHECK_TEXT(seen(plain, "18446744073709551617"), "");
    CHECK_TEXT(seen(plain, UUID_1 ",GPU-dead," UUID_0), "1");
}

TEST(gpu_visible__reads_an_index_up_to_its_last_digit)
{
    CHECK_TEXT(seen(plain, "1gpu,2ampere"), "12");
}

TEST(gpu_visible__has_no_device_where_one_is_named_twice)
{
    CHECK_TEXT(seen(plain, "0,0"), "");
    CHECK_TEXT(seen(plain, "0,1,0"), "");
    CHECK_TEXT(seen(plain, "0,00"), "");
    CHECK_TEXT(seen(plain, UUID_2 ",GPU-c0"), "");
    CHECK_TEXT(seen(plain, "0,junk,0"), "0");
}

TEST(gpu_visible__reads_uuids_and_their_beginnings)
{
    CHECK_TEXT(seen(plain, UUID_2 "," UUID_0), "20");
    CHECK_TEXT(seen(plain, "GPU-893"), "0");
    CHECK_TEXT(seen(plain, " GPU-8911 , GPU-c "), "12");
    CHECK_TEXT(seen(plain, UUID_0 "0"), "");
}

TEST(gpu_visible__takes_no_beginning_of_two_uuids)
{
    CHECK_TEXT(seen(plain, "GPU-89"), "");
    CHECK_TEXT(seen(plain, "GPU-c0,GPU-89"), "2");
}

TEST(gpu_visible__ends_where_the_way_of_naming_changes)
{
    CHECK_TEXT(seen(plain, "1," UUID_0), "1");
    CHECK_TEXT(seen(plain, UUID_0 ",1"), "0");
}

TEST(gpu_visible__knows_instances_by_uuid)
{
    CHECK_TEXT(seen(mig, "MIG-33334444-0000-5555-8888-000000000002"), "2");
    CHECK_TEXT(seen(mig, "MIG-11"), "1");
    CHECK_TEXT(seen(mig, "MIG-5"), "");
    CHECK_TEXT(seen(old_mig, "MIG-" UUID_0 "/1/0"), "1");
    CHECK_TEXT(seen(old_mig, "MIG-" UUID_0 "/11/0"), "2");
    CHECK_TEXT(seen(old_mig, "MIG-" UUID_0 "/1"), "");
}

TEST(gpu_visible__cannot_tell_what_cuda_numbers_under_mig)
{
    CHECK_TEXT(seen(mig, "0"), "?");
    CHECK_TEXT(seen(mig, NULL), "?");
    CHECK_TEXT(seen(mig, ""), "");
    CHECK_TEXT(seen(mig, "-1"), "");
}

TEST(gpu_visible__cannot_tell_an_instance_by_a_name_the_driver_does_not_use)
{
    CHECK_TEXT(seen(mig, "MIG-" UUID_0 "/1/0"), "?");
    CHECK_TEXT(seen(plain, "MIG-" UUID_0 "/1/0"), "");
}

TEST(gpu_visible__goes_without_devices)
{
    size_t found;
    CHECK(gpu_visible_parse("0", NULL, 0, &found) == 0);
    CHECK(gpu_visible_parse(NULL, NULL, 0, &found) == 0);
    CHECK(gpu_visible_parse("GPU-1", NULL, 0, &found) == 0);
}
