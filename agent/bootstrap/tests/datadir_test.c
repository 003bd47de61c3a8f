/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/datadir.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

struct fixture {
    char root[64];
    struct agent_paths paths;
};

static int setup(void **state)
{
    struct fixture *fixture = xnew(struct fixture);

    snprintf(fixture->root, sizeof(fixture->root), "/tmp/km-datadir-XXXXXX");
    assert_non_null(mkdtemp(fixture->root));
    agent_paths_init(&fixture->paths, fixture->root, NULL, NULL, NULL, NULL, NULL);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(fs_remove_all(fixture->root, NULL), 0);
    agent_paths_release(&fixture->paths);
    free(fixture);
    return 0;
}

static void put(const struct fixture *fixture, const char *name, const char *content)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", fixture->root, name);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    assert_int_equal(fs_mkdir_all(path, 0700, NULL), 0);
    *slash = '/';
    assert_int_equal(fs_write_file_atomic(path, content, strlen(content), 0600, NULL), 0);
}

static struct datadir_facts inspect(const struct fixture *fixture)
{
    struct datadir_facts facts;

    assert_int_equal(datadir_inspect(&fixture->paths, &facts, NULL), 0);
    return facts;
}

static void expect_verdict(const struct datadir_facts *facts, const char *server, const char *refusal)
{
    struct server_version version;
    struct error err = ERROR_INIT;

    assert_int_equal(server_version_parse(server, NULL, &version, NULL), 0);
    int rc = datadir_check(facts, &version, &err);
    if (!refusal) {
        assert_string_equal(err.message, "");
        assert_int_equal(rc, 0);
        return;
    }
    assert_int_equal(rc, -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    if (!strstr(err.message, refusal))
        fail_msg("\"%s\" does not say \"%s\"", err.message, refusal);
}

static void test_nothing_and_lost_found_are_empty(void **state)
{
    const struct fixture *fixture = *state;

    assert_int_equal(inspect(fixture).kind, DATADIR_EMPTY);
    put(fixture, "lost+found/x", "");
    assert_int_equal(inspect(fixture).kind, DATADIR_EMPTY);
    put(fixture, "data/lost+found/x", "");
    assert_int_equal(inspect(fixture).kind, DATADIR_EMPTY);
    put(fixture, "data.new/ibdata1", "half");
    assert_int_equal(inspect(fixture).kind, DATADIR_EMPTY);
}

static void test_mariadb_and_the_direction_of_versions(void **state)
{
    const struct fixture *fixture = *state;

    put(fixture, "data/ibdata1", "");
    put(fixture, "data/aria_log_control", "");
    put(fixture, "data/mysql/global_priv.frm", "");
    put(fixture, "data/mysql_upgrade_info", "10.11.19-MariaDB");
    struct datadir_facts facts = inspect(fixture);
    assert_int_equal(facts.kind, DATADIR_DATABASE);
    assert_int_equal(facts.written_by.number, 101119);
    expect_verdict(&facts, "10.11.19-MariaDB", NULL);
    expect_verdict(&facts, "10.11.2-MariaDB", NULL); /* within a series either way */
    expect_verdict(&facts, "11.4.1-MariaDB", NULL);
    expect_verdict(&facts, "10.6.18-MariaDB", "written by version 10.11.19-MariaDB");
    expect_verdict(&facts, "8.0.36", "written by MariaDB");
}

/* https://dev.mysql.com/doc/refman/8.0/en/downgrading.html and the like: see datadir.c */
static void test_within_a_series_as_the_servers_promise(void **state)
{
    static const struct {
        const char *writer, *server;
        bool fits;
    } rows[] = {
        {"8.0.36", "8.0.35", true},
        {"8.0.41", "8.0.35", true},
        {"8.0.36", "8.0.34", false},
        {"8.0.34", "8.0.33", false},
        {"8.0.41-32", "8.0.34-26", false}, /* Percona Server */
        {"8.0.30", "8.0.30", true},
        {"8.0.30", "8.0.34", true},
        {"8.4.6", "8.4.0", true},
        {"9.1.0", "9.0.1", false},
        {"8.4.6", "8.0.41", false},
        {"5.7.44", "5.7.20", true},
        {"5.7.44", "5.6.51", false},
        {"10.11.19-MariaDB", "10.11.2-MariaDB", true},
        {"10.11.2-MariaDB", "10.6.25-MariaDB", false},
        {"11.8.3-MariaDB", "11.4.9-MariaDB", false},
    };
    struct datadir_facts facts;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(datadir_facts_of(rows[i].writer, &facts, NULL), 0);
        expect_verdict(&facts, rows[i].server, rows[i].fits ? NULL : "servers cannot go back");
    }
}

static void test_mysql_history(void **state)
{
    const struct fixture *fixture = *state;

    put(fixture, "data/ibdata1", "");
    put(fixture, "data/mysql.ibd", "");
    put(fixture, "data/mysql_upgrade_history",
        "{\"file_format\":\"1\",\"upgrade_history\":[{\"version\":\"8.4.0\",\"initialize\":true},{\"version\":\"9.7.4-2\"}]}");
    struct datadir_facts facts = inspect(fixture);
    assert_int_equal(facts.kind, DATADIR_DATABASE);
    assert_int_equal(facts.written_by.number, 90704);
    expect_verdict(&facts, "9.7.4-2", NULL);
    expect_verdict(&facts, "8.4.0", "servers cannot go back");
    expect_verdict(&facts, "11.4.1-MariaDB", "written by MySQL 8");
}

/* The check pod's instance.json has the version of the primary's server. */
static void test_the_data_of_a_running_server(void **state)
{
    static const struct {
        const char *data, *image, *says;
    } rows[] = {
        {"10.11.19-MariaDB-0+deb12u1-log", "10.11.2-MariaDB", NULL},
        {"10.11.19-MariaDB-0+deb12u1-log", "11.8.9-MariaDB", NULL},
        {"11.8.9-MariaDB-log", "10.11.19-MariaDB",
            "written by version 11.8.9-MariaDB-log; the image holds the older 10.11.19-MariaDB"},
        {"10.11.19-MariaDB", "9.7.4", "written by MariaDB"},
        {"8.4.6", "9.7.4", NULL},
        {"9.7.4", "8.4.6", "written by version 9.7.4; the image holds the older 8.4.6"},
        {"8.0.36", "11.8.9-MariaDB", "written by MySQL 8"},
        {"5.7.44-log", "8.0.36", NULL},
    };
    struct datadir_facts facts;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(datadir_facts_of(rows[i].data, &facts, NULL), 0);
        expect_verdict(&facts, rows[i].image, rows[i].says);
    }
    assert_int_equal(datadir_facts_of("none", &facts, NULL), -1);
}

static void test_an_unknown_writer_is_trusted(void **state)
{
    const struct fixture *fixture = *state;

    put(fixture, "data/ibdata1", "");
    put(fixture, "data/mysql/user.frm", "");
    struct datadir_facts facts = inspect(fixture);
    assert_int_equal(facts.written_by.number, 0);
    expect_verdict(&facts, "5.7.44", NULL);
    put(fixture, "data/mysql_upgrade_info", "rubbish");
    facts = inspect(fixture);
    assert_int_equal(facts.written_by.number, 0);
}

static void test_foreign_data_is_refused(void **state)
{
    const struct fixture *fixture = *state;

    put(fixture, "data/thesis.odt", "years of work");
    struct datadir_facts facts = inspect(fixture);
    assert_int_equal(facts.kind, DATADIR_FOREIGN);
    expect_verdict(&facts, "9.7.4", "thesis.odt");
}

static void test_a_database_at_the_top_is_refused(void **state)
{
    const struct fixture *fixture = *state;

    put(fixture, "ibdata1", "");
    struct datadir_facts facts = inspect(fixture);
    assert_int_equal(facts.kind, DATADIR_STRAY);
    expect_verdict(&facts, "9.7.4", "move its files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_and_lost_found_are_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mariadb_and_the_direction_of_versions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mysql_history, setup, teardown),
        cmocka_unit_test_setup_teardown(test_within_a_series_as_the_servers_promise, setup, teardown),
        cmocka_unit_test(test_the_data_of_a_running_server),
        cmocka_unit_test_setup_teardown(test_an_unknown_writer_is_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_data_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_database_at_the_top_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
