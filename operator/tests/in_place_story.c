/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/in_place_story.h"

#include "common/alloc.h"
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
