/* tests/unit/test_shm.c: the files in /dev/shm: which exist, and whose they are. */
#include "sample/shm.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define MB 1048576.0

static struct shm_file *put(struct shm_files *f, uint64_t inode, enum shm_owner owner, double bytes)
{
    struct shm_file *x = shm_files_meet(f, inode);
    x->owner = owner;
    x->bytes = x->size = bytes;
    if (!x->name)
        x->name = strdup("psm_1a2b");
    return x;
}

TEST(files__are_kept_by_their_inode_for_as_long_as_they_are_met)
{
    struct shm_files f = {0};
    shm_files_begin(&f);
    for (uint64_t inode = 50; inode > 0; inode--)
        put(&f, inode, SHM_JOB, MB);
    shm_files_end(&f);
    CHECK(f.count == 50 && f.list[0].inode == 1 && f.list[49].inode == 50);
    shm_files_begin(&f);
    shm_files_meet(&f, 7);
    shm_files_meet(&f, 99);
    shm_files_end(&f);
    CHECK(f.count == 2 && shm_files_find(&f, 7)->owner == SHM_JOB);
    CHECK(shm_files_find(&f, 99)->owner == SHM_UNKNOWN && !shm_files_find(&f, 8));
    shm_files_release(&f);
}

TEST(files__of_others_count_for_nothing)
{
    struct shm_files f = {0};
    double room;
    put(&f, 1, SHM_JOB, 3 * MB)->size = 5 * MB;
    put(&f, 2, SHM_OTHERS, 100 * MB);
    put(&f, 3, SHM_UNKNOWN, 10 * MB);
    put(&f, 4, SHM_JOB, 4 * MB)->before = 3 * MB; /* grew by 1 MB since the start of the watch */
    CHECK(shm_files_bytes(&f, SHM_JOB, &room) == 4 * MB && room == 2 * MB);
    CHECK(shm_files_bytes(&f, SHM_OTHERS, NULL) == 100 * MB);
    shm_files_release(&f);
}

TEST(files__are_left_behind_by_whom_nobody_holds_them_for)
{
    struct shm_files f = {0};
    const struct shm_file *first = NULL;
    double bytes;
    put(&f, 1, SHM_JOB, MB)->is_held = true;
    put(&f, 2, SHM_OTHERS, MB);
    put(&f, 3, SHM_JOB, MB)->before = MB; /* it existed before */
    CHECK(shm_files_left(&f, &bytes, &first) == 0 && bytes == 0);
    put(&f, 4, SHM_JOB, MB);
    put(&f, 5, SHM_JOB, 2 * MB);
    CHECK(shm_files_left(&f, &bytes, &first) == 2 && bytes == 3 * MB && first->inode == 4);
    shm_files_release(&f);
}

TEST(a_guess__needs_that_one_can_have_written_it_and_no_other)
{
    struct shm_files f = {0};
    CHECK(shm_judge(&f, true, false) == SHM_JOB);
    CHECK(shm_judge(&f, false, true) == SHM_OTHERS && shm_judge(&f, false, false) == SHM_OTHERS);
    CHECK(shm_judge(&f, true, true) == SHM_UNKNOWN);
    put(&f, 1, SHM_JOB, MB)->is_held = true; /* still held, so the job leaves nothing behind */
    f.list[0].was_held = true;
    CHECK(shm_judge(&f, true, true) == SHM_UNKNOWN);
    f.list[0].is_held = false;
    CHECK(shm_judge(&f, true, true) == SHM_JOB);
    put(&f, 2, SHM_OTHERS, MB)->was_held = true;
    CHECK(shm_judge(&f, true, true) == SHM_UNKNOWN);
    f.list[0].was_held = false;
    CHECK(shm_judge(&f, true, true) == SHM_OTHERS);
    shm_files_release(&f);
}

TEST(writers__are_counted_from_the_first_survey_on)
{
    struct shm_writers none = {0}, first = {0}, second = {0}, third = {0};
    const struct proc_id old = {10, 5}, young = {11, 9}, other = {10, 7};
    shm_writers_add(&first, &none, old, 100 * MB);
    CHECK(!shm_writers_could(&first, 1));
    shm_writers_add(&second, &first, old, 103 * MB);
    shm_writers_add(&second, &first, young, 2 * MB);
    CHECK(shm_writers_could(&second, 3 * MB) && !shm_writers_could(&second, 4 * MB));
    shm_writers_add(&third, &second, other, 2 * MB); /* the pid was reused */
    shm_writers_add(&third, &second, young, 9 * MB);
    CHECK(shm_writers_could(&third, 9 * MB) && !shm_writers_could(&third, 10 * MB));
    shm_writers_release(&first);
    shm_writers_release(&second);
    shm_writers_release(&third);
}

TEST(names__tell_numbers_that_stand_alone)
{
    size_t at = 0;
    CHECK(shm_name_number("torch_4711_12", &at) == 4711 &&
          shm_name_number("torch_4711_12", &at) == 12);
    CHECK(shm_name_number("torch_4711_12", &at) == 0);
    const char *const none[] = {"psm_1a2b", "x12", "12x", "batch_0012", "", "99999999999"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        at = 0;
        CHECK(shm_name_number(none[i], &at) == 0 && at == strlen(none[i]));
    }
}
