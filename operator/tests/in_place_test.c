/* SPDX-License-Identifier: Apache-2.0 */
/* An existing cluster that gets the data of a stored backup, against doubles of the API server and of its agents, which
 * hold the invariants. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/archive_world.h"
#include "operator/tests/in_place_story.h"
#include "operator/tests/role_story.h"

#define GTID_OF "3e11fa47-71ca-11e1-9e33-c80aa9429562"

/* ---- the world ---- */

static bool take_wish_back(struct operator_world *world)
{
    in_place_annotate(world, NULL);
    return true;
}

static void assert_has_data(struct operator_world *world, int members, uint64_t line)
{
    assert_string_equal(in_place_str(world, "phase"), "Completed");
    assert_string_equal(in_place_str(world, "source.backup"), "b-1");
    assert_string_equal(in_place_str(world, "stale[0]"), "");
    for (int i = 0; i < members; i++) {
        assert_int_equal(world_agent(world, i)->line, line);
        assert_true(world_agent(world, i)->executed >= 40);
        assert_false(world_agent(world, i)->has_before);
    }
}

static void assert_restored(struct operator_world *world, int members, uint64_t line)
{
    assert_has_data(world, members, line);
    assert_string_equal(role_story_status(world, "state"), "Healthy");
}

/* The history that the cluster had goes on, on all members. */
static void assert_untouched(struct operator_world *world)
{
    assert_int_equal(in_place_number(world, "taken"), 0);
    assert_string_equal(role_story_status(world, "state"), "Healthy");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(world_agent(world, i)->line, 0);
        assert_int_equal(world_agent(world, i)->beside_number, 0);
    }
}

/* ---- it goes well ---- */

static void test_in_place(void **state)
{
    UNUSED(state);
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, in_place_steps);
    assert_restored(world, 3, 1);
    assert_int_equal(in_place_number(world, "number"), 1);
    assert_int_equal(in_place_number(world, "taken"), 1);
    assert_string_equal(world_agent(world, 0)->task_key, "key1");
    assert_string_equal(world_agent(world, 0)->task_binlogs, "");
    operator_world_free(world);
}

static void test_alone(void **state)
{
    UNUSED(state);
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, in_place_steps);
    assert_restored(world, 1, 1);
    operator_world_free(world);
}

static bool wish_with_slow_starts(struct operator_world *world)
{
    for (int i = 0; i < 3; i++)
        world_agent(world, i)->start_ms = 2000;
    return in_place_wish(world);
}

/* One outage: whoever has taken the restored data is not replaced while its server starts. */
static void test_one_restart(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, wish_with_slow_starts, in_place_is_completed, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_restored(world, 3, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(world_agent(world, i)->lives, 4); /* init and run, before and after */
    operator_world_free(world);
}

static bool wish_for_a_time(struct operator_world *world)
{
    in_place_put_backup(world);
    in_place_annotate(world, "nightly@2026-11-21T12:00:00Z");
    return true;
}

static void test_to_a_time(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, wish_for_a_time, in_place_is_completed, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_restored(world, 3, 1);
    assert_string_equal(world_agent(world, 0)->task_binlogs, "ns1/shop/binlogs/u-1");
    assert_int_equal(world_agent(world, 0)->task_until_ms, 1795262400000);
    operator_world_free(world);
}

/* ---- another history ---- */

static bool put_backup_of_another_history(struct operator_world *world)
{
    in_place_put_backup(world);
    world_edit_json(world, IN_PLACE_BACKUP, "{'status': {'history': 'u-1-r4'}}");
    in_place_annotate(world, "nightly@latest");
    return true;
}

/* The binary logs that go on from a backup are those of its own time. */
static void test_binlogs_of_the_backups_history(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, put_backup_of_another_history, in_place_is_completed, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, steps);
    assert_string_equal(world_agent(world, 0)->task_binlogs, "ns1/shop/binlogs/u-1-r4");
    operator_world_free(world);
}

static bool archives_into(struct operator_world *world, const char *more)
{
    _cleanup_(freep) char *folder =
        xasprintf("ns1/shop/binlogs/%s%s", world_str(world, PATH_CLUSTER, "metadata.uid"), more);
    return str_eq(world_agent(world, 0)->archive.folder, folder);
}

static bool archives(struct operator_world *world)
{
    return archives_into(world, "");
}

static bool archives_elsewhere(struct operator_world *world)
{
    return archives_into(world, "-r1");
}

/* Positions of what was before and of what comes now must not be mixed: what is committed now needs a backup of its
 * own. */
static void test_archive_begins_anew(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, archives, in_place_wish, in_place_is_completed, archives_elsewhere, NULL};
    struct operator_world *world = archive_world_new(3, ", 'binlogs': {'enabled': true}");
    operator_world_run(world, steps);
    assert_has_data(world, 3, 1);
    archive_world_free(world);
}

/* ---- a volume that is kept ---- */

static bool shrink(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 2}");
    return true;
}

static bool has_shrunk(struct operator_world *world)
{
    return world_is_settled(world) && *role_story_status(world, "retainedVolumes[0]");
}

static bool grow(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 3}");
    return true;
}

static bool has_grown(struct operator_world *world)
{
    return world_is_settled(world) && world_agent(world, 2)->line == 1 && !*in_place_str(world, "stale[0]");
}

/* What a member that has left comes back with is not trusted, and holds nothing up meanwhile. */
static void test_comes_back_on_an_old_volume(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, shrink, has_shrunk, in_place_wish, in_place_is_completed,
        role_story_quiet, grow, has_grown, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_restored(world, 3, 1);
    operator_world_free(world);
}

/* ---- from a volume ---- */

/* Nobody is closed before the pod in front of it serves. */
static void test_from_a_volume(void **state)
{
    UNUSED(state);
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, in_place_volume_steps);
    assert_restored(world, 3, 1);
    assert_string_equal(world_agent(world, 0)->task_store, "127.9.9.9:8443");
    operator_world_free(world);
}

static bool stores_are_gone(struct operator_world *world)
{
    return !in_place_store(world, "nas") && !in_place_store(world, "usb");
}

static bool wish_of_another_volume(struct operator_world *world)
{
    world_edit_json(
        world, IN_PLACE_BACKUP, "{'status': {'destination': {'persistentVolumeClaim': {'claimName': 'usb'}}}}");
    in_place_annotate(world, "nightly@latest");
    return true;
}

static bool waits_for_the_other(struct operator_world *world)
{
    return in_place_store(world, "usb") && !in_place_store(world, "nas") &&
        str_eq(world_condition(world, "RestoredInPlace"), "False/StoreUnavailable");
}

static bool is_taken_back(struct operator_world *world)
{
    return str_eq(world_condition(world, "RestoredInPlace"), "False/GivenUp") && world_is_settled(world);
}

/* What was made for a wish goes with it, and nobody was closed. */
static void test_store_goes_with_the_wish(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, in_place_wish_of_volume, in_place_waits_for_store,
        wish_of_another_volume, waits_for_the_other, take_wish_back, is_taken_back, stores_are_gone, role_story_quiet,
        NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_untouched(world);
    assert_int_equal(world_agent(world, 0)->lives, 2);
    operator_world_free(world);
}

/* ---- once ---- */

static bool wish_again(struct operator_world *world)
{
    in_place_annotate(world, "nightly@latest");
    return true;
}

static bool is_completed_twice(struct operator_world *world)
{
    return in_place_number(world, "taken") == 2 && in_place_is_completed(world);
}

static bool is_forgotten(struct operator_world *world)
{
    return !*in_place_str(world, "wish");
}

/* Another value is another wish; the same is one again after it was taken away. */
static void test_again(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, in_place_wish, in_place_is_completed, role_story_quiet,
        wish_again, is_completed_twice, take_wish_back, is_forgotten, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_restored(world, 3, 2);
    operator_world_free(world);
}

/* ---- what does not go ---- */

static void test_damaged(void **state)
{
    UNUSED(state);
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, in_place_damaged_steps);
    assert_untouched(world);
    operator_world_free(world);
}

static bool wish_without_keys(struct operator_world *world)
{
    in_place_wish(world);
    return kube_api_double_remove(world->api, PATH_CORE "secrets/keys");
}

static bool is_restoring(struct operator_world *world)
{
    return str_eq(in_place_str(world, "phase"), "Restoring") &&
        str_eq(role_story_status(world, "state"), "Restoring") &&
        world_agent(world, 0)->status.phase == AGENT_PHASE_SEEDING &&
        str_eq(world_condition(world, "RestoredInPlace"), "False/NotToldYet") &&
        !*world_str(world, PATH_SLICE, "endpoints[0].targetRef.name");
}

static bool is_given_up(struct operator_world *world)
{
    return str_eq(world_condition(world, "RestoredInPlace"), "False/GivenUp") && world_is_settled(world);
}

/* Nobody serves, and nothing has been taken: the wish is taken back. */
static void test_given_up(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, wish_without_keys, is_restoring, take_wish_back, is_given_up, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_untouched(world);
    operator_world_free(world);
}

static bool lose_a_member(struct operator_world *world)
{
    world_agent(world, 2)->is_cut = true;
    return true;
}

static bool is_missed(struct operator_world *world)
{
    return !str_eq(world_condition(world, "Replicated"), "True/AllFollow");
}

static bool waits_to_hear(struct operator_world *world)
{
    return str_eq(in_place_str(world, "phase"), "Resolving") &&
        strstr(role_story_status(world, "nextAction"), "waits to hear from shop-mysql-2") &&
        agent_double_is_open(world_agent(world, 0));
}

static bool comes_back(struct operator_world *world)
{
    world_agent(world, 2)->is_cut = false;
    return true;
}

/* Who does not hear would go on following a server whose history is another one by then: so it does not begin. */
static void test_waits_for_a_silent_member(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, lose_a_member, is_missed, in_place_wish, waits_to_hear,
        role_story_quiet, comes_back, in_place_is_completed, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_restored(world, 3, 1);
    operator_world_free(world);
}

static bool wish_for_a_stuck_one(struct operator_world *world)
{
    world_agent(world, 2)->order_is_stuck = true;
    return in_place_wish(world);
}

static bool waits_until_it_stops(struct operator_world *world)
{
    return str_eq(in_place_str(world, "phase"), "Restoring") && world_agent(world, 0)->beside_number == 1 &&
        strstr(role_story_status(world, "nextAction"), "waits until shop-mysql-2 has stopped to follow");
}

static bool stops(struct operator_world *world)
{
    world_agent(world, 2)->order_is_stuck = false;
    return true;
}

/* Nor does it pass the point of no return. */
static void test_waits_until_all_have_stopped(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, wish_for_a_stuck_one, waits_until_it_stops, stops,
        in_place_is_completed, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, IN_PLACE_THREE);
    operator_world_run(world, steps);
    assert_restored(world, 3, 1);
    operator_world_free(world);
}

/* ---- what is refused while the cluster serves ---- */

static char refused_value[128], refused_patch[160], refused_as[64];

static bool wish_in_vain(struct operator_world *world)
{
    in_place_put_backup(world);
    if (*refused_patch)
        world_edit_json(world, IN_PLACE_BACKUP, refused_patch);
    in_place_annotate(world, refused_value);
    return true;
}

static bool is_refused(struct operator_world *world)
{
    return str_eq(world_condition(world, "RestoredInPlace"), refused_as) && world_is_settled(world);
}

static void test_refused(void **state)
{
    UNUSED(state);
    static const struct {
        const char *value, *patch, *reason;
    } rows[] = {
        {"weekly", "", "False/BackupMissing"},
        {"nightly@noon", "", "False/InvalidWish"},
        {"Nightly", "", "False/InvalidWish"},
        {"nightly", "{'status': {'phase': 'Running'}}", "False/BackupIncomplete"},
        {"nightly", "{'status': {'phase': 'Failed'}}", "False/BackupFailed"},
        {"nightly", "{'status': {'serverVersion': '11.4.2-MariaDB'}}", "False/ServerMismatch"},
        {"nightly", "{'status': {'flavour': 'mysql', 'serverVersion': '8.4.2'}}", "False/ServerMismatch"},
        {"nightly", "{'status': {'dataBytes': 900000000000}}", "False/VolumeTooSmall"},
        {"nightly@latest", "{'status': {'clusterUid': null}}", "False/BackupUnsuitable"},
        {"nightly@2099-01-01T00:00:00Z", "", "False/TargetNotCovered"},
        {"nightly@2026-11-21T12:00:00Z", "{'status': {'startTime': '2026-11-21T12:01:01Z'}}", "False/BackupTooNew"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static const world_step_fn steps[] = {role_story_settled, wish_in_vain, is_refused, role_story_quiet, NULL};
        struct operator_world *world = operator_world_new();
        snprintf(refused_value, sizeof(refused_value), "%s", rows[i].value);
        snprintf(refused_patch, sizeof(refused_patch), "%s", rows[i].patch);
        snprintf(refused_as, sizeof(refused_as), "%s", rows[i].reason);
        world_put_cluster(world, IN_PLACE_THREE);
        operator_world_run(world, steps);
        assert_untouched(world);
        assert_true(agent_double_is_open(world_agent(world, 0)));
        assert_int_equal(world_agent(world, 0)->lives, 2); /* init and run: nobody was restarted */
        operator_world_free(world);
    }
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_one_restart),
        cmocka_unit_test(test_to_a_time),
        cmocka_unit_test(test_binlogs_of_the_backups_history),
        cmocka_unit_test(test_archive_begins_anew),
        cmocka_unit_test(test_comes_back_on_an_old_volume),
        cmocka_unit_test(test_from_a_volume),
        cmocka_unit_test(test_store_goes_with_the_wish),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_waits_for_a_silent_member),
        cmocka_unit_test(test_waits_until_all_have_stopped),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
