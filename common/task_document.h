/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_document.h: what tasks have in common (backup_task.h, archive_task.h): a key, and texts that are whole or
 * refused. Pure.
 *
 * Secrets are in them: what holds one is wiped. Errors are ERROR_INVALID and name the member, never its value.
 */
#ifndef KM_COMMON_TASK_DOCUMENT_H
#define KM_COMMON_TASK_DOCUMENT_H

#include "common/base.h"

#include <jansson.h>

#include "common/backup_manifest.h"
#include "common/error.h"
#include "common/json_fields.h"

/* Longer than any real one: names of buckets have 63, keys of AWS' sessions about 1,000 bytes. */
#define TASK_TEXT_MAX 8192

/* For _cleanup_: wipes every text in it, then drops it. */
void task_document_drop(json_t **document);

/* The member "key". */
void task_key_encode(json_t *document, const unsigned char key[static BACKUP_KEY_BYTES]);
int task_key_decode(const json_t *document, bool *ret_sealed, unsigned char ret[static BACKUP_KEY_BYTES],
    struct error *err) KM_MUST_CHECK;
int task_text_decode(const json_t *document, const char *key, size_t max, char **ret, struct error *err) KM_MUST_CHECK;
/* Absent: the first of names. */
int task_name_decode(const json_t *document, const char *key, const char *const *names, unsigned count, unsigned *ret,
    struct error *err) KM_MUST_CHECK;
/* No text of the table is longer than its member. */
int task_lengths_check(
    const struct json_field *fields, size_t count, const json_t *document, struct error *err) KM_MUST_CHECK;
/* Part of the names of objects: "..", "//" or a slash at an end would lead elsewhere. */
bool task_path_ok(const char *text, bool slashes);

#endif
