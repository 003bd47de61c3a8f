/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_destination.h: where backups lie: `destination` of a MysqlBackup, of MysqlCluster.spec.backup and of
 * spec.restoreFrom; and what they are sealed with.
 *
 * The rows of these fields are BACKUP_DESTINATION_FIELDS and BACKUP_ENCRYPTION_FIELDS of field_tables.c, so each kind
 * has them at its own path; the same block of schema stands in each CRD. What one field alone cannot tell is checked
 * here. Pure.
 *
 * All pointers are borrowed from the document that was read. A zeroed struct is "none".
 */
#ifndef KM_BACKUP_DESTINATION_H
#define KM_BACKUP_DESTINATION_H

#include "common/base.h"

#include <jansson.h>

#include "common/strbuf.h"
#include "operator/api/api_problems.h"

/* Bounds of what each kind has beside the destination. */
#define BACKUP_DEADLINE_SECONDS_MIN 10
#define BACKUP_DEADLINE_SECONDS_MAX (30 * 86400)
#define BACKUP_DEADLINE_SECONDS_DEFAULT (6 * 3600)
#define BACKUP_RATE_MIN (64 * KM_KIB)
#define BACKUP_RATE_MAX ((int64_t)(1024 * 1024) * KM_MIB)

enum backup_destination_kind {
    BACKUP_DESTINATION_NONE, /* absent, or not usable: backup_destination_check says why */
    BACKUP_DESTINATION_S3,
    BACKUP_DESTINATION_VOLUME,
};

struct backup_destination {
    enum backup_destination_kind kind;
    /* S3. Texts that were left out are "". */
    const char *bucket, *prefix, *endpoint, *region;
    const char *credentials_secret; /* Secret with accessKey, secretKey, perhaps sessionToken */
    const char *ca_secret, *ca_key; /* Secret and its key with the CA's certificate; NULL: the system's */
    bool path_style;                /* https://host/bucket, not https://bucket.host: the default with an endpoint */
    /* VOLUME */
    const char *claim;  /* a PersistentVolumeClaim of the namespace */
    const char *path;   /* folder in it, without slashes at its ends; "": its top */
    const json_t *size; /* of the claim that is made when there is none; NULL: none is made */
};

/* `json` is the value of the field "destination"; NULL is fine. Never fails: what is not there or of another type is
 * left out. */
void backup_destination_read(const json_t *json, struct backup_destination *ret);
/* Exactly one destination, a CA only where there is TLS. For a `json` whose types are right (api_fields_check); absent
 * is fine. `path`: "spec.destination". Returns 0 or -1. */
int backup_destination_check(const json_t *json, const char *path, struct api_problems *problems);
/* Whether both mean the same objects: Secrets and how the server is reached do not matter. */
bool backup_destination_same_place(const struct backup_destination *a, const struct backup_destination *b);
/* Appends "s3://BUCKET/PREFIX/FOLDER" or "pvc:CLAIM/PATH/FOLDER"; folder NULL: without. */
void backup_destination_location(const struct backup_destination *destination, const char *folder, struct strbuf *out);

/* `encryption`: {keySecret{name, key}}. */
struct backup_encryption {
    const char *secret; /* NULL: not encrypted */
    const char *key;    /* never NULL with a secret */
};
void backup_encryption_read(const json_t *json, struct backup_encryption *ret);

#endif
