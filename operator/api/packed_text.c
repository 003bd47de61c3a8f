/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/packed_text.h"

#include <zstd.h>

#include "common/alloc.h"

/* From here on a higher level costs time and gains nothing for texts of this size. */
#define LEVEL 5

/* What most clusters have in common; the frequent words stand at the end, where the distance to them is short. Nothing
 * breaks when messages change: they are packed less well until they are changed here, too. */
static const char dictionary[] =
    "\"lastSwitchover\":{\"from\":\"to\":\"reason\":\"result\":\"startedAt\":\"transition\":{\"step\":\"seed\":{\"donor\":\"percent\":"
    "\"volumes\":[\"data-\"],\"retainedVolumes\":[\"storageClassName\":\"resources\":{\"requests\":{\"storage\":\"10Gi\"}}"
    "\"type\":\"ChildConflict\"},{\"type\":\"StorageResized\"},{\"type\":\"CertificateExpiring\"},"
    "\"message\":\"nothing is being changed\",\"reason\":\"Settled\",\"message\":\"all members are as wanted\","
    "\"phase\":\"Running\",\"ready\":true,\"role\":\"primary\",\"flavour\":\"mysql\",\"version\":\"8.4\",\"node\":\"node\",\"role\":\"replica\""
    "{\"config\":{\"spec\":{\"images\":{\"mysql\":\"docker.io/library/mysql:8.4\"},\"mycnf\":{\"max_connections\":\"100\"}}},"
    "\"paused\":false,\"replicas\":3,\"storage\":{\"volumeSource\":{\"emptyDir\":{}}}}"
    "{\"appliedGeneration\":1,\"appliedHash\":\"\",\"conditions\":[{\"lastTransitionTime\":\"2026-01-01T00:00:00Z\","
    "\"message\":\"the spec is in force\",\"observedGeneration\":1,\"reason\":\"Accepted\",\"status\":\"True\",\"type\":\"Accepted\"},"
    "{\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"message\":\"-mysql-0 is starting\",\"observedGeneration\":1,"
    "\"reason\":\"Starting\",\"status\":\"True\",\"type\":\"Progressing\"},{\"lastTransitionTime\":\"2026-01-01T00:00:00Z\","
    "\"message\":\"-mysql-0 is not ready\",\"observedGeneration\":1,\"reason\":\"PrimaryNotReady\",\"status\":\"False\","
    "\"type\":\"Available\"},{\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"message\":\"0 of 3 members are ready; -mysql-0 is not\","
    "\"observedGeneration\":1,\"reason\":\"MemberNotReady\",\"status\":\"False\",\"type\":\"Healthy\"},"
    "{\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"message\":\"\",\"observedGeneration\":1,\"reason\":\"\",\"status\":\"False\","
    "\"type\":\"Replicated\"}],\"configSpec\":{\"images\":{\"mysql\":\"docker.io/library/mysql:8.4\"},\"mycnf\":{\"max_connections\":"
    "\"100\"}},\"currentPrimary\":\"\",\"epoch\":1,\"initialized\":true,\"instances\":[{\"name\":\"-mysql-0\",\"ordinal\":0,"
    "\"phase\":\"Pending\",\"ready\":false},{\"name\":\"-mysql-1\",\"ordinal\":1,\"phase\":\"Pending\",\"ready\":false},{\"name\":"
    "\"-mysql-2\",\"ordinal\":2,\"phase\":\"Pending\",\"ready\":false}],\"nextAction\":\"wait until -mysql-0 is ready\","
    "\"observedGeneration\":1,\"readyReplicas\":0,\"replicas\":0,\"selector\":\"kubemysql.dev/cluster=,"
    "app.kubernetes.io/component=database\",\"service\":\"-mysql\",\"servicePrimary\":\"-mysql-primary\",\"serviceReplicas\":"
    "\"-mysql-replicas\",\"state\":\"Healthy\",\"statefulSet\":\"-mysql\",\"storage\":{\"volumeSource\":{\"emptyDir\":{}}},"
    "\"storageVolumeSource\":{\"emptyDir\":{}},\"updatedReplicas\":0}";

/* The context (0.1 MB) is made for each call: texts are packed when an object arrives only. */
static size_t compress(const char *text, size_t len, char *out, size_t out_size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!context)
        return 0;
    size_t n = ZSTD_compress_usingDict(context, out, out_size, text, len, dictionary, sizeof(dictionary) - 1, LEVEL);
    ZSTD_freeCCtx(context);
    return ZSTD_isError(n) ? 0 : n;
}

char *text_pack(const char *text, size_t len, size_t *ret_len)
{
    size_t size = ZSTD_compressBound(len);
    char *packed = xmalloc(size);
    size_t n = compress(text, len, packed, size);
    if (n == 0 || n >= len) { /* as it is: see text_unpack */
        memcpy(packed, text, len);
        n = len;
    }
    *ret_len = n;
    return packed;
}

/* One context (0.1 MB) for the life of the thread: each reconcile unpacks several texts, and to make a context takes
 * longer than to unpack one. */
static bool decompress(const char *packed, size_t packed_len, char *text, size_t len)
{
    static _Thread_local ZSTD_DCtx *context;
    if (!context)
        context = ZSTD_createDCtx();
    if (!context)
        return false;
    size_t n = ZSTD_decompress_usingDict(context, text, len, packed, packed_len, dictionary, sizeof(dictionary) - 1);
    return n == len;
}

char *text_unpack(const char *packed, size_t packed_len, size_t len)
{
    _cleanup_(freep) char *text = xcalloc(1, len + 1);
    if (packed_len == len)
        memcpy(text, packed, len);
    else if (!decompress(packed, packed_len, text, len))
        return NULL;
    return steal_ptr(text);
}
