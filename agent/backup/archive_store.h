/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_store.h: an object store for a process that has nothing else to do: each call waits for its end by turning
 * the loop. Of several calls none is under way at a time but one part of an upload beside what is prepared for the
 * next.
 *
 * `cancelled` ends every wait with ERROR_CANCELLED; what was on its way may or may not take effect.
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_STORE_H
#define KM_AGENT_BACKUP_ARCHIVE_STORE_H

#include "common/base.h"

#include "common/error.h"
#include "common/loop.h"
#include "common/object_store.h"
#include "common/strbuf.h"

struct archive_store {
    struct loop *loop;
    struct object_store *store;
    bool cancelled; /* set from the loop */
};

int archive_store_list(struct archive_store *store, const char *under,
    int (*each)(void *arg, const struct object_entry *entry), void *arg, struct error *err) KM_MUST_CHECK;
int archive_store_get(
    struct archive_store *store, const char *name, size_t max, struct strbuf *out, struct error *err) KM_MUST_CHECK;
int archive_store_put(
    struct archive_store *store, const char *name, const void *data, size_t len, struct error *err) KM_MUST_CHECK;
int archive_store_delete(struct archive_store *store, const char *name, struct error *err) KM_MUST_CHECK;
int archive_store_abort_uploads(struct archive_store *store, const char *under, struct error *err) KM_MUST_CHECK;

/* One object of any size: up to BACKUP_PART_BYTES by one request, more by parts. */
struct archive_upload;
struct archive_upload *archive_upload_new(struct archive_store *store, const char *name);
int archive_upload_add(struct archive_upload *upload, const char *data, size_t len, struct error *err) KM_MUST_CHECK;
/* The object is there. ret_sha256: of all of it. */
int archive_upload_end(
    struct archive_upload *upload, char ret_sha256[static 65], uint64_t *ret_bytes, struct error *err) KM_MUST_CHECK;
/* One that did not end well is aborted as far as the store answers soon. NULL is fine. */
void archive_upload_free(struct archive_upload *upload);
static inline void archive_upload_freep(struct archive_upload **p)
{
    archive_upload_free(*p);
}

#endif
