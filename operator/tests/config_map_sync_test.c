/* SPDX-License-Identifier: Apache-2.0 */
/* The whole operator with --enable=configmapsync against the API double: copies come, follow, come back, go, and are
 * refused where somebody does not consent. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/tests/operator_world.h"

#define PATH_SYNC "/apis/kubemysql.dev/v1alpha1/namespaces/home/configmapsyncs/sync"
#define PATH_SOURCE "/api/v1/namespaces/src/configmaps/conf"
#define PATH_COPY "/api/v1/namespaces/dst/configmaps/conf"
#define PATH_HOME_COPY "/api/v1/namespaces/home/configmaps/conf"
#define PATH_SPACE(name) "/api/v1/namespaces/" name

#define SYNC(destinations)                                                                                        \
    "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'ConfigMapSync', 'metadata': {'name': 'sync', 'namespace':" \
    " 'home'}, 'spec': {'sourceNamespace': 'src', 'configMapName': 'conf', " destinations "}}"
#define SOURCE                                                                                                   \
    "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'conf', 'namespace': 'src', 'annotations': " \
    "{'kubemysql.dev/configmapsync-to': 'dst, home'}}, 'data': {'a': '1', 'b': '2'}, 'binaryData': {'c': 'AA=='}}"

static void put_space(struct operator_world *world, const char *name, const char *annotations)
{
    _cleanup_(freep) char *path = xasprintf(PATH_SPACE("%s"), name);
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': '%s', 'annotations': {%s}}}", name, annotations);
    world_put_json(world, path, text);
}

static struct operator_world *sync_world_new(const char *sync)
{
    struct operator_world *world = operator_world_new();
    world->config_map_sync = true;
    put_space(world, "src", "");
    put_space(world, "home", "");
    put_space(world, "dst", "'kubemysql.dev/configmapsync-from': 'src'");
    world_put_json(world, PATH_SOURCE, SOURCE);
    world_put_json(world, PATH_SYNC, sync);
    return world;
}

static const char *ready(struct operator_world *world)
{
    return world_condition_of(world, PATH_SYNC, "Ready");
}

static bool is_there(const struct operator_world *world, const char *path)
{
    return kube_api_double_get(world->api, path) != NULL;
}

static bool are_equal(const struct operator_world *world, const char *path)
{
    const json_t *source = kube_api_double_get(world->api, PATH_SOURCE), *copy = kube_api_double_get(world->api, path);
    return copy && json_equal(json_object_get(source, "data"), json_object_get(copy, "data")) &&
        json_equal(json_object_get(source, "binaryData"), json_object_get(copy, "binaryData"));
}

static bool synced(struct operator_world *world)
{
    return str_eq(ready(world), "True/Synced") && are_equal(world, PATH_COPY);
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

static void run(const char *sync, const world_step_fn *steps)
{
    struct operator_world *world = sync_world_new(sync);
    operator_world_run(world, steps);
    operator_world_free(world);
}

#define TO_DST SYNC("'destinationNamespace': 'dst'")

/* ---- copies ---- */

static bool is_marked(struct operator_world *world)
{
    assert_string_equal(world_str(world, PATH_COPY, "metadata.labels[\"kubemysql.dev/configmapsync\"]"), "home");
    assert_string_equal(
        world_str(world, PATH_COPY, "metadata.annotations[\"kubemysql.dev/configmapsync-of\"]"), "home/sync");
    assert_string_equal(world_str(world, PATH_SYNC, "metadata.finalizers[0]"), "kubemysql.dev/configmapsync");
    assert_int_equal(world_int(world, PATH_SYNC, "status.copies"), 1);
    assert_true(*world_str(world, PATH_SYNC, "status.lastSyncTime"));
    assert_string_equal(world_condition_of(world, PATH_SYNC, "Reconciling"), "False/Settled");
    assert_string_equal(world_condition_of(world, PATH_SYNC, "Stalled"), "False/NotStalled");
    return true;
}

static bool edit_source(struct operator_world *world)
{
    world_edit_json(world, PATH_SOURCE, "{'data': {'a': '3', 'b': null, 'd': '4'}, 'binaryData': null}");
    world->numbers[0] = clock_monotonic_ms();
    return true;
}

static bool follows_within_a_second(struct operator_world *world)
{
    if (world_int(world, PATH_COPY, "data") || !str_eq(world_str(world, PATH_COPY, "data.d"), "4"))
        return false;
    assert_in_range(clock_monotonic_ms() - world->numbers[0], 0, 1000);
    assert_null(json_path(kube_api_double_get(world->api, PATH_COPY), "data.b"));
    assert_int_equal(json_object_size(json_path(kube_api_double_get(world->api, PATH_COPY), "binaryData")), 0);
    return true;
}

static void a_copy_comes_and_follows(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, quiet, is_marked, edit_source, follows_within_a_second, quiet, NULL};
    run(TO_DST, steps);
}

static bool edit_copy(struct operator_world *world)
{
    world_edit_json(world, PATH_COPY, "{'data': {'a': 'mine', 'x': 'more'}}");
    return true;
}

static bool remove_copy(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_COPY);
    return true;
}

static void a_copy_that_is_spoilt_or_deleted_comes_back(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, quiet, edit_copy, synced, quiet, remove_copy, synced, quiet, NULL};
    run(TO_DST, steps);
}

static bool note_writes(struct operator_world *world)
{
    world->looks_before = kube_api_double_writes(world->api);
    return true;
}

static bool kill_it(struct operator_world *world)
{
    world_kill_operator(world);
    return true;
}

static bool leads_again(struct operator_world *world)
{
    return !world->is_dead && kube_api_double_watches(world->api) > 8;
}

/* Digests tell a new operator that nothing is to be done. */
static bool nothing_was_written(struct operator_world *world)
{
    assert_int_equal(kube_api_double_writes(world->api), world->looks_before);
    return true;
}

static void a_restart_writes_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        synced, quiet, note_writes, kill_it, leads_again, quiet, nothing_was_written, NULL};
    run(TO_DST, steps);
}

/* ---- the source ---- */

static bool remove_source(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_SOURCE);
    return true;
}

static bool source_is_missed(struct operator_world *world)
{
    return str_eq(ready(world), "False/SourceNotFound") && is_there(world, PATH_COPY) &&
        str_eq(world_condition_of(world, PATH_SYNC, "Reconciling"), "True/SourceNotFound");
}

static bool make_source(struct operator_world *world)
{
    world_put_json(world, PATH_SOURCE, SOURCE);
    world_edit_json(world, PATH_SOURCE, "{'data': {'a': 'anew'}}");
    return true;
}

static void without_a_source_the_copy_stays(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, quiet, remove_source, source_is_missed, make_source, synced, NULL};
    run(TO_DST, steps);
}

/* ---- consent ---- */

static bool refused(struct operator_world *world)
{
    return str_eq(ready(world), "False/NotAllowed") && !is_there(world, PATH_COPY) &&
        str_eq(world_condition_of(world, PATH_SYNC, "Stalled"), "True/NotAllowed");
}

static bool source_takes_back(struct operator_world *world)
{
    world_edit_json(world, PATH_SOURCE, "{'metadata': {'annotations': {'kubemysql.dev/configmapsync-to': 'others'}}}");
    return true;
}

static bool source_consents(struct operator_world *world)
{
    world_edit_json(world, PATH_SOURCE, "{'metadata': {'annotations': {'kubemysql.dev/configmapsync-to': '*'}}}");
    return true;
}

static bool destination_takes_back(struct operator_world *world)
{
    world_edit_json(
        world, PATH_SPACE("dst"), "{'metadata': {'annotations': {'kubemysql.dev/configmapsync-from': 'others'}}}");
    return true;
}

static bool destination_consents(struct operator_world *world)
{
    world_edit_json(
        world, PATH_SPACE("dst"), "{'metadata': {'annotations': {'kubemysql.dev/configmapsync-from': '*'}}}");
    return true;
}

static void both_sides_consent_or_there_is_no_copy(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, source_takes_back, refused, quiet, source_consents, synced,
        destination_takes_back, refused, quiet, destination_consents, synced, NULL};
    run(TO_DST, steps);
}

static bool home_is_synced(struct operator_world *world)
{
    return str_eq(ready(world), "True/Synced") && are_equal(world, PATH_HOME_COPY);
}

static void into_its_own_namespace_the_source_alone_consents(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {home_is_synced, quiet, NULL};
    run(SYNC("'destinationNamespace': 'home'"), steps);
}

static void without_consent_nobody_is_asked(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, quiet, NULL};
    struct operator_world *world = sync_world_new(TO_DST);
    world->sync_without_consent = true;
    source_takes_back(world);
    destination_takes_back(world);
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool is_of_the_system(struct operator_world *world)
{
    return str_eq(ready(world), "False/SystemNamespace") && kube_api_double_count(world->api, "/api/v1/configmaps") == 1;
}

static bool is_invalid(struct operator_world *world)
{
    return str_eq(ready(world), "False/InvalidSpec") && kube_api_double_count(world->api, "/api/v1/configmaps") == 1;
}

/* The CRD refuses kube-...; where it is not asked the operator does. */
static void never_into_system_namespaces(void **state)
{
    UNUSED(state);
    static const world_step_fn operators_own[] = {is_of_the_system, quiet, NULL};
    static const world_step_fn kubernetes[] = {is_invalid, quiet, NULL};
    struct operator_world *world = sync_world_new(SYNC("'destinationNamespace': 'op'"));
    world->sync_without_consent = true;
    put_space(world, "op", "'kubemysql.dev/configmapsync-from': '*'");
    operator_world_run(world, operators_own);
    operator_world_free(world);
    world = sync_world_new(SYNC("'destinationNamespace': 'kube-system'"));
    world->sync_without_consent = true;
    put_space(world, "kube-system", "'kubemysql.dev/configmapsync-from': '*'");
    operator_world_run(world, kubernetes);
    operator_world_free(world);
}

/* ---- objects of others ---- */

#define FOREIGN \
    "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'conf', 'namespace': 'dst'}, 'data': {'mine': '1'}}"

static bool conflict_is_told(struct operator_world *world)
{
    return str_eq(ready(world), "False/ForeignObject");
}

static bool foreign_stands(struct operator_world *world)
{
    assert_string_equal(world_str(world, PATH_COPY, "data.mine"), "1");
    return true;
}

static void a_foreign_config_map_is_not_taken_over(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {conflict_is_told, quiet, foreign_stands, remove_copy, synced, NULL};
    struct operator_world *world = sync_world_new(TO_DST);
    world_put_json(world, PATH_COPY, FOREIGN);
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- destinations ---- */

static bool move(struct operator_world *world)
{
    world_edit_json(world, PATH_SYNC, "{'spec': {'destinationNamespace': 'home'}}");
    return true;
}

static bool moved(struct operator_world *world)
{
    return home_is_synced(world) && !is_there(world, PATH_COPY) && world_int(world, PATH_SYNC, "status.copies") == 1;
}

static void a_destination_that_is_named_no_more_loses_its_copy(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, move, moved, quiet, NULL};
    run(TO_DST, steps);
}

static bool label_space(struct operator_world *world)
{
    world_edit_json(world, PATH_SPACE("dst"), "{'metadata': {'labels': {'team': 'x'}}}");
    return true;
}

static bool unlabel_space(struct operator_world *world)
{
    world_edit_json(world, PATH_SPACE("dst"), "{'metadata': {'labels': {'team': 'y'}}}");
    return true;
}

static bool has_no_copy(struct operator_world *world)
{
    return str_eq(ready(world), "True/Synced") && !is_there(world, PATH_COPY) &&
        world_int(world, PATH_SYNC, "status.copies") == 0;
}

static void a_selector_follows_the_labels(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {has_no_copy, label_space, synced, quiet, unlabel_space, has_no_copy, NULL};
    run(SYNC("'namespaceSelector': {'matchLabels': {'team': 'x'}}"), steps);
}

static bool space_is_missed(struct operator_world *world)
{
    return str_eq(ready(world), "False/NamespaceNotFound");
}

static bool make_space(struct operator_world *world)
{
    put_space(world, "late", "'kubemysql.dev/configmapsync-from': 'src'");
    return true;
}

static bool late_is_synced(struct operator_world *world)
{
    return str_eq(ready(world), "True/Synced") && are_equal(world, "/api/v1/namespaces/late/configmaps/conf");
}

static void a_namespace_may_come_later(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {space_is_missed, quiet, make_space, late_is_synced, NULL};
    struct operator_world *world = sync_world_new(SYNC("'destinationNamespaces': ['late']"));
    source_consents(world);
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- the end ---- */

static bool delete_sync(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_SYNC);
    return true;
}

static bool all_is_gone(struct operator_world *world)
{
    return !is_there(world, PATH_SYNC) && !is_there(world, PATH_COPY) && !is_there(world, PATH_HOME_COPY);
}

static bool source_stands(struct operator_world *world)
{
    return is_there(world, PATH_SOURCE);
}

static void deletion_takes_the_copies_along(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, delete_sync, all_is_gone, source_stands, quiet, NULL};
    run(SYNC("'destinationNamespaces': ['dst', 'home']"), steps);
}

/* Killed after each of its writes it ends in the same world. */
static void a_killed_operator_loses_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {synced, delete_sync, all_is_gone, source_stands, NULL};
    for (size_t i = 1; i <= 6; i++) {
        struct operator_world *world = sync_world_new(SYNC("'destinationNamespaces': ['dst', 'home']"));
        world->kill_after = i;
        operator_world_run(world, steps);
        operator_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_comes_and_follows),
        cmocka_unit_test(a_copy_that_is_spoilt_or_deleted_comes_back),
        cmocka_unit_test(a_restart_writes_nothing),
        cmocka_unit_test(without_a_source_the_copy_stays),
        cmocka_unit_test(both_sides_consent_or_there_is_no_copy),
        cmocka_unit_test(into_its_own_namespace_the_source_alone_consents),
        cmocka_unit_test(without_consent_nobody_is_asked),
        cmocka_unit_test(never_into_system_namespaces),
        cmocka_unit_test(a_foreign_config_map_is_not_taken_over),
        cmocka_unit_test(a_destination_that_is_named_no_more_loses_its_copy),
        cmocka_unit_test(a_selector_follows_the_labels),
        cmocka_unit_test(a_namespace_may_come_later),
        cmocka_unit_test(deletion_takes_the_copies_along),
        cmocka_unit_test(a_killed_operator_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
