/* SPDX-License-Identifier: Apache-2.0 */
/* When a pod may end: the decision, and the hook against an agent's plain door in a process of its own. */
#include "common/base.h"

#include "agent/pre_stop.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/bootstrap/server_exec.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/http_server.h"

static const char *ask(struct pre_stop *state, const char *role, int64_t now_ms)
{
    const struct pre_stop_answer answer = {.answered = role != NULL, .live = true, .role = str_or_empty(role)};
    return pre_stop_may_go(state, &answer, now_ms);
}

static void only_a_primary_waits(void **unused)
{
    struct pre_stop state = {0};
    UNUSED(unused);
    assert_null(ask(&state, "primary\n", 1000));
    assert_null(ask(&state, "primary\n", 1000 + 10 * PRE_STOP_ALONE_MS));
    assert_non_null(ask(&state, "primary last\n", 1000));
    assert_non_null(ask(&state, "primary closed last\n", 1000));
    assert_non_null(ask(&state, "fenced last\n", 1000));
    assert_null(ask(&state, "replica turning last\n", 1000));
    assert_non_null(ask(&state, "replica\n", 1000));
    assert_non_null(ask(&state, "replica alone\n", 1000));
    assert_non_null(ask(&state, "none\n", 1000));
}

static void a_server_that_hangs_is_not_waited_for(void **unused)
{
    struct pre_stop state = {0};
    const struct pre_stop_answer answer = {.answered = true, .live = false, .role = "primary\n"};
    UNUSED(unused);
    assert_non_null(pre_stop_may_go(&state, &answer, 1000));
}

static void what_lasts_ends_the_wait(void **unused)
{
    static const struct {
        const char *role;
        int64_t max_ms;
    } cases[] = {{NULL, PRE_STOP_SILENCE_MS}, {"replica turning\n", PRE_STOP_TURN_MS},
        {"replica applying\n", PRE_STOP_APPLY_MS}, {"primary alone\n", PRE_STOP_ALONE_MS},
        {"fenced\n", PRE_STOP_FENCED_MS}};
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pre_stop state = {0};
        assert_null(ask(&state, cases[i].role, 1000));
        assert_null(ask(&state, cases[i].role, 1000 + cases[i].max_ms - 1));
        assert_null(ask(&state, "primary\n", 1000 + cases[i].max_ms)); /* it was not for long */
        assert_null(ask(&state, cases[i].role, 2000 + cases[i].max_ms));
        assert_null(ask(&state, cases[i].role, 2000 + 2 * cases[i].max_ms - 1));
        assert_non_null(ask(&state, cases[i].role, 2000 + 2 * cases[i].max_ms));
    }
}

/* ---- the hook ---- */

#define HANDOVER_MS 700

struct double_door {
    const char *role;
    int64_t replica_from_ms; /* monotonic; 0: never */
};

static void handle_live(struct http_exchange *exchange, void *arg)
{
    UNUSED(arg);
    http_replyf(exchange, 200, "ok");
}

static void handle_role(struct http_exchange *exchange, void *arg)
{
    const struct double_door *door = arg;
    bool moved = door->replica_from_ms > 0 && clock_monotonic_ms() >= door->replica_from_ms;
    http_replyf(exchange, moved ? 404 : 200, "%s", moved ? "replica" : door->role);
}

/* Serves until it is killed; tells its port. */
static void serve(struct double_door *door, int port_fd)
{
    static const struct http_route routes[] = {
        {"GET", "/live", handle_live}, {"GET", "/role", handle_role}, {.method = NULL}};
    struct error err = ERROR_INIT;
    uint16_t port = 0;
    struct loop *loop = loop_new();
    struct http_server *server = http_server_new(loop, NULL, routes, door);
    if (http_server_listen(server, "127.0.0.1", 0, &port, &err) < 0 ||
        write(port_fd, &port, sizeof(port)) != (ssize_t)sizeof(port))
        _exit(1);
    loop_run(loop);
    _exit(0);
}

static pid_t start_door(struct double_door *door, uint16_t *ret_port)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        serve(door, fds[1]);
    assert_int_equal(read(fds[0], ret_port, sizeof(*ret_port)), sizeof(*ret_port));
    close(fds[0]);
    close(fds[1]);
    return pid;
}

/* How long the hook takes; door NULL: no agent is there. */
static int64_t hook_ms(struct double_door *door, const char *wait_seconds, int replicas)
{
    struct error err = ERROR_INIT;
    uint16_t port = 1;
    pid_t pid = door ? start_door(door, &port) : 0;
    _cleanup_(freep) char *dir = xasprintf("%s/pre-stop", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    _cleanup_(freep) char *file = xasprintf("%s/instance.json", dir);
    _cleanup_(freep) char *config = xasprintf("{\"cluster\":\"c\",\"replicas\":%d}", replicas);
    assert_int_equal(fs_mkdir_all(dir, 0755, &err), 0);
    assert_int_equal(fs_write_file_atomic(file, config, strlen(config), 0644, &err), 0);
    _cleanup_(freep) char *port_arg = xasprintf("--plain-port=%u", port);
    _cleanup_(freep) char *config_arg = xasprintf("--config-dir=%s", dir);
    _cleanup_(freep) char *run_arg = xasprintf("--run-dir=%s", dir);
    _cleanup_(freep) char *wait_arg = xasprintf("--wait-seconds=%s", wait_seconds);
    char *args[] = {(char[]){"agent"}, (char[]){"pre-stop"}, port_arg, config_arg, run_arg, wait_arg, NULL};
    struct agent_options options;
    if (agent_options_parse(6, args, &options, &err) < 0)
        fail_msg("%s", err.message);
    int64_t before_ms = clock_monotonic_ms();
    if (pre_stop_run(&options, &err) < 0)
        fail_msg("%s", err.message);
    int64_t took_ms = clock_monotonic_ms() - before_ms;
    assert_int_equal(server_is_leaving(&options.paths), replicas > 1);
    unlink(options.paths.leaving);
    unlink(options.paths.stopping);
    agent_options_release(&options);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return took_ms;
}

static void the_hook_waits_for_the_handover(void **unused)
{
    struct double_door door = {"primary", clock_monotonic_ms() + HANDOVER_MS};
    UNUSED(unused);
    int64_t took_ms = hook_ms(&door, "30", 3);
    assert_in_range(took_ms, HANDOVER_MS / 2, 10000);
}

static void the_hook_ends_in_time(void **unused)
{
    struct double_door door = {"primary", 0};
    UNUSED(unused);
    assert_in_range(hook_ms(&door, "1", 3), 1000, 5000);
}

static void a_cluster_of_one_does_not_wait(void **unused)
{
    struct double_door door = {"primary", 0};
    UNUSED(unused);
    assert_in_range(hook_ms(&door, "30", 1), 0, 5000);
}

static void without_an_agent_it_does_not_wait_for_long(void **unused)
{
    UNUSED(unused);
    assert_in_range(hook_ms(NULL, "30", 3), PRE_STOP_SILENCE_MS, PRE_STOP_SILENCE_MS + 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_primary_waits),
        cmocka_unit_test(a_server_that_hangs_is_not_waited_for),
        cmocka_unit_test(what_lasts_ends_the_wait),
        cmocka_unit_test(the_hook_waits_for_the_handover),
        cmocka_unit_test(the_hook_ends_in_time),
        cmocka_unit_test(a_cluster_of_one_does_not_wait),
        cmocka_unit_test(without_an_agent_it_does_not_wait_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
