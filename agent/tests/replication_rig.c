/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/replication_rig.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define ROOT_PASSWORD "pw-root'\\"
#define LONG_MS 60000
/* A server that is asked on a busy machine may be late with each answer: one that does not answer has not said "no". */
#define SAYS_MS 10000
#define SAYS_NOTHING_MS 50000

/* ---- status streams ---- */

static void start_watch(struct member *member);

bool member_has_problem(const struct member *member, const char *reason)
{
    for (int i = 0; i < member->status.problem_count; i++) {
        if (strcmp(member->status.problems[i].reason, reason) == 0)
            return true;
    }
    return false;
}

static void note_loss(struct member *member)
{
    struct replication_rig *rig = member->all;

    if (rig->gtids_are_emptied || !member_has_problem(member, "GtidsLost"))
        return;
    if (rig->gtids_said_lost++ == 0)
        print_error("nobody has emptied a GTID set: %.*s\n", (int)member->line.len, member->line.buf);
}

static void take_line(struct member *member)
{
    struct agent_status status = {0};

    if (agent_status_decode(member->line.buf, member->line.len, member->all->positions, &status, NULL) == 0) {
        member->status = status;
        member->told_us = clock_monotonic_us();
        note_loss(member);
    }
    strbuf_reset(&member->line);
}

static int on_data(void *arg, const char *data, size_t len)
{
    struct member *member = arg;

    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n')
            take_line(member);
        else
            strbuf_addc(&member->line, data[i]);
    }
    return 0;
}

static void on_watch_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct member *member = arg;

    UNUSED(response);
    UNUSED(err);
    member->watch = NULL;
    member->status = (struct agent_status){0};
    strbuf_reset(&member->line);
}

static void start_watch(struct member *member)
{
    _cleanup_(freep) char *url = xasprintf("https://localhost:%u/v1/status?watch=1", member->rig->tls_port);
    struct http_request_options options = {
        .method = "GET",
        .url = url,
        .tls = member->all->tls,
        .idle_timeout_ms = 3000,
        .data = on_data,
        .done = on_watch_done,
        .arg = member,
    };

    member->watch = http_client_start(member->all->client, &options);
}

void replication_rig_run(struct replication_rig *rig, int64_t ms)
{
    int64_t end_ms = clock_monotonic_ms() + ms;

    do {
        for (unsigned i = 0; i < MEMBERS; i++) {
            if (!rig->members[i].watch && rig->members[i].rig->agent.inner)
                start_watch(&rig->members[i]);
        }
        loop_run_once(rig->loop, MIN_OF(MAX_OF(end_ms - clock_monotonic_ms(), 1), 20));
    } while (clock_monotonic_ms() < end_ms);
    assert_int_equal(rig->gtids_said_lost, 0);
}

bool replication_rig_await(
    struct replication_rig *rig, unsigned member, status_test test, const char *what, int64_t timeout_ms)
{
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;

    while (!test(&rig->members[member])) {
        if (clock_monotonic_ms() > end_ms) {
            _cleanup_(strbuf_release) struct strbuf text;
            strbuf_init(&text, KM_MIB);
            agent_status_encode(&rig->members[member].status, &text);
            printf("member %u is not %s: %s\n", member, what, text.buf);
            return false;
        }
        replication_rig_run(rig, 0);
    }
    return true;
}

/* ---- orders ---- */

struct reply {
    bool done;
    int code;
};

static void on_reply(void *arg, const struct http_response *response, const struct error *err)
{
    struct reply *reply = arg;

    reply->done = true;
    reply->code = err ? 0 : response->status;
}

int replication_rig_order(struct replication_rig *rig, unsigned member, const struct agent_order *order)
{
    struct member *target = &rig->members[member];
    _cleanup_(freep) char *url =
        xasprintf("https://localhost:%u/v1/role?asOf=%lld", target->rig->tls_port, (long long)clock_monotonic_ms());
    _cleanup_(strbuf_release) struct strbuf body;
    struct reply reply = {0};

    strbuf_init(&body, AGENT_ORDER_MAX);
    agent_order_encode(order, &body);
    struct http_request_options options = {
        .method = "PUT",
        .url = url,
        .tls = rig->tls,
        .body = body.buf,
        .body_len = body.len,
        .timeout_ms = 10000,
        .done = on_reply,
        .arg = &reply,
    };
    http_client_start(rig->client, &options);
    while (!reply.done)
        loop_run_once(rig->loop, 1000);
    if (reply.code == 200) {
        target->order = *order;
        target->order.wait_for = position_take(rig->positions, order->wait_for);
        target->order.beyond = position_take(rig->positions, order->beyond);
    }
    return reply.code;
}

struct agent_order replication_rig_primary(const struct replication_rig *rig, const char *wait_for)
{
    struct agent_order order = {.epoch = rig->epoch, .role = AGENT_ROLE_PRIMARY, .heartbeat = true, .drain_ms = 3000};

    order.wait_for = wait_for;
    order.semi_sync = rig->semi_sync;
    order.acks = 1;
    return order;
}

struct agent_order replication_rig_replica(const struct replication_rig *rig, unsigned source)
{
    struct agent_order order = {.epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .max_lag_seconds = 5, .drain_ms = 3000};

    snprintf(order.source_host, sizeof(order.source_host), "localhost");
    order.source_port = rig->members[source].rig->mysql_port;
    order.source_agent_port = rig->members[source].rig->tls_port;
    order.semi_sync = rig->semi_sync;
    return order;
}

struct agent_order replication_rig_fence(const struct replication_rig *rig)
{
    return (struct agent_order){.epoch = rig->epoch, .role = AGENT_ROLE_NONE};
}

bool member_done(const struct member *member)
{
    char hash[17];

    agent_order_hash(&member->order, hash);
    return member->status.order_done && strcmp(hash, member->status.order_hash) == 0;
}

bool member_ready(const struct member *member)
{
    return member_done(member) && member->status.ready;
}

bool member_runs(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING;
}

bool member_is_down(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_DOWN;
}

bool member_is_held(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_OFF;
}

/* ---- stories ---- */

void member_give(struct replication_rig *rig, unsigned member, struct agent_order order)
{
    assert_int_equal(replication_rig_order(rig, member, &order), 200);
}

void member_await(struct replication_rig *rig, unsigned member, status_test test, const char *what)
{
    assert_true(replication_rig_await(rig, member, test, what, LONG_MS));
}

void replication_rig_form(struct replication_rig *rig)
{
    struct agent_order order;

    rig->epoch++;
    order = replication_rig_primary(rig, "");
    assert_int_equal(replication_rig_order(rig, 0, &order), 200);
    for (unsigned i = 1; i < MEMBERS; i++) {
        order = replication_rig_replica(rig, 0);
        assert_int_equal(replication_rig_order(rig, i, &order), 200);
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_ready, "ready", LONG_MS));
}

int64_t replication_rig_switch_us(struct replication_rig *rig, unsigned from, unsigned to)
{
    int64_t started_us = clock_monotonic_us();
    struct agent_order order;

    rig->epoch++;
    order = replication_rig_replica(rig, to);
    assert_int_equal(replication_rig_order(rig, from, &order), 200);
    assert_true(replication_rig_await(rig, from, member_done, "closed", LONG_MS));
    order = replication_rig_primary(rig, rig->members[from].status.gtid_executed);
    assert_int_equal(replication_rig_order(rig, to, &order), 200);
    assert_true(replication_rig_await(rig, to, member_done, "open", LONG_MS));
    int64_t took_us = clock_monotonic_us() - started_us;
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i == from || i == to)
            continue;
        order = replication_rig_replica(rig, to);
        assert_int_equal(replication_rig_order(rig, i, &order), 200);
    }
    return took_us;
}

/* ---- SQL ---- */

bool member_sql(struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *out)
{
    return agent_rig_sql(rig->members[member].rig, "root", ROOT_PASSWORD, sql, out);
}

bool member_root_sql(struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *out)
{
    return agent_rig_socket_sql(rig->members[member].rig, "root", ROOT_PASSWORD, sql, out);
}

bool member_owner_sql(struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *out)
{
    return agent_rig_owner_sql(rig->members[member].rig, sql, out);
}

bool member_says(struct replication_rig *rig, unsigned member, const char *sql, const char *answer)
{
    _cleanup_(strbuf_release) struct strbuf out;
    int64_t end_ms = clock_monotonic_ms() + SAYS_MS;
    bool ran = false;

    strbuf_init(&out, KM_MIB);
    for (;;) {
        ran = member_sql(rig, member, sql, &out);
        strbuf_truncate(&out, strcspn(out.buf, "\n"));
        if (ran && strcmp(out.buf, answer) == 0)
            return true;
        if (clock_monotonic_ms() > (ran ? end_ms : end_ms + SAYS_NOTHING_MS))
            break;
        replication_rig_run(rig, 50);
    }
    printf("member %u %s \"%s\" to %s\n", member, ran ? "says" : "did not run the statement, but says", out.buf, sql);
    return false;
}

pid_t replication_rig_fork(void)
{
    fflush(NULL);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        setpgid(0, 0);
    return pid;
}

static pid_t hold_lock(bool (*ask)(struct replication_rig *, unsigned, const char *, struct strbuf *),
    struct replication_rig *rig, unsigned member, const char *sql, unsigned seconds)
{
    _cleanup_(freep) char *text = xasprintf("%s; SELECT SLEEP(%u)", sql, seconds);
    pid_t pid = replication_rig_fork();

    if (pid > 0)
        return pid;
    ask(rig, member, text, NULL);
    _exit(0);
}

pid_t member_hold_lock(struct replication_rig *rig, unsigned member, const char *sql, unsigned seconds)
{
    return hold_lock(member_sql, rig, member, sql, seconds);
}

pid_t member_hold_lock_as_owner(struct replication_rig *rig, unsigned member, const char *sql, unsigned seconds)
{
    return hold_lock(member_owner_sql, rig, member, sql, seconds);
}

void member_release_lock(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static bool is_mysql(const struct replication_rig *rig)
{
    return rig->members[0].rig->mysql;
}

bool member_write_aside(struct replication_rig *rig, unsigned member, bool logged, const char *sql)
{
    _cleanup_(freep) char *text = xasprintf(
        "%s%s%s", is_mysql(rig) ? "SET GLOBAL super_read_only = 0; " : "", logged ? "" : "SET sql_log_bin = 0; ", sql);

    return member_owner_sql(rig, member, text, NULL);
}

bool member_start_applier(struct replication_rig *rig, unsigned member)
{
    return member_owner_sql(rig, member, is_mysql(rig) ? "START REPLICA SQL_THREAD" : "START SLAVE SQL_THREAD", NULL);
}

static bool newest_binlog(struct replication_rig *rig, unsigned member, char *ret, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf out;
    const char *last = NULL;

    strbuf_init(&out, KM_MIB);
    if (!member_sql(rig, member, "SHOW BINARY LOGS", &out))
        return false;
    for (const char *at = out.buf; (at = strstr(at, "binlog.")); at++)
        last = at;
    if (last)
        snprintf(ret, size, "%.*s", (int)strcspn(last, "\t"), last);
    return last != NULL;
}

/* MariaDB refuses while a replica may need one; the one that reads needs a moment. */
bool member_purge_binlogs(struct replication_rig *rig, unsigned member)
{
    char name[64];
    char sql[128];

    if (!newest_binlog(rig, member, name, sizeof(name)))
        return false;
    snprintf(sql, sizeof(sql), "PURGE BINARY LOGS TO '%s'", name);
    return member_sql(rig, member, sql, NULL);
}

/* ---- life ---- */

static void copy_file(const struct agent_rig *from, const struct agent_rig *to, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(from, name), &text, NULL), 0);
    agent_rig_put(to, name, text.buf);
}

static void make_member(struct replication_rig *rig, unsigned index, const char *root)
{
    static const char *const files[] = {"tls/ca.crt", "tls/tls.crt", "tls/tls.key", "operator.crt", "operator.key"};
    struct member *member = &rig->members[index];

    member->rig = agent_rig_new_in(root);
    member->all = rig;
    member->index = index;
    strbuf_init(&member->line, AGENT_STATUS_MAX + 1);
    free(member->rig->pod_name);
    member->rig->pod_name = xasprintf("demo-mysql-%u", index);
    for (size_t i = 0; index > 0 && i < ARRAY_LEN(files); i++)
        copy_file(rig->members[0].rig, member->rig, files[i]);
    assert_int_equal(agent_rig_init(member->rig), 0);
}

static char *read_text(const struct agent_rig *rig, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(rig, name), &text, NULL), 0);
    return xstrdup(text.buf);
}

static struct http_tls *operator_tls(const struct agent_rig *rig)
{
    _cleanup_(freep) char *ca = read_text(rig, "tls/ca.crt");
    _cleanup_(freep) char *cert = read_text(rig, "operator.crt");
    _cleanup_(freep) char *key = read_text(rig, "operator.key");
    struct http_tls_options options = {.ca_pem = ca, .cert_pem = cert, .key_pem = key};

    return http_tls_new(&options);
}

struct replication_rig *replication_rig_new(const char *root)
{
    struct replication_rig *rig = xnew(struct replication_rig);

    rig->epoch = 1;
    rig->positions = position_pool_new((size_t)(16 * KM_MIB));
    rig->loop = loop_new();
    rig->client = http_client_new(rig->loop);
    for (unsigned i = 0; i < MEMBERS; i++)
        make_member(rig, i, root);
    rig->tls = operator_tls(rig->members[0].rig);
    for (unsigned i = 0; i < MEMBERS; i++) {
        replication_rig_start(rig, i, "run");
        replication_rig_start(rig, i, "server");
    }
    return rig;
}

void replication_rig_start(struct replication_rig *rig, unsigned member, const char *command)
{
    agent_rig_start(rig->members[member].rig, command);
}

void replication_rig_free(struct replication_rig *rig)
{
    if (!rig)
        return;
    http_client_free(rig->client);
    http_tls_unref(rig->tls);
    for (unsigned i = 0; i < MEMBERS; i++) {
        agent_rig_free(rig->members[i].rig);
        strbuf_release(&rig->members[i].line);
    }
    loop_free(rig->loop);
    position_pool_unref(rig->positions);
    free(rig);
}

/* ---- groups of tests ---- */

static int setup(void **state, bool mysql, bool semi_sync)
{
    _cleanup_(freep) char *root = mysql ? agent_rig_mysql_root() : NULL;

    if (mysql && !root)
        return -1;
    struct replication_rig *rig = replication_rig_new(root);
    rig->semi_sync = semi_sync;
    *state = rig;
    return 0;
}

int replication_rig_setup_mariadb(void **state)
{
    return setup(state, false, false);
}

int replication_rig_setup_mysql(void **state)
{
    return setup(state, true, false);
}

int replication_rig_setup_semi_mariadb(void **state)
{
    return setup(state, false, true);
}

int replication_rig_setup_semi_mysql(void **state)
{
    return setup(state, true, true);
}

int replication_rig_teardown(void **state)
{
    replication_rig_free(*state);
    return 0;
}
