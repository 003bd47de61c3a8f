/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored_document.h: what the documents that describe stored things have in common (backup_manifest.h,
 * binlog_segment.h): they are understood wholly or refused, nothing in them is cut, and those of sealed things carry a
 * mac. Pure.
 *
 *   format             a number that the reader must know; members that it does not know are refused
 *   salt, keyId, mac   all or none: mac is an HMAC-SHA-256 over the document without it (keys sorted, compact), with a
 *                      key derived from the user's by `mac_info`
 *
 * Errors are ERROR_PROTOCOL and name the member; of the mac and of keys ERROR_FORBIDDEN.
 */
#ifndef KM_COMMON_STORED_DOCUMENT_H
#define KM_COMMON_STORED_DOCUMENT_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"
#include "common/json_fields.h"

#define STORED_KEY_BYTES 32
#define STORED_SALT_BYTES 32
#define STORED_MAC_BYTES 32

struct stored_document_kind {
    int format;
    const char *mac_info;
    const struct json_field *fields;
    size_t field_count;
    const char *const *other_keys; /* beside those of the table, "format", "salt" and "mac" */
    size_t other_count;
};

struct stored_seal {
    bool sealed;
    char key_id[17];
    unsigned char salt[STORED_SALT_BYTES];
};

/* Adds format and the table's members. */
void stored_document_encode(const struct stored_document_kind *kind, const void *record, json_t *document);
/* Adds salt and mac, after everything else: nothing when it is not sealed. */
void stored_document_seal(const struct stored_document_kind *kind, const struct stored_seal *seal,
    const unsigned char *user_key, json_t *document);

/* An object of this format with known members only; fills those of the table. Positions are the document's
 * (json_fields.h). */
int stored_document_decode(
    const struct stored_document_kind *kind, const json_t *document, void *record, struct error *err) KM_MUST_CHECK;
/* key_id: what the document says; fills the others. */
int stored_document_decode_seal(
    const json_t *document, const char *key_id, struct stored_seal *ret, struct error *err) KM_MUST_CHECK;
/* With a key it must be sealed with it and not be altered. Removes "mac" from the document. */
int stored_document_check_mac(const struct stored_document_kind *kind, json_t *document, const struct stored_seal *seal,
    const unsigned char *user_key, struct error *err) KM_MUST_CHECK;

/* One of names, all of which count, [0] too. */
int stored_name_decode(const json_t *document, const char *key, const char *const *names, unsigned count, unsigned *ret,
    struct error *err) KM_MUST_CHECK;
/* Part of the names of objects. */
bool stored_name_ok(const char *text);
/* So many, in lower case. */
bool stored_hex_ok(const char *text, size_t digits);

#endif
