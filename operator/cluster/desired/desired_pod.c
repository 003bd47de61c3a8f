/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/pod_security.h"
#include "operator/api/pod_template.h"
#include "operator/api/quantity.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/roll_before.h"

/* A clean shutdown flushes the buffer pool; killing it early costs a crash recovery. */
#define TERMINATION_GRACE_SECONDS 120
/* Of those, kept for the shutdown: the hook that waits for a primary to be moved gives up before. */
#define SHUTDOWN_SECONDS 20

struct mount {
    const char *volume;
    const char *path;
    bool read_only;
};
static const struct mount mount_bin = {"bin", AGENT_BIN_DIR, false}, mount_bin_ro = {"bin", AGENT_BIN_DIR, true},
                          mount_data = {VOLUME_DATA, AGENT_VOLUME_DIR, false},
                          mount_run = {"run", AGENT_RUN_DIR, false}, mount_tmp = {"tmp", "/tmp", false},
                          mount_config = {"config", AGENT_CONFIG_DIR, true},
                          mount_accounts = {"accounts", AGENT_ACCOUNTS_DIR, true},
                          mount_tls = {"tls", AGENT_TLS_DIR, true};

static json_t *mounts(const struct mount *const *list)
{
    json_t *array = json_array();
    for (; *list; list++) {
        json_t *mount = json_build("{s:s, s:s}", "name", (*list)->volume, "mountPath", (*list)->path);
        if ((*list)->read_only)
            json_put_bool(mount, "readOnly", true);
        json_array_append_new(array, mount);
    }
    return array;
}

static json_t *env_field(const char *name, const char *path)
{
    return json_build(
        "{s:s, s:{s:{s:s, s:s}}}", "name", name, "valueFrom", "fieldRef", "apiVersion", "v1", "fieldPath", path);
}

/* What every container of ours has: the restricted Pod Security profile and a read-only root file system. */
static json_t *container(const struct cluster_snapshot *snapshot, const char *name, const char *image, json_t *command,
    const struct mount *const *mount_list)
{
    json_t *object = json_object();
    json_put_str(object, "name", name);
    json_put_str(object, "image", image);
    json_put_str(object, "imagePullPolicy", snapshot->config.image_pull_policy);
    json_put(object, "command", command);
    json_put(object, "volumeMounts", mounts(mount_list));
    json_put(object, "env",
        json_build("[o, o, o]", env_field("POD_NAME", "metadata.name"),
            env_field("POD_NAMESPACE", "metadata.namespace"), env_field("POD_IP", "status.podIP")));
    json_put(object, "securityContext", container_security_context());
    return object;
}

static const char *agent_image(const struct cluster_snapshot *snapshot)
{
    return snapshot->config.image_agent ? snapshot->config.image_agent : snapshot->default_agent_image;
}

static json_t *small_resources(void)
{
    return json_build("{s:{s:s, s:s}, s:{s:s}}", "requests", "cpu", "10m", "memory", "16Mi", "limits", "memory", "64Mi");
}

/* Copies the agent out of its own image, so that it can run in any other. */
static json_t *container_inject(const struct cluster_snapshot *snapshot)
{
    json_t *object = container(snapshot, CONTAINER_INJECT, agent_image(snapshot),
        json_build("[s, s, s]", "/kube-mysql-agent", "copy", AGENT_BIN_DIR),
        (const struct mount *const[]){&mount_bin, NULL});
    json_put(object, "resources", small_resources());
    return object;
}

/* mariabackup runs in this container while another member copies from this one. */
static json_t *agent_resources(void)
{
    return json_build(
        "{s:{s:s, s:s}, s:{s:s}}", "requests", "cpu", "10m", "memory", "32Mi", "limits", "memory", "256Mi");
}

static void put_resources(json_t *object, const json_t *resources)
{
    if (resources)
        json_put(object, "resources", json_deep_copy(resources));
}

/* Nothing needs the port of `init`, and the API server warns that the agent declares the same. But a cluster that
 * has it keeps it: every pod would be replaced. If the set was deleted, its pods tell. */
bool desired_keeps_init_port(const struct cluster_snapshot *snapshot)
{
    if (snapshot->stateful_set)
        return snapshot->stateful_set->init_declares_port;
    for (int i = 0; i < snapshot->member_count; i++)
        if (snapshot->members[i].pod && snapshot->members[i].pod->init_declares_port)
            return true;
    return false;
}

static json_t *container_init(const struct cluster_snapshot *snapshot)
{
    json_t *object =
        container(snapshot, CONTAINER_INIT, snapshot->config.image_mysql, json_build("[s, s]", AGENT_BIN, "init"),
            (const struct mount *const[]){
                &mount_bin_ro, &mount_data, &mount_run, &mount_tmp, &mount_config, &mount_accounts, &mount_tls, NULL});
    /* The server's: preparing a copy is a crash recovery. */
    put_resources(object, snapshot->config.resources);
    if (desired_keeps_init_port(snapshot))
        json_put(object, "ports",
            json_build("[{s:s, s:i, s:s}]", "name", "agent-init", "containerPort", AGENT_PORT_TLS, "protocol", "TCP"));
    return object;
}

static json_t *http_probe(const char *path, int period_s, int timeout_s, int failures)
{
    return json_build("{s:{s:s, s:i, s:s}, s:i, s:i, s:i, s:i}", "httpGet", "path", path, "port", AGENT_PORT_PLAIN,
        "scheme", "HTTP", "periodSeconds", period_s, "timeoutSeconds", timeout_s, "failureThreshold", failures,
        "successThreshold", 1);
}

static json_t *container_mysql(const struct cluster_snapshot *snapshot)
{
    json_t *object =
        container(snapshot, CONTAINER_MYSQL, snapshot->config.image_mysql, json_build("[s, s]", AGENT_BIN, "server"),
            (const struct mount *const[]){
                &mount_bin_ro, &mount_data, &mount_run, &mount_tmp, &mount_config, &mount_tls, NULL});
    json_put(object, "ports",
        json_build("[{s:s, s:i, s:s}]", "name", "mysql", "containerPort", MYSQL_PORT, "protocol", "TCP"));
    /* What a server that cannot start says of its data goes to its log only; from there it comes into the status. */
    json_put_str(object, "terminationMessagePolicy", "FallbackToLogsOnError");
    /* A crash recovery may take hours: until the server has answered once nobody judges it by the clock, the day is
     * only there because the field needs an end. */
    json_put(object, "startupProbe", http_probe("/startup", 1, 5, 86400));
    /* Says nothing more, but a kubelet takes a container that has a startup probe and no readiness probe for ready only
     * when it next looks at the whole pod, up to a minute later:
     * https://github.com/kubernetes/kubernetes/issues/95140 */
    json_put(object, "readinessProbe", http_probe("/startup", 1, 5, 3));
    /* Two minutes without progress by the agent's judgement; a restart of the agent alone takes seconds. */
    json_put(object, "livenessProbe", http_probe("/live", 10, 5, 12));
    put_resources(object, snapshot->config.resources);
    return object;
}

static json_t *container_agent(const struct cluster_snapshot *snapshot)
{
    json_t *object =
        container(snapshot, CONTAINER_AGENT, snapshot->config.image_mysql, json_build("[s, s]", AGENT_BIN, "run"),
            (const struct mount *const[]){
                &mount_bin_ro, &mount_data, &mount_run, &mount_tmp, &mount_config, &mount_accounts, &mount_tls, NULL});
    json_put(object, "ports",
        json_build("[{s:s, s:i, s:s}, {s:s, s:i, s:s}]", "name", "agent-http", "containerPort", AGENT_PORT_PLAIN,
            "protocol", "TCP", "name", "agent", "containerPort", AGENT_PORT_TLS, "protocol", "TCP"));
    json_put(object, "readinessProbe", http_probe("/ready", 1, 2, 2));
    /* The agent's own life, not the server's: does its loop still accept? */
    json_put(object, "livenessProbe",
        json_build("{s:{s:i}, s:i, s:i, s:i}", "tcpSocket", "port", AGENT_PORT_PLAIN, "periodSeconds", 10,
            "timeoutSeconds", 5, "failureThreshold", 6));
    json_put(object, "resources",
        snapshot->config.agent_resources ? json_deep_copy(snapshot->config.agent_resources) : agent_resources());
    return object;
}

static json_t *empty_dir(const char *name)
{
    return json_build("{s:s, s:{}}", "name", name, "emptyDir");
}

static json_t *secret_volume(const char *name, const char *secret)
{
    return json_build("{s:s, s:{s:s, s:i}}", "name", name, "secret", "secretName", secret, "defaultMode", 0440);
}

static json_t *volumes(const struct cluster_snapshot *snapshot)
{
    json_t *list = json_build("[o, o, o, {s:s, s:{s:s, s:i}}, o, o]", empty_dir("bin"), empty_dir("run"),
        empty_dir("tmp"), "name", "config", "configMap", "name", snapshot->names.config_map, "defaultMode", 0444,
        secret_volume("accounts", snapshot->names.accounts), secret_volume("tls", snapshot->names.tls));
    if (snapshot->cluster.storage.volume_source) {
        json_t *data = json_deep_copy(snapshot->cluster.storage.volume_source);
        json_put_str(data, "name", VOLUME_DATA);
        json_array_append_new(list, data);
    }
    return list;
}

/* Members of one cluster rather not on one node. */
static json_t *anti_affinity(const struct cluster_snapshot *snapshot)
{
    return json_build("{s:{s:[{s:i, s:{s:s, s:{s:o}}}]}}", "podAntiAffinity",
        "preferredDuringSchedulingIgnoredDuringExecution", "weight", 100, "podAffinityTerm", "topologyKey",
        "kubernetes.io/hostname", "labelSelector", "matchLabels", cluster_selector_labels(snapshot->name));
}

static json_t *pod_spec_base(const struct cluster_snapshot *snapshot)
{
    json_t *spec = json_object();
    json_put_str(spec, "serviceAccountName", snapshot->names.service_account);
    json_put_bool(spec, "automountServiceAccountToken", false);
    json_put_bool(spec, "enableServiceLinks", false);
    json_put_int(spec, "terminationGracePeriodSeconds", TERMINATION_GRACE_SECONDS);
    json_put(spec, "securityContext", pod_security_context(&snapshot->config));
    if (snapshot->config.image_pull_secrets)
        json_put(spec, "imagePullSecrets", json_deep_copy(snapshot->config.image_pull_secrets));
    return spec;
}

static void put_hook(json_t *spec, const char *container, const char *command, int64_t seconds)
{
    size_t i;
    json_t *object;
    _cleanup_(freep) char *wait = xasprintf("--wait-seconds=%lld", (long long)seconds);
    json_array_foreach(json_object_get(spec, "containers"), i, object) {
        if (!str_eq(json_path_str(object, "name", ""), container))
            continue;
        json_put(object, "lifecycle",
            json_build("{s:{s:{s:[s, s, s]}}}", "preStop", "exec", "command", AGENT_BIN, command, wait));
    }
}

/* A primary is moved before its server is stopped, and the agent stays until then (agent/pre_stop.h). How long there is
 * says the merged template. */
static void put_hooks(json_t *spec)
{
    int64_t grace = MAX_OF(0, json_path_int(spec, "terminationGracePeriodSeconds", TERMINATION_GRACE_SECONDS));
    put_hook(spec, CONTAINER_MYSQL, "pre-stop", MAX_OF(0, MIN_OF(grace, INT32_MAX) - SHUTDOWN_SECONDS));
    put_hook(spec, CONTAINER_AGENT, "linger", MIN_OF(grace, INT32_MAX));
}

/* What kubelet allows a pod to write onto the node's disk, its emptyDirs included, before it evicts it: the sum of the
 * containers' limits. 0: none has one. */
static int64_t ephemeral_limit(const json_t *spec)
{
    size_t i;
    json_t *object;
    int64_t sum = 0;

    json_array_foreach(json_object_get(spec, "containers"), i, object) {
        const json_t *limits = json_path(object, "resources.limits");
        int64_t bytes = 0;
        if (quantity_from_json(json_object_get(limits, "ephemeral-storage"), &bytes) == 0)
            sum += bytes;
    }
    return sum;
}

/* The agent keeps temporary files below that (agent/tmp_room.h). A template without such a limit stays as it is. */
static void put_ephemeral_limit(json_t *spec)
{
    size_t i;
    json_t *object;
    int64_t limit = ephemeral_limit(spec);
    _cleanup_(freep) char *text = xasprintf("%lld", (long long)limit);

    json_array_foreach(json_object_get(spec, "containers"), i, object) {
        json_t *env = json_object_get(object, "env");
        if (limit > 0 && str_eq(json_path_str(object, "name", ""), CONTAINER_AGENT) && json_is_array(env))
            json_array_append_new(env, json_build("{s:s, s:s}", "name", AGENT_ENV_EPHEMERAL, "value", text));
    }
}

json_t *desired_pod_template(const struct cluster_snapshot *snapshot)
{
    if (snapshot->before)
        return json_deep_copy(snapshot->before->template);
    json_t *spec = pod_spec_base(snapshot);
    json_put(spec, "affinity", anti_affinity(snapshot));
    json_put(spec, "initContainers", json_build("[o, o]", container_inject(snapshot), container_init(snapshot)));
    json_put(spec, "containers", json_build("[o, o]", container_mysql(snapshot), container_agent(snapshot)));
    json_put(spec, "volumes", volumes(snapshot));
    json_t *labels = cluster_labels(snapshot->name);
    json_object_update_new(labels, cluster_selector_labels(snapshot->name));
    /* Nothing of my.cnf: servers take up what they can while they run, and who needs a restart gets one
     * (cluster_roll). */
    json_t *template = json_build("{s:{s:o}, s:o}", "metadata", "labels", labels, "spec", spec);
    pod_template_merge(template, snapshot->config.pod_template);
    put_hooks(json_object_get(template, "spec"));
    put_ephemeral_limit(json_object_get(template, "spec"));
    return template;
}

void desired_spec_template_hash(const struct cluster_snapshot *snapshot, char out[static 17])
{
    _cleanup_(json_decrefp) json_t *template = desired_pod_template(snapshot);
    snprintf(out, 17, "%016llx", (unsigned long long)json_hash(template));
}

void desired_runtime_hash(const struct cluster_snapshot *snapshot, char out[static 17])
{
    if (snapshot->before) {
        memcpy(out, snapshot->before->runtime, sizeof(snapshot->before->runtime));
        return;
    }
    const char *parts[] = {snapshot->config.image_mysql, agent_image(snapshot), snapshot->mycnf_hash};
    uint64_t hash = HASH64_INIT;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        hash = hash64(hash, str_or_empty(parts[i]), strlen(str_or_empty(parts[i])) + 1);
    const int64_t numbers[] = {snapshot->config.run_as_user, snapshot->config.run_as_group};
    hash = hash64(hash, numbers, sizeof(numbers));
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
}
