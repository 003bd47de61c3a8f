/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/options.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/agent_api.h"

static int parse(const char *const *args, struct agent_options *options, struct error *err)
{
    int argc = 0;

    while (args[argc])
        argc++;
    return agent_options_parse(argc, (char **)(uintptr_t)args, options, err);
}

static void test_defaults_are_those_of_the_contract(void **unused)
{
    static const char *const args[] = {"agent", "run", NULL};
    struct agent_options options;

    UNUSED(unused);
    unsetenv("POD_NAME");
    assert_int_equal(parse(args, &options, NULL), 0);
    assert_int_equal(options.command, COMMAND_RUN);
    assert_string_equal(options.paths.data_dir, AGENT_DATA_DIR);
    assert_string_equal(options.paths.state_dir, AGENT_STATE_DIR);
    assert_string_equal(options.paths.socket, AGENT_SOCKET);
    assert_string_equal(options.paths.run_mycnf, AGENT_RUN_MYCNF);
    assert_string_equal(options.paths.config_mycnf, AGENT_CONFIG_MYCNF);
    assert_string_equal(options.paths.config_instance, AGENT_CONFIG_INSTANCE);
    assert_string_equal(options.paths.accounts_dir, AGENT_ACCOUNTS_DIR);
    assert_string_equal(options.paths.tls_dir, AGENT_TLS_DIR);
    assert_string_equal(options.paths.termination_log, AGENT_TERMINATION_LOG);
    assert_int_equal(options.plain_port, AGENT_PORT_PLAIN);
    assert_int_equal(options.tls_port, AGENT_PORT_TLS);
    assert_int_equal(options.mysql_port, MYSQL_PORT);
    assert_string_equal(options.pod_name, "");
    agent_options_release(&options);
}

static void test_help_and_version_are_said_in_two_ways(void **unused)
{
    static const struct {
        const char *word;
        enum agent_command command;
    } cases[] = {
        {"help", COMMAND_HELP}, {"--help", COMMAND_HELP}, {"version", COMMAND_VERSION}, {"--version", COMMAND_VERSION}};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const args[] = {"agent", cases[i].word, NULL};
        struct agent_options options;

        assert_int_equal(parse(args, &options, NULL), 0);
        assert_int_equal(options.command, cases[i].command);
        agent_options_release(&options);
    }
    assert_int_equal(parse((const char *const[]){"agent", "--run", NULL}, &(struct agent_options){0}, NULL), -1);
}

static void test_places_and_ports_move(void **unused)
{
    static const char *const args[] = {"agent", "init", "--data-volume=/v", "--run-dir=/r", "--plain-port=0",
        "--tls-port=65535", "--log-level=debug", "--log-format=text", "--pod-name=p-1", NULL};
    struct agent_options options;

    UNUSED(unused);
    assert_int_equal(parse(args, &options, NULL), 0);
    assert_string_equal(options.paths.data_dir, "/v/data");
    assert_string_equal(options.paths.socket, "/r/mysqld.sock");
    assert_int_equal(options.plain_port, 0);
    assert_int_equal(options.tls_port, 65535);
    assert_string_equal(options.pod_name, "p-1");
    agent_options_release(&options);
}

static void test_tools(void **unused)
{
    static const char *const args[] = {"agent", "unpack", "--data-volume=/v", "--max-bytes=9000000000000", NULL};
    struct agent_options options;

    UNUSED(unused);
    assert_int_equal(parse(args, &options, NULL), 0);
    assert_true(agent_command_is_tool(options.command) && agent_command_is_child(options.command));
    assert_true(agent_command_is_tool(COMMAND_COPY_OUT) && agent_command_is_child(COMMAND_COPY_OUT));
    assert_false(agent_command_is_tool(COMMAND_UPLOAD) || agent_command_is_child(COMMAND_STORE));
    assert_true(options.max_bytes == 9000000000000);
    assert_string_equal(options.paths.copy_dir, "/v/.kube-mysql/copy");
    agent_options_release(&options);
}

static void test_what_is_wrong_is_named(void **unused)
{
    static const struct {
        const char *args[4];
        const char *says;
    } cases[] = {
        {{"agent", NULL}, "command is missing"},
        {{"agent", "fly", NULL}, "\"fly\""},
        {{"agent", "copy", NULL}, "folder is missing"},
        {{"agent", "run", "--no-such=1", NULL}, "--no-such"},
        {{"agent", "run", "--plain-port=65536", NULL}, "65536"},
        {{"agent", "run", "--plain-port=", NULL}, "no port"},
        {{"agent", "run", "--log-level=loud", NULL}, "loud"},
        {{"agent", "pre-stop", "--wait-seconds=-1", NULL}, "no number of seconds"},
        {{"agent", "unpack", "--max-bytes=1M", NULL}, "no number of bytes"},
    };
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_options options;
        struct error err = ERROR_INIT;
        assert_int_equal(parse(cases[i].args, &options, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.message, cases[i].says));
    }
}

static void test_hooks_wait_for_as_long_as_they_are_told(void **unused)
{
    static const char *const args[] = {"agent", "pre-stop", "--wait-seconds=7", NULL};
    static const char *const short_args[] = {"agent", "linger", NULL};
    struct agent_options options;

    UNUSED(unused);
    assert_int_equal(parse(args, &options, NULL), 0);
    assert_int_equal(options.command, COMMAND_PRE_STOP);
    assert_int_equal(options.wait_seconds, 7);
    agent_options_release(&options);
    assert_int_equal(parse(short_args, &options, NULL), 0);
    assert_int_equal(options.command, COMMAND_LINGER);
    assert_true(options.wait_seconds > 0);
    agent_options_release(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_those_of_the_contract),
        cmocka_unit_test(test_help_and_version_are_said_in_two_ways),
        cmocka_unit_test(test_places_and_ports_move),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_hooks_wait_for_as_long_as_they_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
