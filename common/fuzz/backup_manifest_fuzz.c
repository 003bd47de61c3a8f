/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest and a task of anybody: refused, or whole; and what was accepted is written and read as the same. */
#include "common/base.h"

#include "common/backup_manifest.h"

#include "common/backup_task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void manifest_again(const struct backup_manifest *manifest, const unsigned char *key)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct backup_manifest again;

    strbuf_init(&text, 2 * BACKUP_MANIFEST_MAX);
    backup_manifest_encode(manifest, key, &text);
    if (backup_manifest_decode(text.buf, text.len, key, &again, NULL) < 0)
        abort();
    if (again.piece_count != manifest->piece_count || !position_same(again.gtid, manifest->gtid))
        abort();
    backup_manifest_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct backup_manifest manifest;
    struct backup_task task;

    if (backup_manifest_decode((const char *)data, size, NULL, &manifest, NULL) == 0) {
        if (!manifest.sealed)
            manifest_again(&manifest, NULL);
        backup_manifest_release(&manifest);
    }
    if (backup_task_decode((const char *)data, size, &task, NULL) == 0)
        backup_task_release(&task);
    return 0;
}
