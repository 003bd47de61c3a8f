/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/corpus_stories.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/tests/replay_rig.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/subprocess.h"

#define CORPUS "agent/tests/data/corpus-604752d/"
#define FACTS_MAX (64 * KM_KIB)

static const char *root;

static void command(const char *const *argv)
{
    const struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    struct error err = ERROR_INIT;
    if (subprocess_run(&options, NULL, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

/* In place of what the store had. */
static void store_holds(const struct replay_world *world, const char *set)
{
    const struct agent_rig *store = world->pods->other;
    _cleanup_(freep) char *from = xasprintf(CORPUS "%s/prod", set);
    _cleanup_(freep) char *to = xstrdup(agent_rig_path(store, "vol/prod"));
    _cleanup_(freep) char *owner = xasprintf("%u:%u", (unsigned)store->uid, (unsigned)store->gid);
    command((const char *const[]){"rm", "-rf", to, NULL});
    command((const char *const[]){"cp", "-r", from, to, NULL});
    command((const char *const[]){"chown", "-R", owner, to, NULL});
    command((const char *const[]){"chmod", "-R", "go=", to, NULL});
}

static json_t *facts_of(const char *set)
{
    _cleanup_(freep) char *path = xasprintf(CORPUS "%s/facts.json", set);
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, FACTS_MAX);
    if (fs_read_file(path, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *facts = json_parse(text.buf, text.len, &err);
    if (!facts)
        fail_msg("%s: %s", path, err.message);
    return facts;
}

static void assert_everything(const struct replay_world *world)
{
    const struct agent_rig *member = world->pods->member;
    /* The trigger that notes each row went before row 21. */
    assert_true(seed_rig_is(member, "SELECT COUNT(*), MAX(id), (SELECT COUNT(*) FROM d.audit) FROM d.t", "30\t30\t20"));
    assert_true(seed_rig_is(member, "SELECT COUNT(*) FROM d.t WHERE v = REPEAT(CONCAT('row ', id, ' '), 50)", "30"));
    assert_true(seed_rig_is(member, "SELECT COUNT(*), SUM(id) FROM d.copy", "4\t10"));
    assert_true(seed_rig_is(member, "SELECT GROUP_CONCAT(id, ':', p, ':', note ORDER BY id) FROM d.child",
        "10:1:added,11:1:added,30:3:seen,40:4:added"));
    assert_true(agent_rig_sql(member, "later", "later-secret", "SELECT COUNT(*) FROM d.t", NULL));
    assert_true(agent_rig_sql(member, "root", SEED_RIG_ROOT_PASSWORD, "INSERT INTO d.t VALUES (1000, 'goes on')", NULL));
}

enum also { ALSO_NOTHING, ALSO_A_MOMENT, ALSO_A_POSITION };

static void restore_set(const char *method, const char *seal, enum also also)
{
    struct replay_world *world =
        replay_world_new(root, str_eq(method, "files") ? BACKUP_METHOD_PHYSICAL : BACKUP_METHOD_LOGICAL);
    _cleanup_(freep) char *set = xasprintf("%s-%s-%s", replay_is_mysql(world) ? "mysql" : "mariadb", method, seal);
    _cleanup_(json_decrefp) json_t *facts = facts_of(set);
    const char *until = json_path_str(facts, "until", ""), *gtid = json_path_str(facts, "gtid", "");

    world->sealed = str_eq(seal, "sealed");
    store_holds(world, set);
    replay_restore(world, &(struct replay_target){.replay = true});
    assert_everything(world);
    replay_assert_holds(world, until);
    if (also == ALSO_A_MOMENT) {
        int64_t moment_ms = json_integer_value(json_object_get(facts, "momentMilliseconds"));
        replay_restore(world, &(struct replay_target){.replay = true, .until_ms = moment_ms});
        replay_assert_rows(world->pods->member, 15, 15);
    } else if (also == ALSO_A_POSITION) {
        replay_restore(world, &(struct replay_target){.replay = true, .until_gtid = gtid});
        replay_assert_rows(world->pods->member, 17, 17);
        replay_assert_holds(world, gtid);
    }
    replay_world_free(world);
}

static void files_sealed(void **state)
{
    UNUSED(state);
    restore_set("files", "sealed", ALSO_A_MOMENT);
}

static void files_plain(void **state)
{
    UNUSED(state);
    restore_set("files", "plain", ALSO_NOTHING);
}

static void statements_sealed(void **state)
{
    UNUSED(state);
    restore_set("statements", "sealed", ALSO_A_POSITION);
}

static void statements_plain(void **state)
{
    UNUSED(state);
    restore_set("statements", "plain", ALSO_NOTHING);
}

int corpus_stories_run(const char *given_root)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_sealed),
        cmocka_unit_test(files_plain),
        cmocka_unit_test(statements_sealed),
        cmocka_unit_test(statements_plain),
    };
    root = given_root;
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
