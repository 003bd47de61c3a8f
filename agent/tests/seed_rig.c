/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/seed_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/loop.h"

#define POLL_US (20 * 1000)
#define POLLS 500
#define POLLS_OF_SERVER 3000 /* for what a server does in the background, on a busy machine */

/* ---- pods ---- */

static void put_pair(struct seed_rig *world, struct agent_rig *rig, const char *name, const char *common_name)
{
    static const char *const names[] = {"localhost", NULL};
    int64_t now_ms = clock_realtime_ms();
    struct tls_cert_request request = {.common_name = common_name,
        .dns_names = names,
        .server_auth = true,
        .client_auth = true,
        .not_before_ms = now_ms - 60000,
        .not_after_ms = now_ms + 3600000};
    _cleanup_(tls_keypair_release) struct tls_keypair pair = {0};
    _cleanup_(freep) char *cert = xasprintf("%s.crt", name);
    _cleanup_(freep) char *key = xasprintf("%s.key", name);

    assert_int_equal(tls_issue(&world->ca, &request, &pair, NULL), 0);
    agent_rig_put(rig, cert, pair.cert_pem);
    agent_rig_put(rig, key, pair.key_pem);
}

struct agent_rig *seed_rig_pod(struct seed_rig *world, const char *name)
{
    struct agent_rig *rig = agent_rig_new_in(world->root);

    if (world->mycnf)
        agent_rig_put(rig, "config/my.cnf", world->mycnf);
    str_replace(&rig->pod_name, name);
    agent_rig_put(rig, "tls/ca.crt", world->ca.cert_pem);
    put_pair(world, rig, "tls/tls", AGENT_COMMON_NAME);
    put_pair(world, rig, "operator", AGENT_OPERATOR_COMMON_NAME);
    put_pair(world, rig, "stranger", "some-app");
    return rig;
}

void seed_rig_start_primary(struct agent_rig *rig)
{
    assert_int_equal(agent_rig_init(rig), 0);
    agent_rig_start(rig, "server");
    agent_rig_start(rig, "run");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    seed_rig_order(rig, "{\"epoch\":1,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(rig, "\"writable\":true", 20000));
    assert_true(agent_rig_await_status(rig, "\"accountsApplied\":true", 20000));
}

void seed_rig_start_replica(const struct seed_rig *world, struct agent_rig *rig)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"epoch\":1,\"role\":\"replica\",\"sourceHost\":\"localhost\",\"sourcePort\":%u,"
                  "\"sourceAgentPort\":%u}",
            world->donor->mysql_port, world->donor->tls_port);

    agent_rig_start(rig, "server");
    agent_rig_start(rig, "run");
    assert_true(agent_rig_await(rig, "/startup", 200, 60000));
    seed_rig_order(rig, text);
    assert_true(agent_rig_await_status(rig, "\"receiver\":\"Running\"", 30000));
}

void seed_rig_limit_volume(struct seed_rig *world, const char *size)
{
    _cleanup_(freep) char *options =
        xasprintf("size=%s,uid=%u,gid=%u,mode=700", size, world->member->uid, world->member->gid);

    assert_int_equal(mount("tmpfs", agent_rig_path(world->member, "vol"), "tmpfs", 0, options), 0);
    world->mounted = true;
}

void seed_rig_fill_volume(const struct agent_rig *rig, uint64_t left_bytes)
{
    uint64_t free_bytes = 0;
    uint64_t total = 0;
    int rc = ENOSPC;
    int fd = open(agent_rig_path(rig, "vol/filling"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    for (int i = 0; i < 10 && rc == ENOSPC; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(fs_space(agent_rig_path(rig, "vol"), &free_bytes, &total, NULL), 0);
        assert_true(free_bytes > left_bytes);
        rc = posix_fallocate(fd, 0, (off_t)(free_bytes - left_bytes));
    }
    assert_int_equal(rc, 0);
    close(fd);
}

struct seed_rig *seed_rig_new(const char *root)
{
    return seed_rig_new_with(root, NULL);
}

struct seed_rig *seed_rig_new_with(const char *root, const char *mycnf)
{
    struct seed_rig *world = xnew(struct seed_rig);
    int64_t now_ms = clock_realtime_ms();
    struct tls_cert_request request = {
        .common_name = "test-ca", .not_before_ms = now_ms - 60000, .not_after_ms = now_ms + 3600000};

    world->root = xstrdup(root);
    world->mycnf = mycnf;
    assert_int_equal(tls_make_ca(&request, &world->ca, NULL), 0);
    world->donor = seed_rig_pod(world, "demo-mysql-0");
    world->member = seed_rig_pod(world, "demo-mysql-1");
    seed_rig_start_primary(world->donor);
    return world;
}

void seed_rig_end_helper(struct seed_rig *world)
{
    if (world->helper <= 0)
        return;
    kill(world->helper, SIGKILL);
    waitpid(world->helper, NULL, 0);
    world->helper = 0;
}

void seed_rig_free(struct seed_rig *world)
{
    seed_rig_end_helper(world);
    agent_rig_free(world->donor);
    agent_rig_free(world->other);
    if (world->mounted)
        umount2(agent_rig_path(world->member, "vol"), MNT_DETACH);
    agent_rig_free(world->member);
    tls_keypair_release(&world->ca);
    free(world->root);
    free(world);
}

/* ---- orders ---- */

void seed_rig_order(const struct agent_rig *rig, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf body;
    int code = 0;

    strbuf_init(&body, KM_MIB);
    for (int i = 0; i < POLLS && (code = agent_rig_order(rig, text, &body)) == 0; i++)
        usleep(POLL_US);
    if (code != 200)
        fail_msg("%s: %d %s", text, code, body.buf);
}

char *seed_rig_clone_order(const struct agent_rig *donor, unsigned epoch, bool replace)
{
    return xasprintf("{\"epoch\":%u,\"seed\":\"clone\",\"replace\":%s,\"donorHost\":\"localhost\",\"donorPort\":%u,"
                     "\"donorAgentPort\":%u}",
        epoch, replace ? "true" : "false", donor->mysql_port, donor->tls_port);
}

struct agent_process seed_rig_clone(struct seed_rig *world, const struct agent_rig *donor, bool replace)
{
    struct agent_process init = agent_rig_start(world->member, "init");
    _cleanup_(freep) char *text = seed_rig_clone_order(donor, 1, replace);

    seed_rig_order(world->member, text);
    return init;
}

/* ---- what the servers say ---- */

bool seed_rig_is(const struct agent_rig *rig, const char *sql, const char *answer)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    if (!agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, sql, &out))
        return false;
    strbuf_truncate(&out, strcspn(out.buf, "\n"));
    return str_eq(out.buf, answer);
}

bool seed_rig_becomes(const struct agent_rig *rig, const char *sql, const char *answer)
{
    for (int i = 0; i < POLLS_OF_SERVER; i++) {
        if (seed_rig_is(rig, sql, answer))
            return true;
        usleep(POLL_US);
    }
    return false;
}

char *seed_rig_text(const struct agent_rig *rig, const char *sql)
{
    struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_true(agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, sql, &out));
    return strbuf_detach(&out, NULL);
}

void seed_rig_has_own_server_id(const struct agent_rig *rig)
{
    _cleanup_(freep) char *id = seed_rig_text(rig, "SELECT @@server_id");

    id[strcspn(id, "\n")] = '\0';
    _cleanup_(freep) char *noted = xasprintf("\"serverId\":%s}", id);
    _cleanup_(freep) char *of_mycnf = xasprintf("server_id = %s\n", id);
    assert_true(agent_rig_file_says(rig, "vol/data/kube-mysql-server-id.json", noted));
    assert_false(agent_rig_file_says(rig, "run/my.cnf", of_mycnf));
}

/* ---- a donor that lies ---- */

uint16_t seed_rig_start_liar(struct seed_rig *world, const struct http_route *routes, void *arg)
{
    static const char *const names[] = {"localhost", NULL};
    struct tls_cert_request request = {.common_name = AGENT_COMMON_NAME,
        .dns_names = names,
        .server_auth = true,
        .not_before_ms = clock_realtime_ms() - 60000,
        .not_after_ms = clock_realtime_ms() + 3600000};
    struct tls_keypair pair = {0};
    uint16_t port = 0;
    int fds[2];

    assert_int_equal(pipe(fds), 0); /* NOLINT(android-cloexec-pipe): the child only forks */
    assert_int_equal(tls_issue(&world->ca, &request, &pair, NULL), 0);
    fflush(NULL);
    world->helper = fork();
    if (world->helper == 0) {
        struct loop *loop = loop_new();
        struct tls_server *tls = tls_server_new(&pair, world->ca.cert_pem, NULL);
        struct http_server *server = http_server_new(loop, tls, routes, arg);
        if (http_server_listen(server, "127.0.0.1", 0, &port, NULL) < 0 || write(fds[1], &port, sizeof(port)) < 0)
            _exit(99);
        loop_run(loop);
        _exit(0);
    }
    assert_int_equal(read(fds[0], &port, sizeof(port)), sizeof(port));
    close(fds[0]);
    close(fds[1]);
    tls_keypair_release(&pair);
    return port;
}

void seed_rig_start_writer(struct seed_rig *world)
{
    fflush(NULL);
    world->helper = fork();
    if (world->helper == 0)
        _exit(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "CALL d.write_on()", NULL) ? 0 : 1);
    for (int i = 0; i < 500 && seed_rig_is(world->donor, "SELECT COUNT(*) FROM d.live", "0"); i++)
        usleep(20 * 1000);
}

void seed_rig_stop_writer(struct seed_rig *world)
{
    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "DELETE FROM d.go", NULL));
    waitpid(world->helper, NULL, 0);
    world->helper = 0;
}
