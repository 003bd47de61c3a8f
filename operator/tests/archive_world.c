/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/archive_world.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"

#define BACKUPS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/"
#define BUCKET "backups"

static struct s3_double *s3;

struct s3_double *archive_world_bucket(void)
{
    return s3;
}

void archive_world_put_keys(struct operator_world *world, const char *access_key)
{
    _cleanup_(freep) char *text =
        xasprintf("{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
                  "'data': {'accessKey': '%s', 'secretKey': 'c2VjcmV0MQ=='}}",
            access_key);
    world_put_json(world, PATH_KEYS, text);
}

static char *spec_of_bucket(const char *more)
{
    struct object_target target = s3_double_target(s3);
    return xasprintf("{'destination': {'s3': {'bucket': '" BUCKET "', 'endpoint': '%s', 'pathStyle': true,"
                     "'credentialsSecret': {'name': 'keys'}}}%s}",
        target.endpoint, more);
}

struct operator_world *archive_world_new(int replicas, const char *more)
{
    struct operator_world *world = operator_world_new();
    s3 = s3_double_new(world->loop, BUCKET);
    world->secrets_fresh_ms = 50;
    _cleanup_(freep) char *backup = spec_of_bucket(more);
    _cleanup_(freep) char *text = xasprintf("'replicas': %d, 'backup': %s", replicas, backup);
    archive_world_put_keys(world, "a2V5MQ=="); /* "key1" */
    world_put_cluster(world, text);
    return world;
}

void archive_world_free(struct operator_world *world)
{
    s3_double_free(steal_ptr(s3));
    operator_world_free(world);
}

void archive_world_put_backup(struct operator_world *world, const char *name, const char *gtid, int64_t completed_ms)
{
    char when[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(completed_ms, when);
    const json_t *destination = json_path(kube_api_double_get(world->api, PATH_CLUSTER), "spec.backup.destination");
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", name);
    _cleanup_(json_decrefp) json_t *object =
        json_build("{s:s, s:s, s:{s:s, s:s}, s:{s:s}, s:{s:s, s:s, s:s, s:s, s:s, s:O}}", "apiVersion",
            "kubemysql.dev/v1alpha1", "kind", "MysqlBackup", "metadata", "name", name, "namespace", "ns1", "spec",
            "cluster", "shop", "status", "phase", "Completed", "id", name, "completionTime", when, "clusterUid",
            world_str(world, PATH_CLUSTER, "metadata.uid"), "gtid", gtid, "destination", destination);
    kube_api_double_put(world->api, path, object);
}

bool archive_world_remove_backup(struct operator_world *world, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(BACKUPS "%s", name);
    return kube_api_double_remove(world->api, path);
}
