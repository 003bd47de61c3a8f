/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole managers, each a process of its own, against a real API server (KM_TEST_KUBECONFIG): who leads, how it is
 * handed over, how a process ends. The executable runs itself as `manager_itest member COMPONENT MODE`.
 */
#include "common/base.h"

#include "operator/runtime/manager.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "operator/kube/kube_config.h"
#include "operator/runtime/begin_anew.h"

#define LEASE_MS 3000
#define RENEW_MS 2000
#define RETRY_MS 400
#define LOG_MAX (256 * KM_KIB)

/* ---- the member's side ---- */

static void reconcile_now(void *arg, const char *key, struct reconcile *run)
{
    UNUSED(arg);
    log_info("reconciled", LOG_STR("key", key));
    reconcile_finish(run, NULL, 0);
}

/* One reconcile that goes on for ever: it writes its name and the time into the config map called as the component,
 * again and again. */
struct scribe {
    struct manager *manager;
    const char *map;
    char name[32];
    int count;
    bool writes;
};

static struct scribe scribe;

static void scribe_write(void);

static void on_scribbled(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(arg);
    UNUSED(answer);
    if (err)
        log_info("not written", LOG_ERR(err));
    else if (++scribe.count == 20)
        log_info("busy");
    if (!err)
        scribe_write();
}

static void scribe_write(void)
{
    char now[32];
    snprintf(now, sizeof(now), "%lld", (long long)clock_monotonic_us());
    _cleanup_(json_decrefp) json_t *patch = json_build("{s:{s:s}}", "data", scribe.name, now);
    kube_patch(manager_client(scribe.manager), manager_use_kind(scribe.manager, &kube_kind_config_map), "default",
        scribe.map, NULL, KUBE_PATCH_MERGE, patch, on_scribbled, NULL);
}

static void reconcile_busily(void *arg, const char *key, struct reconcile *run)
{
    UNUSED(arg);
    log_info("reconciled", LOG_STR("key", key));
    if (scribe.writes) {
        reconcile_finish(run, NULL, 0);
        return;
    }
    scribe.writes = true;
    scribe_write();
}

static void ask_again(char *name);

static void on_asked(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    UNUSED(err);
    ask_again(arg);
}

/* `name` belongs to whoever takes the answer: at the end of the process nobody does. */
static void ask_again(char *name)
{
    kube_get(manager_client(scribe.manager), manager_use_kind(scribe.manager, &kube_kind_config_map), "default", name,
        on_asked, name);
}

static void reconcile_never(void *arg, const char *key, struct reconcile *run)
{
    UNUSED(arg);
    UNUSED(run);
    log_info("hanging", LOG_STR("key", key));
    ask_again(xstrdup(scribe.map));
}

/* Config maps exist on every cluster (kube-root-ca.crt or the bootstrap ones), so there is always a key. */
static int member_setup(void *arg, struct manager *manager, struct error *err)
{
    UNUSED(err);
    bool hangs = str_eq(arg, "hang"), is_busy = str_eq(arg, "busy");
    const struct reconciler reconciler = {.name = "itest",
        .reconcile = hangs ? reconcile_never
            : is_busy      ? reconcile_busily
                           : reconcile_now};
    scribe.manager = manager;
    struct controller *controller = manager_controller(manager, &reconciler, NULL);
    const struct kube_resource *resource = manager_use_kind(manager, &kube_kind_config_map);
    struct informer *informer = manager_informer(manager, resource, &kube_projection_child, NULL);
    controller_watch(controller, informer, NULL, controller_map_self, NULL);
    return 0;
}

static int member_main(const char *component, const char *mode)
{
    struct kube_config config = {.server = NULL};
    struct error err = ERROR_INIT;
    char identity[32];
    snprintf(identity, sizeof(identity), "pid-%d", (int)getpid());
    snprintf(scribe.name, sizeof(scribe.name), "%s", identity);
    scribe.map = component;
    log_setup(LOG_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    if (kube_config_load(getenv("KM_TEST_KUBECONFIG"), NULL, &config, &err) < 0)
        return 3;
    bool again = str_eq(mode, "again");
    const struct manager_options options = {
        .config = &config,
        .lease_expired = again ? begin_anew : NULL,
        .field_manager = "itest",
        .user_agent = "itest",
        .component = component,
        .leader_namespace = "default",
        .leader_identity = identity,
        .lease_duration_ms = LEASE_MS,
        .renew_deadline_ms = RENEW_MS,
        .retry_period_ms = RETRY_MS,
    };
    struct loop *loop = loop_new();
    struct manager *manager = manager_new(loop, &options, &err);
    if (!manager)
        return 3;
    manager_use_kind(manager, &kube_kind_config_map);
    int rc = manager_run(manager, member_setup, (void *)(uintptr_t)mode);
    bool lost = manager_has_lost_lease(manager);
    if (manager_has_work_left(manager) && !lost) {
        log_info("ends with its work");
        _exit(rc);
    }
    manager_free(manager);
    loop_free(loop);
    kube_config_release(&config);
    if (lost && again)
        begin_anew();
    return rc;
}

/* ---- the test's side ---- */

static const char *self;
static char component[48];

struct member {
    pid_t pid;
    int log_fd;
    struct strbuf log;
};

static void member_start(struct member *member, const char *mode)
{
    int pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDERR_FILENO);
    char *const argv[] = {(char *)(uintptr_t)self, (char[]){"member"}, component, (char *)(uintptr_t)mode, NULL};
    assert_int_equal(posix_spawn(&member->pid, self, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    member->log_fd = pipe_fds[0];
    strbuf_init(&member->log, LOG_MAX);
}

/* Reads the member's log until it holds `text`; false if it does not say so in time. */
static bool member_says(struct member *member, const char *text, int64_t limit_ms)
{
    int64_t until_ms = clock_monotonic_ms() + limit_ms;
    while (!strstr(member->log.buf, text)) {
        int64_t left_ms = until_ms - clock_monotonic_ms();
        struct pollfd readable = {.fd = member->log_fd, .events = POLLIN};
        if (left_ms <= 0 || poll(&readable, 1, (int)left_ms) <= 0)
            return false;
        char chunk[4096];
        ssize_t n = read(member->log_fd, chunk, sizeof(chunk));
        if (n <= 0)
            return false;
        strbuf_add(&member->log, chunk, (size_t)n);
    }
    return true;
}

static void expect(struct member *member, const char *text, int64_t limit_ms)
{
    if (!member_says(member, text, limit_ms))
        fail_msg("process %d did not say \"%s\":\n%s", (int)member->pid, text, member->log.buf);
}

/* Waits for its end; exit code, or -signal. */
static int member_wait(struct member *member, int64_t limit_ms)
{
    int status = 0;
    for (int64_t until_ms = clock_monotonic_ms() + limit_ms; waitpid(member->pid, &status, WNOHANG) == 0; usleep(5000)) {
        if (clock_monotonic_ms() < until_ms)
            continue;
        kill(member->pid, SIGKILL);
        waitpid(member->pid, &status, 0);
        fail_msg("process %d did not end:\n%s", (int)member->pid, member->log.buf);
    }
    member_says(member, "(nothing)", 200); /* the rest of its log, for people */
    close(member->log_fd);
    member->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void member_end(struct member *member)
{
    if (member->pid) {
        kill(member->pid, SIGCONT);
        kill(member->pid, SIGTERM);
        assert_int_equal(member_wait(member, 10000), 0);
    }
    strbuf_release(&member->log);
}

/* ---- the Lease as the API server has it ---- */

struct world {
    struct loop *loop;
    struct http_client *http;
    struct kube_client *client;
    char holder[64];
    int64_t transitions;
    char written[32];
    bool answered;
};

static struct world world;

static void on_lease(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(arg);
    world.answered = true;
    if (err)
        fail_msg("lease: %s", err->message);
    snprintf(world.holder, sizeof(world.holder), "%s", json_path_str(answer->object, "spec.holderIdentity", ""));
    world.transitions = json_path_int(answer->object, "spec.leaseTransitions", -1);
}

static const char *lease_holder(void)
{
    static const struct kube_resource lease = {.kind = &kube_kind_lease, .version = "v1"};
    world.answered = false;
    kube_get(world.client, &lease, "default", component, on_lease, NULL);
    while (!world.answered)
        loop_run_once(world.loop, 100);
    return world.holder;
}

static void give_lease(const char *holder)
{
    static const struct kube_resource lease = {.kind = &kube_kind_lease, .version = "v1"};
    _cleanup_(json_decrefp) json_t *patch = json_build("{s:{s:s}}", "spec", "holderIdentity", holder);
    world.answered = false;
    kube_patch(world.client, &lease, "default", component, NULL, KUBE_PATCH_MERGE, patch, on_lease, NULL);
    while (!world.answered)
        loop_run_once(world.loop, 100);
    assert_string_equal(world.holder, holder);
}

static void assert_leads(const struct member *member)
{
    char identity[32];
    snprintf(identity, sizeof(identity), "pid-%d", (int)member->pid);
    assert_string_equal(lease_holder(), identity);
}

/* ---- what members write ---- */

static const struct kube_resource map_resource = {.kind = &kube_kind_config_map, .version = "v1"};

static void on_map_made(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(arg);
    UNUSED(answer);
    world.answered = true;
    if (err)
        fail_msg("config map: %s", err->message);
}

static void make_map(void)
{
    _cleanup_(json_decrefp) json_t *map = json_build("{s:s,s:s,s:{s:s,s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
        "metadata", "name", component, "namespace", "default");
    world.answered = false;
    kube_create(world.client, &map_resource, "default", map, on_map_made, NULL);
    while (!world.answered)
        loop_run_once(world.loop, 100);
}

static void on_map(void *arg, const struct kube_answer *answer, const struct error *err)
{
    const struct member *member = arg;
    char path[48];
    world.answered = true;
    if (err)
        fail_msg("config map: %s", err->message);
    snprintf(path, sizeof(path), "data.pid-%d", (int)member->pid);
    snprintf(world.written, sizeof(world.written), "%s", json_path_str(answer->object, path, ""));
}

/* What this member wrote last; "" for nothing. */
static const char *last_written(struct member *member)
{
    world.answered = false;
    kube_get(world.client, &map_resource, "default", component, on_map, member);
    while (!world.answered)
        loop_run_once(world.loop, 100);
    return world.written;
}

static int set_up(void **state)
{
    UNUSED(state);
    static int number;
    snprintf(component, sizeof(component), "manager-itest-%d-%d", (int)getpid(), ++number);
    return 0;
}

static int group_set_up(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct kube_config config = {.server = NULL};
    if (kube_config_load(getenv("KM_TEST_KUBECONFIG"), NULL, &config, &err) < 0)
        return -1;
    const struct kube_client_options options = {.field_manager = "itest", .user_agent = "itest"};
    world.loop = loop_new();
    world.http = http_client_new(world.loop);
    world.client = kube_client_new(world.loop, world.http, &config, &options, &err);
    kube_config_release(&config);
    return world.client ? 0 : -1;
}

static int group_tear_down(void **state)
{
    UNUSED(state);
    kube_client_free(world.client);
    http_client_free(world.http);
    loop_free(world.loop);
    return 0;
}

/* ---- cases ---- */

static void start_pair(struct member *leader, struct member *standby)
{
    member_start(leader, "work");
    expect(leader, "reconciled", 20000);
    assert_leads(leader);
    member_start(standby, "work");
    expect(standby, "leader identity=", 20000);
    assert_null(strstr(standby->log.buf, "reconciled")); /* it waits */
}

static void test_handover_on_sigterm(void **state)
{
    UNUSED(state);
    struct member leader, standby;
    start_pair(&leader, &standby);
    int64_t begin_ms = clock_monotonic_ms();
    kill(leader.pid, SIGTERM);
    expect(&standby, "reconciled", LEASE_MS / 2); /* far sooner than by running out */
    print_message("SIGTERM to the standby's first reconcile: %d ms\n", (int)(clock_monotonic_ms() - begin_ms));
    assert_leads(&standby);
    assert_int_equal(world.transitions, 1);
    assert_int_equal(member_wait(&leader, 5000), 0);
    strbuf_release(&leader.log);
    member_end(&standby);
    assert_string_equal(lease_holder(), "");
}

static void test_takeover_after_sigkill(void **state)
{
    UNUSED(state);
    struct member leader, standby;
    start_pair(&leader, &standby);
    int64_t begin_ms = clock_monotonic_ms();
    kill(leader.pid, SIGKILL);
    expect(&standby, "reconciled", 2 * LEASE_MS);
    int64_t took_ms = clock_monotonic_ms() - begin_ms;
    print_message("SIGKILL to the standby's first reconcile: %d ms of a %d ms lease\n", (int)took_ms, LEASE_MS);
    assert_true(took_ms > LEASE_MS - 2 * RETRY_MS); /* a lease is a promise */
    assert_leads(&standby);
    assert_int_equal(member_wait(&leader, 1000), -SIGKILL);
    strbuf_release(&leader.log);
    member_end(&standby);
}

static void test_a_stopped_leader_ends_when_it_wakes(void **state)
{
    UNUSED(state);
    struct member leader, standby;
    start_pair(&leader, &standby);
    kill(leader.pid, SIGSTOP);
    expect(&standby, "reconciled", 2 * LEASE_MS);
    assert_leads(&standby);
    kill(leader.pid, SIGCONT);
    assert_int_equal(member_wait(&leader, 5000), 1);
    assert_leads(&standby);
    assert_int_equal(world.transitions, 1);
    strbuf_release(&leader.log);
    member_end(&standby);
}

static void forget_log(struct member *member)
{
    member_says(member, "(nothing)", 200);
    strbuf_truncate(&member->log, 0);
}

/* The same process is a standby then, and leads when the other one has ended. */
static void test_a_stopped_leader_begins_anew(void **state)
{
    UNUSED(state);
    struct member leader, standby;
    member_start(&leader, "again");
    expect(&leader, "reconciled", 20000);
    member_start(&standby, "again");
    expect(&standby, "leader identity=", 20000);
    kill(leader.pid, SIGSTOP);
    expect(&standby, "reconciled", 2 * LEASE_MS);
    forget_log(&leader);
    kill(leader.pid, SIGCONT);
    expect(&leader, "still running after the end of its lease", 5000);
    expect(&leader, "leader identity=", 20000);
    assert_null(strstr(leader.log.buf, "reconciled"));
    assert_leads(&standby);
    member_end(&standby);
    expect(&leader, "reconciled", 20000);
    assert_leads(&leader);
    member_end(&leader); /* signals are not blocked */
}

/* Whoever it is that holds the lease in its place. */
static void test_a_leader_that_loses_the_lease_begins_anew(void **state)
{
    UNUSED(state);
    struct member leader;
    member_start(&leader, "again");
    expect(&leader, "reconciled", 20000);
    forget_log(&leader);
    give_lease("somebody");
    expect(&leader, "leadership lost", 2 * LEASE_MS);
    expect(&leader, "leader identity=somebody", 20000);
    expect(&leader, "reconciled", 20000);
    assert_leads(&leader);
    member_end(&leader);
}

/* Stopped in the midst of a reconcile that writes without a pause: whatever was half done stays so. */
static void test_a_stopped_leader_never_writes_again(void **state)
{
    UNUSED(state);
    struct member leader, standby;
    make_map();
    member_start(&leader, "busy");
    expect(&leader, "busy", 20000);
    member_start(&standby, "busy");
    expect(&standby, "leader identity=", 20000);
    kill(leader.pid, SIGSTOP);
    expect(&standby, "busy", 2 * LEASE_MS + 2000);
    char before[32];
    snprintf(before, sizeof(before), "%s", last_written(&leader));
    assert_string_not_equal(before, "");
    struct member stopped = leader; /* its pid is forgotten with its end */
    kill(leader.pid, SIGCONT);
    assert_int_equal(member_wait(&leader, 5000), 1);
    assert_non_null(strstr(leader.log.buf, "still running after the end of its lease"));
    usleep(200000);
    assert_string_equal(last_written(&stopped), before);
    assert_leads(&standby);
    strbuf_release(&leader.log);
    member_end(&standby);
}

static void test_hanging_work_does_not_hold_the_end(void **state)
{
    UNUSED(state);
    struct member member;
    member_start(&member, "hang");
    expect(&member, "hanging", 20000);
    int64_t begin_ms = clock_monotonic_ms();
    kill(member.pid, SIGTERM);
    assert_int_equal(member_wait(&member, 8000), 0);
    int64_t took_ms = clock_monotonic_ms() - begin_ms;
    assert_true(took_ms >= 450); /* the work had its time */
    assert_true(took_ms < 3000);
    assert_non_null(strstr(member.log.buf, "ends with its work"));
    assert_string_equal(lease_holder(), "");
    strbuf_release(&member.log);
}

static void test_second_signal_ends_at_once(void **state)
{
    UNUSED(state);
    struct member member;
    member_start(&member, "hang");
    expect(&member, "hanging", 20000);
    int64_t begin_ms = clock_monotonic_ms();
    kill(member.pid, SIGTERM);
    expect(&member, "signal", 3000);
    kill(member.pid, SIGTERM);
    assert_int_equal(member_wait(&member, 5000), 1);
    assert_true(clock_monotonic_ms() - begin_ms < 3000);
    strbuf_release(&member.log);
}

int main(int argc, char **argv)
{
    begin_anew_with(argv);
    if (argc == 4 && str_eq(argv[1], "member"))
        return member_main(argv[2], argv[3]);
    if (!getenv("KM_TEST_KUBECONFIG")) {
        fprintf(stderr, "skipped: no KM_TEST_KUBECONFIG\n");
        return 77;
    }
    self = "/proc/self/exe";
#define CASE(fn) cmocka_unit_test_setup(fn, set_up)
    const struct CMUnitTest tests[] = {
        CASE(test_handover_on_sigterm),
        CASE(test_takeover_after_sigkill),
        CASE(test_a_stopped_leader_ends_when_it_wakes),
        CASE(test_a_stopped_leader_begins_anew),
        CASE(test_a_leader_that_loses_the_lease_begins_anew),
        CASE(test_a_stopped_leader_never_writes_again),
        CASE(test_hanging_work_does_not_hold_the_end),
        CASE(test_second_signal_ends_at_once),
    };
    return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
