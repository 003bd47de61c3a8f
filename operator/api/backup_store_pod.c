/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/backup_store_pod.h"

#include "common/agent_api.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/pod_security.h"

/* Earlier versions have the hash behind "store-". */
#define ROLE_OF_PROTOCOL "store-v1-"
#define CLAIM_LABEL_SIZE 9
_Static_assert(AGENT_VOLUME_PROTOCOL == 1, "the protocol is part of the role");

static uint32_t hash_of_claim(const char *claim)
{
    return (uint32_t)hash64(HASH64_INIT, claim, strlen(claim));
}

void backup_store_pod_name(
    char out[static DERIVED_NAME_SIZE], const char *cluster, const char *claim, const char *purpose)
{
    snprintf(out, DERIVED_NAME_SIZE, "%.*s-%s-%08x", CLUSTER_NAME_MAX, cluster, purpose, hash_of_claim(claim));
}

void backup_store_server_name(const char *ns, const char *cluster, const char *pod, struct strbuf *out)
{
    struct cluster_names names;
    cluster_names_init(&names, cluster);
    strbuf_addf(out, "%s.%s.%s.svc", pod, names.service, ns);
}

bool backup_store_pod_is_understood(const char *role)
{
    return str_starts_with(role, ROLE_OF_PROTOCOL);
}

bool backup_store_agent_is_outdated(const struct agent_status *status)
{
    return status->volume_protocol < AGENT_VOLUME_PROTOCOL;
}

void backup_store_say_outdated(const char *member, char *message, size_t size)
{
    snprintf(message, size,
        "the agent of %s is of an earlier version, which the pod in front of the volume does not understand: it goes "
        "on when the member's pod has been replaced (images.agent, if it is set, must be of the operator's version)",
        member);
}

static void claim_label(const struct backup_store_pod *pod, char out[static CLAIM_LABEL_SIZE])
{
    snprintf(out, CLAIM_LABEL_SIZE, "%08x", hash_of_claim(pod->claim));
}

static json_t *metadata_of(const struct backup_store_pod *pod)
{
    char name[DERIVED_NAME_SIZE], claim[CLAIM_LABEL_SIZE];
    json_t *metadata = json_object();
    json_t *labels = cluster_labels(pod->cluster);
    backup_store_pod_name(name, pod->cluster, pod->claim, pod->purpose);
    claim_label(pod, claim);
    json_put_str(labels, LABEL_COMPONENT, LABEL_COMPONENT_BACKUP_STORE);
    json_put_str(labels, LABEL_STORE_CLAIM, claim);
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", pod->ns);
    json_put(metadata, "labels", labels);
    json_put(metadata, "ownerReferences",
        json_build("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", KM_API_GROUP_VERSION, "kind",
            kube_kind_mysql_cluster.kind, "name", pod->cluster, "uid", pod->cluster_uid, "controller", 1,
            "blockOwnerDeletion", 1));
    return metadata;
}

static json_t *probe(const char *path)
{
    return json_build("{s:{s:s, s:i, s:s}, s:i, s:i, s:i, s:i}", "httpGet", "path", path, "port", AGENT_PORT_PLAIN,
        "scheme", "HTTP", "periodSeconds", 1, "timeoutSeconds", 2, "failureThreshold", 10, "successThreshold", 1);
}

/* The operator asks it, too, so it must be of this version, whatever runs beside the servers still. */
static const char *image_of(const struct backup_store_pod *pod)
{
    bool is_earlier = pod->agents_are_outdated && !str_empty(pod->default_agent_image);
    return pod->config->image_agent && !is_earlier ? pod->config->image_agent : pod->default_agent_image;
}

/* A claim that one node mounts at a time may be in use there. Preferred only: others can be mounted anywhere. */
static json_t *affinity_of(const struct backup_store_pod *pod)
{
    char claim[CLAIM_LABEL_SIZE];
    claim_label(pod, claim);
    return json_build("{s:{s:[{s:i, s:{s:s, s:{s:{s:s}}}}]}}", "podAffinity",
        "preferredDuringSchedulingIgnoredDuringExecution", "weight", 100, "podAffinityTerm", "topologyKey",
        "kubernetes.io/hostname", "labelSelector", "matchLabels", LABEL_STORE_CLAIM, claim);
}

/* The agent takes a volume that is mounted so as one that is only read (agent/store.h). */
static bool only_reads(const struct backup_store_pod *pod)
{
    return str_eq(pod->purpose, BACKUP_STORE_FOR_RESTORE);
}

static json_t *container_of_store(const struct backup_store_pod *pod)
{
    const char *image = image_of(pod);
    json_t *container = json_build("{s:s, s:s, s:[s, s, s]}", "name", CONTAINER_STORE, "image", str_or_empty(image),
        "command", "/kube-mysql-agent", "store", "--directory=" BACKUP_STORE_DIRECTORY);
    json_put_str(container, "imagePullPolicy", pod->config->image_pull_policy);
    json_put(container, "ports",
        json_build("[{s:s, s:i, s:s}]", "name", "store", "containerPort", AGENT_PORT_TLS, "protocol", "TCP"));
    json_put(container, "volumeMounts",
        json_build("[{s:s, s:s, s:b}, {s:s, s:s, s:b}]", "name", "backup", "mountPath", BACKUP_STORE_DIRECTORY,
            "readOnly", only_reads(pod), "name", "tls", "mountPath", AGENT_TLS_DIR, "readOnly", 1));
    json_put(container, "env",
        json_build("[{s:s, s:{s:{s:s, s:s}}}]", "name", "POD_IP", "valueFrom", "fieldRef", "apiVersion", "v1",
            "fieldPath", "status.podIP"));
    json_put(container, "resources",
        json_build("{s:{s:s, s:s}, s:{s:s}}", "requests", "cpu", "10m", "memory", "32Mi", "limits", "memory", "256Mi"));
    json_put(container, "readinessProbe", probe("/ready"));
    json_put(container, "livenessProbe", probe("/live"));
    json_put(container, "securityContext", container_security_context());
    return container;
}

json_t *backup_store_pod_manifest(const struct backup_store_pod *pod)
{
    struct cluster_names names;
    cluster_names_init(&names, pod->cluster);
    json_t *metadata = metadata_of(pod);
    json_t *spec = json_build("{s:b, s:b, s:i, s:s, s:o, s:[o]}", "automountServiceAccountToken", 0,
        "enableServiceLinks", 0, "terminationGracePeriodSeconds", 10, "restartPolicy", "Always", "securityContext",
        pod_security_context(pod->config), "containers", container_of_store(pod));
    json_put(spec, "affinity", affinity_of(pod));
    json_put(spec, "volumes",
        json_build("[{s:s, s:{s:s}}, {s:s, s:{s:s, s:i}}]", "name", "backup", "persistentVolumeClaim", "claimName",
            pod->claim, "name", "tls", "secret", "secretName", names.tls, "defaultMode", 0440));
    if (pod->config->image_pull_secrets)
        json_put(spec, "imagePullSecrets", json_deep_copy(pod->config->image_pull_secrets));
    json_t *manifest =
        json_build("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata", metadata, "spec", spec);
    char role[32];
    snprintf(role, sizeof(role), ROLE_OF_PROTOCOL "%016llx", (unsigned long long)json_hash(manifest));
    json_put_str(json_object_get(metadata, "labels"), LABEL_ROLE, role);
    return manifest;
}

json_t *backup_claim_manifest(const char *ns, const char *cluster, const struct backup_destination *destination)
{
    if (!destination->size)
        return NULL;
    return json_build("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:[s], s:{s:{s:o}}}}", "apiVersion", "v1", "kind",
        "PersistentVolumeClaim", "metadata", "name", destination->claim, "namespace", ns, "labels", LABEL_BACKUP_CLAIM,
        cluster, "spec", "accessModes", "ReadWriteOnce", "resources", "requests", "storage",
        json_deep_copy(destination->size));
}
