/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_id.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

static void test_whose_it_is(void **unused)
{
    static const struct {
        uint32_t of_mycnf, instead_of, drawn, expected;
    } cases[] = {
        {1001, 1001, 5001, 5001}, {1001, 1002, 5002, 0},         /* of another member */
        {1001, 17, 5002, 0},                                     /* of another cluster */
        {1001, 1001, 1001, 0},                                   /* no other than before */
        {1001, 1001, 0, 0}, {1001, 0, 5001, 0}, {0, 0, 5001, 0}, /* my.cnf names none */
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(server_id_decide(cases[i].of_mycnf, cases[i].instead_of, cases[i].drawn), cases[i].expected);
}

struct volume {
    char dir[32];
    char *mycnf;
    struct agent_paths paths;
};

static void volume_make(struct volume *volume)
{
    snprintf(volume->dir, sizeof(volume->dir), "/tmp/server-id-XXXXXX");
    assert_non_null(mkdtemp(volume->dir));
    volume->mycnf = xasprintf("%s/my.cnf", volume->dir);
    volume->paths = (struct agent_paths){
        .data_dir = xasprintf("%s/data", volume->dir),
        .data_new_dir = xasprintf("%s/data.new", volume->dir),
        .run_mycnf = volume->mycnf,
    };
    assert_int_equal(fs_mkdir_all(volume->paths.data_new_dir, 0700, NULL), 0);
}

static void volume_free(struct volume *volume)
{
    assert_int_equal(fs_remove_all(volume->dir, NULL), 0);
    free(volume->mycnf);
    free(volume->paths.data_dir);
    free(volume->paths.data_new_dir);
}

static void say(const char *path, const char *text)
{
    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static unsigned long option(const struct volume *volume)
{
    static const char name[] = "--server-id=";
    _cleanup_(freep) char *text = server_id_option(&volume->paths);
    if (!text)
        return 0;
    assert_int_equal(strncmp(text, name, strlen(name)), 0);
    return strtoul(text + strlen(name), NULL, 10);
}

static void test_it_comes_with_the_copy(void **unused)
{
    struct volume volume = {.mycnf = NULL};
    struct error err = ERROR_INIT;

    UNUSED(unused);
    volume_make(&volume);
    say(volume.mycnf, "[mysqld]\nport = 3306\n");
    assert_int_equal(server_id_draw(&volume.paths, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    say(volume.mycnf, "[mysqld]\nserver_id = 1602\n");
    error_clear(&err);
    assert_int_equal(server_id_draw(&volume.paths, &err), 0);
    assert_int_equal(option(&volume), 0); /* it is not the data yet */
    assert_int_equal(rename(volume.paths.data_new_dir, volume.paths.data_dir), 0);
    unsigned long drawn = option(&volume);
    assert_int_not_equal(drawn, 0);
    assert_int_not_equal(drawn, 1602);
    assert_int_equal(drawn & 15, 2);
    assert_int_equal(option(&volume), drawn);
    /* what was cut off leaves data with an id of its own */
    assert_int_equal(server_id_draw_anew(&volume.paths, &err), 0);
    assert_int_not_equal(option(&volume), 0);
    assert_int_not_equal(option(&volume), drawn);
    assert_int_equal(option(&volume) & 15, 2);
    say(volume.mycnf, "[mysqld]\nserver_id = 3202\n");
    assert_int_equal(option(&volume), 0);

    _cleanup_(freep) char *file = xasprintf("%s/kube-mysql-server-id.json", volume.paths.data_dir);
    say(file, "{");
    assert_int_equal(option(&volume), 0);
    volume_free(&volume);
}

static void test_another_one_each_time(void **unused)
{
    struct volume volume = {.mycnf = NULL};
    unsigned long last = 0;

    UNUSED(unused);
    volume_make(&volume);
    free(volume.paths.data_dir);
    volume.paths.data_dir = xstrdup(volume.paths.data_new_dir);
    say(volume.mycnf, "[mysqld]\nserver_id = 16\n");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(server_id_draw(&volume.paths, NULL), 0);
        assert_int_not_equal(option(&volume), last);
        last = option(&volume);
        assert_int_equal(last & 15, 0);
    }
    volume_free(&volume);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whose_it_is),
        cmocka_unit_test(test_it_comes_with_the_copy),
        cmocka_unit_test(test_another_one_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
