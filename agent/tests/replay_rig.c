/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/replay_rig.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backup_task.h"

bool replay_is_mysql(const struct replay_world *world)
{
    return world->flavour == GTID_MYSQL;
}

char *replay_position_of(const struct replay_world *world, const struct agent_rig *rig)
{
    char *text = seed_rig_text(
        rig, replay_is_mysql(world) ? "SELECT REPLACE(@@global.gtid_executed, '\n', '')" : "SELECT @@gtid_current_pos");

    text[strcspn(text, "\n")] = '\0';
    return text;
}

char *replay_sums_of(const struct agent_rig *rig)
{
    return seed_rig_text(rig,
        "CHECKSUM TABLE d.t, d.audit, d.parent, d.child, d.copy; SELECT COUNT(*), MAX(id) FROM d.t;"
        "SELECT * FROM d.child ORDER BY id");
}

/* ---- store ---- */

static void replay_start_store(struct replay_world *world)
{
    world->store = agent_rig_start(world->pods->other, "store");
    assert_true(agent_rig_await(world->pods->other, "/ready", 200, 20000));
}

char *replay_task_text(const struct replay_world *world, const struct replay_target *target)
{
    const struct agent_rig *store = world->pods->other;
    struct backup_task task = {.method = world->method, .compression = BACKUP_COMPRESSION_ZSTD};
    struct strbuf text;

    task.store.is_volume = true;
    task.store.path_style = true;
    task.store.bucket = xstrdup("backup");
    task.store.endpoint = xasprintf("https://localhost:%u", store->tls_port);
    task.store.connect_to = xasprintf("127.0.0.1:%u", store->tls_port);
    task.store.server_name = xstrdup("localhost");
    task.folder = xstrdup("prod/demo/backups/" REPLAY_BACKUP);
    snprintf(task.id, sizeof(task.id), REPLAY_BACKUP);
    snprintf(task.ns, sizeof(task.ns), "prod");
    snprintf(task.cluster, sizeof(task.cluster), "demo");
    task.sealed = world->sealed;
    memcpy(task.key, target->key ? target->key : world->key, sizeof(task.key));
    if (target->replay)
        task.binlogs_folder = xstrdup(REPLAY_FOLDER);
    task.until_gtid = target->until_gtid ? xstrdup(target->until_gtid) : NULL;
    task.until_ms = target->until_ms;
    strbuf_init(&text, (size_t)BACKUP_TASK_MAX);
    backup_task_encode(&task, &text);
    backup_task_release(&task);
    return strbuf_detach(&text, NULL);
}

/* ---- the member ---- */

void replay_new_member(struct replay_world *world)
{
    _cleanup_(freep) char *name = xasprintf("demo-mysql-%u", 3 + world->members++);

    agent_rig_free(world->pods->member);
    world->pods->member = seed_rig_pod(world->pods, name);
}

struct agent_process replay_begin_as(struct replay_world *world, const struct replay_target *target, const char *order)
{
    struct agent_process init = agent_rig_start(world->pods->member, "init");
    _cleanup_(freep) char *task = replay_task_text(world, target);
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    seed_rig_order(world->pods->member, order);
    int code = agent_rig_restore(world->pods->member, task, &body);
    if (code != 202)
        fail_msg("PUT /v1/restore: %d %s", code, body.buf);
    return init;
}

struct agent_process replay_begin(struct replay_world *world, const struct replay_target *target)
{
    return replay_begin_as(world, target, "{\"epoch\":1,\"seed\":\"restore\",\"restoreId\":\"" REPLAY_BACKUP "\"}");
}

void replay_open_member(const struct replay_world *world)
{
    struct agent_rig *member = world->pods->member;

    agent_rig_start(member, "server");
    agent_rig_start(member, "run");
    assert_true(agent_rig_await(member, "/startup", 200, 60000));
    seed_rig_order(member, "{\"epoch\":1,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(member, "\"writable\":true", 20000));
    assert_true(agent_rig_await_status(member, "\"accountsApplied\":true", 20000));
}

/* A member that holds what was asked for, and is open. */
void replay_restore(struct replay_world *world, const struct replay_target *target)
{
    int code = -1;

    replay_new_member(world);
    struct agent_process init = replay_begin(world, target);
    for (int i = 0; i < REPLAY_ENDS_S * 10 && !agent_rig_ended(&init, &code); i++)
        usleep(100 * 1000);
    if (code != 0) /* says why */
        assert_true(agent_rig_await_status(world->pods->member, "it ended", 0));
    assert_false(agent_rig_has(world->pods->member, "vol/data.new"));
    assert_false(agent_rig_has(world->pods->member, "vol/data/kube-mysql-replay.part"));
    assert_false(agent_rig_has(world->pods->member, "vol/data/relaylog-replay.000001"));
    replay_open_member(world);
}

void replay_assert_rows(const struct agent_rig *rig, int count, int last)
{
    _cleanup_(freep) char *text = xasprintf("%d\t%d\t%d", count, last, count);

    assert_true(seed_rig_is(rig, "SELECT COUNT(*), MAX(id), (SELECT COUNT(*) FROM d.audit) FROM d.t", text));
}

void replay_assert_holds(const struct replay_world *world, const char *gtids)
{
    _cleanup_(freep) char *position = replay_position_of(world, world->pods->member);
    struct gtid_set *have = gtid_set_parse(world->flavour, position, NULL);
    struct gtid_set *wanted = gtid_set_parse(world->flavour, gtids, NULL);
    enum gtid_relation relation = gtid_set_compare(wanted, have);

    assert_true(relation == GTID_EQUAL || relation == GTID_SUBSET);
    gtid_set_free(have);
    gtid_set_free(wanted);
}

/* ---- life ---- */

struct replay_world *replay_world_new(const char *root, enum backup_method method)
{
    struct replay_world *world = xnew(struct replay_world);

    world->root = root;
    world->method = method;
    world->flavour = root ? GTID_MYSQL : GTID_MARIADB;
    world->pods = seed_rig_new(root);
    world->pods->other = seed_rig_pod(world->pods, "store-0");
    world->sealed = true;
    memset(world->key, 7, sizeof(world->key));
    replay_start_store(world);
    return world;
}

void replay_world_free(struct replay_world *world)
{
    agent_rig_kill(&world->store);
    seed_rig_free(world->pods);
    position_pool_unref(world->positions);
    free(world);
}
