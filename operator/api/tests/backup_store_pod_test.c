/* SPDX-License-Identifier: Apache-2.0 */
/* The pod in front of a volume: its names, and what it may and may not do. */
#include "common/base.h"

#include "operator/api/backup_store_pod.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

static void names(void **state)
{
    UNUSED(state);
    char one[DERIVED_NAME_SIZE], other[DERIVED_NAME_SIZE], restore[DERIVED_NAME_SIZE];
    backup_store_pod_name(one, "shop", "vol", BACKUP_STORE_FOR_BACKUPS);
    backup_store_pod_name(other, "shop", "vol2", BACKUP_STORE_FOR_BACKUPS);
    backup_store_pod_name(restore, "shop", "vol", BACKUP_STORE_FOR_RESTORE);
    assert_true(str_starts_with(one, "shop-store-"));
    assert_string_not_equal(one, other);
    assert_string_not_equal(one, restore);
    /* The longest name of a cluster: whole, and a host name. */
    backup_store_pod_name(one, "a123456789012345678901234567890123456789012345", "vol", BACKUP_STORE_FOR_RESTORE);
    assert_int_equal(strlen(one), 46 + strlen("-rstore-") + 8);
    struct strbuf text;
    strbuf_init(&text, 256);
    backup_store_server_name("ns1", "shop", "shop-store-1", &text);
    assert_string_equal(text.buf, "shop-store-1.shop-mysql.ns1.svc");
    strbuf_release(&text);
}

static json_t *make_for(const char *purpose, const char *cluster, const char *claim, const char *image)
{
    struct mysql_config_spec config = {0};
    json_t *document = json_parse("{\"images\": {\"mysql\": \"m:1\", \"imagePullSecrets\": [{\"name\": \"pull\"}]}}",
        strlen("{\"images\": {\"mysql\": \"m:1\", \"imagePullSecrets\": [{\"name\": \"pull\"}]}}"), NULL);
    assert_non_null(document);
    mysql_config_spec_read(document, &config);
    const struct backup_store_pod pod = {"ns1", cluster, "uid-1", claim, purpose, &config, image, false};
    json_t *manifest = backup_store_pod_manifest(&pod);
    mysql_config_spec_release(&config);
    json_decref(document);
    return manifest;
}

static json_t *make(const char *claim, const char *image)
{
    return make_for(BACKUP_STORE_FOR_BACKUPS, "shop", claim, image);
}

/* A restore reads beside whoever writes: without a way to write itself, and where a claim of one node is. */
static void of_a_restore(void **state)
{
    UNUSED(state);
    static const char mount[] = "spec.containers[0].volumeMounts[0].readOnly", label[] = "kubemysql.dev/store-claim",
                      own[] = "metadata.labels[\"kubemysql.dev/store-claim\"]",
                      terms[] =
                          "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm";
    _cleanup_(json_decrefp) json_t *archive = make("vol", "agent:1");
    _cleanup_(json_decrefp) json_t *restore = make_for(BACKUP_STORE_FOR_RESTORE, "second", "vol", "agent:1");
    _cleanup_(json_decrefp) json_t *elsewhere = make_for(BACKUP_STORE_FOR_RESTORE, "second", "vol2", "agent:1");
    assert_false(json_path_bool(archive, mount, false));
    assert_true(json_path_bool(restore, mount, false));
    assert_string_equal(json_path_str(restore, "spec.containers[0].volumeMounts[0].mountPath", ""), "/backup");
    assert_string_equal(json_path_str(archive, own, "-"), json_path_str(restore, own, ""));
    assert_string_not_equal(json_path_str(archive, own, ""), json_path_str(elsewhere, own, ""));
    const json_t *term = json_path(restore, terms);
    assert_string_equal(json_path_str(term, "topologyKey", ""), "kubernetes.io/hostname");
    assert_string_equal(json_string_value(json_object_get(json_path(term, "labelSelector.matchLabels"), label)),
        json_path_str(archive, own, ""));
}

static void manifest(void **state)
{
    UNUSED(state);
    static const struct {
        const char *path, *value;
    } texts[] = {
        {"metadata.labels[\"app.kubernetes.io/component\"]", "backup-store"},
        {"metadata.labels[\"kubemysql.dev/cluster\"]", "shop"},
        {"metadata.labels[\"app.kubernetes.io/managed-by\"]", "kube-mysql"},
        {"metadata.ownerReferences[0].uid", "uid-1"},
        {"metadata.ownerReferences[0].kind", "MysqlCluster"},
        {"spec.containers[0].image", "agent:1"},
        {"spec.containers[0].command[1]", "store"},
        {"spec.containers[0].command[2]", "--directory=/backup"},
        {"spec.containers[0].readinessProbe.httpGet.path", "/ready"},
        {"spec.containers[0].securityContext.capabilities.drop[0]", "ALL"},
        {"spec.securityContext.seccompProfile.type", "RuntimeDefault"},
        {"spec.volumes[0].persistentVolumeClaim.claimName", "vol"},
        {"spec.volumes[1].secret.secretName", "shop-mysql-tls"},
        {"spec.imagePullSecrets[0].name", "pull"},
    };
    _cleanup_(json_decrefp) json_t *pod = make("vol", "agent:1");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_string_equal(json_path_str(pod, texts[i].path, ""), texts[i].value);
    assert_false(json_path_bool(pod, "spec.automountServiceAccountToken", true));
    assert_true(json_path_bool(pod, "spec.securityContext.runAsNonRoot", false));
    assert_true(json_path_bool(pod, "spec.containers[0].securityContext.readOnlyRootFilesystem", false));
    assert_false(json_path_bool(pod, "spec.containers[0].securityContext.allowPrivilegeEscalation", true));
}

static void is_made_of(bool outdated, const char *configured, const char *own, const char *wanted)
{
    struct mysql_config_spec config = {0};
    _cleanup_(json_decrefp) json_t *document = json_build("{s:{s:s}}", "images", "mysql", "m:1");
    if (configured)
        json_put_str(json_object_get(document, "images"), "agent", configured);
    mysql_config_spec_read(document, &config);
    const struct backup_store_pod pod = {.ns = "ns1",
        .cluster = "shop",
        .cluster_uid = "uid-1",
        .claim = "vol",
        .purpose = BACKUP_STORE_FOR_BACKUPS,
        .config = &config,
        .default_agent_image = own,
        .agents_are_outdated = outdated};
    _cleanup_(json_decrefp) json_t *manifest = backup_store_pod_manifest(&pod);
    assert_string_equal(json_path_str(manifest, "spec.containers[0].image", ""), wanted);
    mysql_config_spec_release(&config);
}

/* The operator asks the pod, too. */
static void is_of_the_operators_version_while_agents_are_older(void **state)
{
    UNUSED(state);
    is_made_of(false, NULL, "agent:2", "agent:2");
    is_made_of(false, "agent:1", "agent:2", "agent:1");
    is_made_of(true, "agent:1", "agent:2", "agent:2");
    is_made_of(true, "agent:1", "", "agent:1");
    is_made_of(true, NULL, "agent:2", "agent:2");
}

/* Nothing by which we would find it again, and nobody who takes it along. */
static void claim(void **state)
{
    UNUSED(state);
    static const char text[] =
        "{\"persistentVolumeClaim\": {\"claimName\": \"vol\", \"path\": \"/a\", \"size\": \"5Gi\"}}";
    static const char wanted[] = "{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\","
                                 "\"metadata\": {\"name\": \"vol\", \"namespace\": \"ns1\","
                                 "\"labels\": {\"kubemysql.dev/backup-claim\": \"shop\"}},"
                                 "\"spec\": {\"accessModes\": [\"ReadWriteOnce\"],"
                                 "\"resources\": {\"requests\": {\"storage\": \"5Gi\"}}}}";
    struct backup_destination destination;
    _cleanup_(json_decrefp) json_t *json = json_parse(text, strlen(text), NULL);
    _cleanup_(json_decrefp) json_t *expected = json_parse(wanted, strlen(wanted), NULL);
    backup_destination_read(json, &destination);
    _cleanup_(json_decrefp) json_t *got = backup_claim_manifest("ns1", "shop", &destination);
    assert_true(json_equal(got, expected));
    destination.size = NULL;
    assert_null(backup_claim_manifest("ns1", "shop", &destination));
}

/* Equal wishes give equal hashes, others do not. */
static void hash(void **state)
{
    UNUSED(state);
    static const char path[] = "metadata.labels[\"kubemysql.dev/role\"]";
    _cleanup_(json_decrefp) json_t *one = make("vol", "agent:1");
    _cleanup_(json_decrefp) json_t *same = make("vol", "agent:1");
    _cleanup_(json_decrefp) json_t *other = make("vol", "agent:2");
    assert_true(str_starts_with(json_path_str(one, path, ""), "store-"));
    assert_true(backup_store_pod_is_understood(json_path_str(one, path, "")));
    assert_false(backup_store_pod_is_understood("store-0123456789abcdef")); /* earlier versions */
    assert_false(backup_store_pod_is_understood(""));
    assert_string_equal(json_path_str(one, path, ""), json_path_str(same, path, ""));
    assert_string_not_equal(json_path_str(one, path, ""), json_path_str(other, path, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(manifest),
        cmocka_unit_test(of_a_restore),
        cmocka_unit_test(is_of_the_operators_version_while_agents_are_older),
        cmocka_unit_test(claim),
        cmocka_unit_test(hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
