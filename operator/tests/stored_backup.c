/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/stored_backup.h"

#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/backup_seal.h"
#include "common/tls.h"

void stored_backup_put(struct bucket_double *s3, struct agent_double *agent)
{
    struct backup_manifest manifest = {.method = BACKUP_METHOD_PHYSICAL,
        .stream = STREAM_METHOD_XBSTREAM,
        .started_ms = 1,
        .completed_ms = 2000,
        .data_bytes = 99,
        .raw_bytes = 20,
        .stored_bytes = 10,
        .part_bytes = BACKUP_PART_BYTES,
        .piece_bytes = BACKUP_PIECE_BYTES,
        .sealed = agent->backup_task.sealed};
    struct strbuf text;
    const struct backup_task *task = &agent->backup_task;
    snprintf(manifest.id, sizeof(manifest.id), "%s", task->id);
    snprintf(manifest.ns, sizeof(manifest.ns), "ns1");
    snprintf(manifest.cluster, sizeof(manifest.cluster), "shop");
    snprintf(manifest.cluster_uid, sizeof(manifest.cluster_uid), "%s", task->cluster_uid);
    snprintf(manifest.flavour, sizeof(manifest.flavour), "mariadb");
    snprintf(manifest.server_version, sizeof(manifest.server_version), "10.11.6-MariaDB");
    snprintf(manifest.donor, sizeof(manifest.donor), "%s", agent->name);
    manifest.gtid = "0-1-17";
    if (task->sealed)
        backup_key_id(task->key, manifest.key_id);
    backup_manifest_add_piece(&manifest, 10, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    strbuf_init(&text, BACKUP_MANIFEST_MAX);
    backup_manifest_encode(&manifest, task->sealed ? task->key : NULL, &text);
    tls_sha256_hex(text.buf, text.len, agent->backup.digest);
    const char *prefix = str_or_empty(task->store.prefix), *slash = *prefix ? "/" : "";
    _cleanup_(freep) char *piece = xasprintf("%s%s%s/data-000001", prefix, slash, task->folder);
    _cleanup_(freep) char *name = xasprintf("%s%s%s/" BACKUP_MANIFEST_NAME, prefix, slash, task->folder);
    bucket_double_put(s3, piece, "ten bytes!");
    bucket_double_put(s3, name, text.buf);
    strbuf_release(&text);
    backup_manifest_release(&manifest);
    agent->backup.state = BACKUP_STATE_COMPLETED;
    agent->backup.completed_ms = 2000;
}
