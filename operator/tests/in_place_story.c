/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/in_place_story.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/backup_store_pod.h"
#include "operator/api/names.h"

bool in_place_put_backup(struct operator_world *world)
{
    /* "key1", "secret1" */
    world_put_json(world, PATH_CORE "secrets/keys",
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
        "'data': {'accessKey': 'a2V5MQ==', 'secretKey': 'c2VjcmV0MQ=='}}");
    world_put_json(world, IN_PLACE_BACKUP,
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlBackup', 'metadata': {'name': 'nightly', 'namespace': 'ns1'},"
        "'spec': {'cluster': 'shop'}, 'status': {'phase': 'Completed', 'id': 'b-1', 'gtid': '0-1-40', 'digest': 'd1',"
        "'location': 's3://backups/ns1/shop/backups/b-1', 'rawBytes': 1000, 'dataBytes': 1000, 'flavour': 'mariadb',"
        "'serverVersion': '10.11.4-MariaDB', 'clusterUid': 'u-1', 'destination': {'s3': {'bucket': 'backups',"
        "'endpoint': 'http://127.0.0.1:1', 'credentialsSecret': {'name': 'keys'}}}}}");
    return true;
}

void in_place_annotate(struct operator_world *world, const char *value)
{
    _cleanup_(freep) char *quoted = value ? xasprintf("'%s'", value) : xstrdup("null");
    _cleanup_(freep) char *text =
        xasprintf("{'metadata': {'annotations': {'" ANNOTATION_RESTORE_IN_PLACE "': %s}}}", quoted);
    world_edit_json(world, PATH_CLUSTER, text);
}

bool in_place_wish(struct operator_world *world)
{
    in_place_put_backup(world);
    in_place_annotate(world, "nightly");
    return true;
}

const char *in_place_str(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("restoreInPlace.%s", member);
    return role_story_status(world, path);
}

int64_t in_place_number(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.restoreInPlace.%s", member);
    return world_int(world, PATH_CLUSTER, path);
}

bool in_place_is_completed(struct operator_world *world)
{
    return str_eq(world_condition(world, "RestoredInPlace"), "True/Completed") && world_is_settled(world) &&
        !world_agent(world, 0)->has_before;
}

/* Once more at the end: an operator that dies after it was completed has a successor, which has to look first. */
const world_step_fn in_place_steps[] = {
    role_story_settled, in_place_wish, in_place_is_completed, role_story_quiet, in_place_is_completed, NULL};

static bool wish_the_damaged(struct operator_world *world)
{
    world_agent(world, 0)->restore_fails = "BackupDamaged";
    return in_place_wish(world);
}

static bool is_damaged(struct operator_world *world)
{
    return str_eq(world_condition(world, "RestoredInPlace"), "False/BackupDamaged") && world_is_settled(world) &&
        strstr(in_place_str(world, "message"), "data-000003 is damaged");
}

const world_step_fn in_place_damaged_steps[] = {
    role_story_settled, wish_the_damaged, is_damaged, role_story_quiet, NULL};

/* ---- from a volume ---- */

const char *in_place_store(struct operator_world *world, const char *claim)
{
    static char path[256];
    char name[DERIVED_NAME_SIZE];
    backup_store_pod_name(name, WORLD_CLUSTER, claim, BACKUP_STORE_FOR_RESTORE);
    snprintf(path, sizeof(path), PATH_CORE "pods/%s", name);
    return kube_api_double_get(world->api, path) ? path : NULL;
}

bool in_place_wish_of_volume(struct operator_world *world)
{
    in_place_put_backup(world);
    world_edit_json(world, IN_PLACE_BACKUP,
        "{'status': {'destination': {'s3': null, 'persistentVolumeClaim': {'claimName': 'nas', 'path': 'mysql'}}}}");
    in_place_annotate(world, "nightly");
    return true;
}

/* It is served all the time that this takes. */
bool in_place_waits_for_store(struct operator_world *world)
{
    return in_place_store(world, "nas") && str_eq(in_place_str(world, "phase"), "Resolving") &&
        str_eq(world_condition(world, "RestoredInPlace"), "False/StoreUnavailable") &&
        str_eq(world_condition(world, "Available"), "True/PrimaryReady") &&
        strstr(role_story_status(world, "nextAction"), "which serves the volume") &&
        agent_double_is_open(world_agent(world, 0));
}

static bool store_serves(struct operator_world *world)
{
    const json_t *pod = kube_api_double_get(world->api, in_place_store(world, "nas"));
    assert_true(json_path_bool(pod, "spec.containers[0].volumeMounts[0].readOnly", false));
    world_edit_json(world, in_place_store(world, "nas"),
        "{'status': {'phase': 'Running', 'podIP': '127.9.9.9', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    return true;
}

static bool store_is_gone(struct operator_world *world)
{
    return !in_place_store(world, "nas");
}

const world_step_fn in_place_volume_steps[] = {role_story_settled, in_place_wish_of_volume, in_place_waits_for_store,
    role_story_quiet, in_place_waits_for_store, store_serves, in_place_is_completed, store_is_gone, role_story_quiet,
    NULL};
