/* SPDX-License-Identifier: Apache-2.0 */
/* `server` and `run` against the real server of this machine: one pod's life. The cases share a pod and run in
 * order. */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/agent_server.h"
#include "agent/tests/agent_rig.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/subprocess.h"
#include "common/tls.h"

#define PRIMARY "{\"epoch\":3,\"role\":\"primary\"}"
#define ROOT_PASSWORD "pw-root'\\"

static int setup(void **state)
{
    struct agent_rig *rig = agent_rig_new();

    *state = rig;
    if (agent_rig_init(rig) != 0)
        return -1;
    agent_rig_start(rig, "run");
    return 0;
}

static int teardown(void **state)
{
    agent_rig_free(*state);
    return 0;
}

static bool await_sql(const struct agent_rig *rig, const char *user, const char *password, bool wanted)
{
    int64_t end_ms = clock_monotonic_ms() + 15000;

    while (agent_rig_sql(rig, user, password, "SELECT 1", NULL) != wanted) {
        if (clock_monotonic_ms() > end_ms)
            return false;
        usleep(50000);
    }
    return true;
}

static void order(const struct agent_rig *rig, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_order(rig, text, &body), 200);
}

static void test_no_server_no_readiness(void **state)
{
    struct agent_rig *rig = *state;

    assert_true(agent_rig_await(rig, "/ready", 503, 10000));
    assert_int_equal(agent_rig_get(rig, "/startup", NULL), 503);
    assert_int_equal(agent_rig_get(rig, "/live", NULL), 200);
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Down\"", 10000));
}

static void test_a_server_becomes_ready(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, 4 * KM_MIB);
    agent_rig_start(rig, "server");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    assert_int_equal(agent_rig_get(rig, "/ready", NULL), 503); /* no word of the operator yet */
    order(rig, PRIMARY);
    assert_true(agent_rig_await(rig, "/ready", 200, 60000));
    assert_true(agent_rig_await_status(rig, "\"accountsApplied\":true", 10000));
    assert_int_equal(agent_rig_get(rig, "/metrics", &out), 200);
    assert_non_null(strstr(out.buf, "\nmysql_up 1\n"));
    assert_non_null(strstr(out.buf, "\nmysql_global_variables_max_connections "));
}

static void test_accounts_can_do_what_they_are_for(void **state)
{
    struct agent_rig *rig = *state;

    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, "CREATE DATABASE other; CREATE DATABASE appxdb", NULL));
    assert_true(agent_rig_sql(rig, "app", "pw-user'\\", "CREATE TABLE app_db.t (i INT PRIMARY KEY)", NULL));
    assert_false(agent_rig_sql(rig, "app", "pw-user'\\", "CREATE TABLE other.t (i INT)", NULL));
    assert_false(agent_rig_sql(rig, "app", "pw-user'\\", "CREATE TABLE appxdb.t (i INT)", NULL)); /* _ is no wildcard */
    assert_false(agent_rig_sql(rig, "app", "pw-user'\\", "SET GLOBAL max_connections = 5", NULL));
    assert_false(agent_rig_sql(rig, "app", "pw-user'\\", "SELECT * FROM mysql.global_priv", NULL));
    assert_true(agent_rig_sql(rig, "monitor", "pw-monitor'\\", "SHOW GLOBAL STATUS; SHOW ALL SLAVES STATUS", NULL));
    assert_false(agent_rig_sql(rig, "monitor", "pw-monitor'\\", "SELECT * FROM app_db.t", NULL));
    assert_true(agent_rig_sql(rig, "replication", "pw-replication'\\", "SHOW MASTER STATUS", NULL));
    assert_false(agent_rig_sql(rig, "replication", "pw-replication'\\", "CREATE DATABASE x", NULL));
}

static void test_nobody_from_afar_writes_while_read_only(void **state)
{
    struct agent_rig *rig = *state;

    order(rig, "{\"epoch\":3}");
    assert_true(agent_rig_await_status(rig, "it is fenced", 5000));
    assert_false(agent_rig_sql(rig, "root", ROOT_PASSWORD, "CREATE DATABASE while_read_only", NULL));
    assert_false(agent_rig_sql(rig, "root", ROOT_PASSWORD, "SET GLOBAL read_only = 0", NULL));
    assert_false(agent_rig_sql(rig, "root", ROOT_PASSWORD, "GRANT READ_ONLY ADMIN ON *.* TO root@'%'", NULL));
    assert_true(agent_rig_await_status(rig, "\"readOnly\":true", 5000));
    order(rig, "{\"epoch\":3,\"role\":\"primary\"}");
    assert_true(agent_rig_await(rig, "/ready", 200, 10000));
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, "CREATE DATABASE while_read_only", NULL));
}

static void test_a_changed_password_is_applied(void **state)
{
    struct agent_rig *rig = *state;

    agent_rig_put(rig, "accounts/user", "another \"password\"");
    assert_true(await_sql(rig, "app", "pw-user'\\", false));
    assert_true(agent_rig_sql(rig, "app", "another \\\"password\\\"", "SELECT 1", NULL) ||
        agent_rig_sql(rig, "app", "another \"password\"", "SELECT 1", NULL));
    agent_rig_put(rig, "accounts/user", "pw-user'\\");
    assert_true(await_sql(rig, "app", "pw-user'\\", true));
}

/* I11: not only files change; what another hand did to a system account is undone while the server runs. */
static void test_an_account_changed_by_another_hand_is_set_right(void **state)
{
    struct agent_rig *rig = *state;

    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, "ALTER USER replication@'%' IDENTIFIED BY 'stolen'", NULL));
    assert_false(agent_rig_sql(rig, "replication", "pw-replication'\\", "SELECT 1", NULL));
    assert_true(await_sql(rig, "replication", "pw-replication'\\", true));
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, "DROP USER replication@'%'", NULL));
    assert_true(await_sql(rig, "replication", "pw-replication'\\", true));
    /* Root's too, and with it that of spec.username, which is not looked at by itself. */
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, "ALTER USER app@'%' IDENTIFIED BY 'taken'", NULL));
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, "ALTER USER root@'%' IDENTIFIED BY 'taken'", NULL));
    assert_false(agent_rig_sql(rig, "root", ROOT_PASSWORD, "SELECT 1", NULL));
    assert_true(await_sql(rig, "root", ROOT_PASSWORD, true));
    assert_true(await_sql(rig, "app", "pw-user'\\", true));
}

static void test_missing_and_bad_wishes_are_problems_not_outages(void **state)
{
    struct agent_rig *rig = *state;

    agent_rig_put(rig, "accounts/user", NULL);
    assert_true(agent_rig_await_status(rig, "\"SecretMissing\"", 10000));
    assert_int_equal(agent_rig_get(rig, "/ready", NULL), 200);
    agent_rig_put(rig, "accounts/user", "");
    assert_true(agent_rig_await_status(rig, "\"AccountsFailed\"", 10000));
    assert_int_equal(agent_rig_get(rig, "/ready", NULL), 200);
    agent_rig_put(rig, "accounts/user", "pw-user'\\");
    assert_true(agent_rig_await_status(rig, "\"accountsApplied\":true", 10000));
}

static void test_the_tls_door_wants_a_certificate(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(rig, NULL, "/v1/status", NULL, &body), 0);
    assert_null(strstr(body.buf, "demo"));
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/status", NULL, &body), 200);
    assert_non_null(strstr(body.buf, "\"instance\":\"demo-mysql-2\""));
    assert_int_equal(agent_rig_get(rig, "/v1/status", NULL), 404); /* not on the plain door */
    /* Another member holds a certificate of the same CA: it may ask, but neither watch nor order. */
    assert_int_equal(agent_rig_tls(rig, "tls/tls", "/v1/status", NULL, &body), 200);
    assert_int_equal(agent_rig_tls(rig, "tls/tls", "/v1/status?watch=1", NULL, &body), 403);
    assert_int_equal(agent_rig_tls(rig, "tls/tls", "/v1/mycnf/check", "[mysqld]\n", &body), 403);
    assert_int_equal(agent_rig_order_as(rig, "tls/tls", PRIMARY, &body), 403);
}

/* S7: what is meant for another pod is answered and nothing else; an earlier version's operator names nobody. */
static void test_what_is_for_another_pod_is_refused(void **state)
{
    static const char *const doors[][2] = {{"operator", "/v1/status?to=demo-mysql-1"},
        {"operator", "/v1/status?watch=1&to=demo-mysql-1"}, {"tls/tls", "/v1/status?from=demo-mysql-0&to=demo-mysql-1"},
        {"tls/tls", "/v1/backup?digest=poly1305&to=demo-mysql-1"},
        {"tls/tls", "/v1/binlogs/tail?after=&to=demo-mysql-1"},
        {"operator", "/v1/status?to=demo-mysql-2&uid=0b1c2d3e-0000-4000-8000-000000000002"}};
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    for (size_t i = 0; i < ARRAY_LEN(doors); i++)
        assert_int_equal(agent_rig_tls(rig, doors[i][0], doors[i][1], NULL, &body), 421);
    assert_int_equal(agent_rig_order_to(rig, "to=demo-mysql-1", PRIMARY, &body), 421);
    assert_non_null(strstr(body.buf, "this is demo-mysql-2"));
    assert_int_equal(agent_rig_order_to(rig, "to=demo-mysql-2&boot=another", PRIMARY, &body), 421);
    assert_non_null(strstr(body.buf, "not another"));
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/check?to=demo-mysql-1", "[mysqld]\n", &body), 421);
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/backups?to=demo-mysql-1", "{}", &body), 421);
    assert_int_equal(
        agent_rig_tls(rig, "operator", "/v1/status?to=demo-mysql-2&uid=" AGENT_RIG_POD_UID, NULL, &body), 200);
    assert_non_null(strstr(body.buf, "\"podUid\":\"" AGENT_RIG_POD_UID "\""));
}

static void test_new_certificates_need_no_restart(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf before;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&before, KM_MIB);
    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/status", NULL, &before), 200);
    agent_rig_put_certificates(rig); /* a new CA: whoever holds the old one is a stranger */
    assert_true(agent_rig_await_status(rig, "\"bootId\"", 10000));
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/status", NULL, &body), 200);
    const char *boot_id = strstr(before.buf, "\"bootId\":");
    assert_memory_equal(strstr(body.buf, "\"bootId\":"), boot_id, strlen("\"bootId\":\"0123456789"));
    /* Rubbish is a problem, and the old certificates go on serving. */
    agent_rig_put(rig, "tls/tls.crt", "rubbish");
    assert_true(agent_rig_await_status(rig, "\"CertificateInvalid\"", 10000));
    agent_rig_put_certificates(rig);
    assert_true(agent_rig_await_status(rig, "\"bootId\"", 10000));
}

static void test_check_of_a_mycnf(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/check", "[mysqld]\nmax_connections = 50\n", &body), 200);
    assert_non_null(strstr(body.buf, "\"ok\":true"));
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/check", "[mysqld]\nno_such_key = 50\n", &body), 200);
    assert_non_null(strstr(body.buf, "\"ok\":false"));
    assert_non_null(strstr(body.buf, "no_such_key"));
    assert_false(agent_rig_has(rig, "run/my.cnf.check"));
}

static void test_a_changed_mycnf_needs_no_restart(void **state)
{
    static const char base[] =
        "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve = 1\ninnodb_buffer_pool_size = 32M\nlog_bin = binlog\n";
    struct agent_rig *rig = *state;
    _cleanup_(freep) char *dynamic = xasprintf("%smax_connections = 77\nsort_buffer_size = 4M\n", base);
    _cleanup_(freep) char *fixed = xasprintf("%smax_connections = 78\nport_open_timeout = 5\n", base);
    _cleanup_(freep) char *wrong = xasprintf("%sno_such_key = 1\n", base);
    _cleanup_(strbuf_release) struct strbuf body;
    const char *ask = "SELECT @@global.max_connections, @@global.sort_buffer_size";

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/apply", dynamic, &body), 200);
    assert_non_null(strstr(body.buf, "\"needsRestart\":[]"));
    assert_non_null(strstr(body.buf, "\"max_connections\""));
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, ask, &body));
    assert_string_equal(body.buf, "77\t4194304\n");
    char hash[65];
    tls_sha256_hex(dynamic, strlen(dynamic), hash);
    assert_true(agent_rig_await_status(rig, hash, 2000));
    assert_true(agent_rig_file_says(rig, "run/my.cnf", "max_connections = 77"));
    /* One that cannot be: nothing is changed. */
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/apply", fixed, &body), 200);
    assert_non_null(strstr(body.buf, "\"needsRestart\":[\"port_open_timeout\"]"));
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/apply", wrong, &body), 400);
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, ask, &body));
    assert_string_equal(body.buf, "77\t4194304\n");
    assert_true(agent_rig_await_status(rig, hash, 2000));
    /* Back to the defaults. */
    assert_int_equal(agent_rig_tls(rig, "operator", "/v1/mycnf/apply", base, &body), 200);
    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD, ask, &body));
    assert_string_equal(body.buf, "151\t2097152\n");
}

static void test_a_stopped_server_is_hung(void **state)
{
    struct agent_rig *rig = *state;

    kill(rig->server.inner, SIGSTOP);
    assert_true(agent_rig_await(rig, "/ready", 503, 10000));
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Hung\"", 10000));
    assert_int_equal(agent_rig_get(rig, "/live", NULL), 200); /* not yet */
    kill(rig->server.inner, SIGCONT);
    assert_true(agent_rig_await(rig, "/ready", 200, 20000));
}

static void test_a_killed_server_is_down_and_comes_back(void **state)
{
    struct agent_rig *rig = *state;

    agent_rig_kill(&rig->server);
    assert_true(agent_rig_await(rig, "/ready", 503, 5000));
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Down\"", 5000));
    agent_rig_start(rig, "server");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    order(rig, PRIMARY);
    assert_true(agent_rig_await(rig, "/ready", 200, 60000));
    assert_true(agent_rig_sql(rig, "app", "pw-user'\\", "SELECT * FROM app_db.t", NULL));
}

static void test_two_servers_cannot_be(void **state)
{
    struct agent_rig *rig = *state;
    struct agent_process first = rig->server;
    struct agent_process second = agent_rig_start(rig, "server");

    rig->server = first;
    assert_int_equal(agent_rig_wait(&second), 1);
    assert_int_equal(agent_rig_get(rig, "/ready", NULL), 200);
}

/* Nobody watches in this test: whoever is only asked or ordered is not watched. */
static void test_that_no_operator_watches_is_told(void **state)
{
    struct agent_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf body;
    int64_t end_ms = clock_monotonic_ms() + OPERATOR_SILENT_MS + 10000;

    strbuf_init(&body, 4 * KM_MIB);
    assert_int_equal(agent_rig_get(rig, "/metrics", &body), 200);
    assert_non_null(strstr(body.buf, "\nkubemysql_agent_operator_silent_seconds "));
    assert_null(strstr(body.buf, "\nkubemysql_agent_operator_silent_seconds 0\n"));
    do {
        usleep(200000);
        assert_int_equal(agent_rig_get(rig, "/ready", &body), 200);
    } while (!strstr(body.buf, "no operator") && clock_monotonic_ms() < end_ms);
    printf("ready: %s\n", body.buf);
    assert_non_null(strstr(body.buf, "ok, but no operator has been heard for "));
    usleep(1000000); /* the agent's next turn */
    assert_true(agent_rig_file_says(rig, "run.log", "no operator watches"));
}

static void test_the_agent_enters_whatever_the_passwords_are(void **state)
{
    struct agent_rig *rig = *state;

    assert_true(agent_rig_sql(rig, "root", ROOT_PASSWORD,
        "ALTER USER mysql@localhost IDENTIFIED BY 'unknown'; ALTER USER root@localhost IDENTIFIED BY 'unknown'; "
        "ALTER USER root@'%' IDENTIFIED BY 'unknown'",
        NULL));
    agent_rig_kill(&rig->agent);
    agent_rig_kill(&rig->server);
    agent_rig_start(rig, "server");
    agent_rig_start(rig, "run");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    order(rig, PRIMARY);
    assert_true(agent_rig_await(rig, "/ready", 200, 60000));
    assert_true(await_sql(rig, "root", ROOT_PASSWORD, true));
}

static void test_no_secret_is_left_anywhere(void **state)
{
    static const char *const files[] = {"run.log", "server.log", "init.log", "run/my.cnf", "run/bootstrap.sql"};
    struct agent_rig *rig = *state;

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_false(agent_rig_file_says(rig, files[i], "pw-"));
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"root", "replication", "monitor", "user"};
        _cleanup_(strbuf_release) struct strbuf body;
        strbuf_init(&body, KM_MIB);
        _cleanup_(freep) char *secret = xasprintf("pw-%s", names[i]);
        assert_int_equal(agent_rig_tls(rig, "operator", "/v1/status", NULL, &body), 200);
        assert_null(strstr(body.buf, secret));
    }
}

static void test_sigterm_ends_the_agent(void **state)
{
    struct agent_rig *rig = *state;

    kill(rig->agent.inner, SIGTERM);
    assert_int_equal(agent_rig_wait(&rig->agent), 0);
    assert_int_equal(agent_rig_get(rig, "/live", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_server_no_readiness),
        cmocka_unit_test(test_a_server_becomes_ready),
        cmocka_unit_test(test_accounts_can_do_what_they_are_for),
        cmocka_unit_test(test_nobody_from_afar_writes_while_read_only),
        cmocka_unit_test(test_a_changed_password_is_applied),
        cmocka_unit_test(test_an_account_changed_by_another_hand_is_set_right),
        cmocka_unit_test(test_missing_and_bad_wishes_are_problems_not_outages),
        cmocka_unit_test(test_the_tls_door_wants_a_certificate),
        cmocka_unit_test(test_what_is_for_another_pod_is_refused),
        cmocka_unit_test(test_new_certificates_need_no_restart),
        cmocka_unit_test(test_check_of_a_mycnf),
        cmocka_unit_test(test_a_changed_mycnf_needs_no_restart),
        cmocka_unit_test(test_a_stopped_server_is_hung),
        cmocka_unit_test(test_a_killed_server_is_down_and_comes_back),
        cmocka_unit_test(test_two_servers_cannot_be),
        cmocka_unit_test(test_that_no_operator_watches_is_told),
        cmocka_unit_test(test_the_agent_enters_whatever_the_passwords_are),
        cmocka_unit_test(test_no_secret_is_left_anywhere),
        cmocka_unit_test(test_sigterm_ends_the_agent),
    };

    return agent_rig_possible() ? cmocka_run_group_tests(tests, setup, teardown) : 77;
}
