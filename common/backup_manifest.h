/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_manifest.h: what a stored backup is: its folder, its pieces, the one object that makes it exist. Pure.
 *
 *   FOLDER/manifest.json     written last, removed first: without it there is no backup, whatever else lies there
 *   FOLDER/data-000001 …     the pieces: one stream, cut every piece_bytes; each an object of parts of part_bytes
 *
 * FOLDER is NAMESPACE/CLUSTER/backups/ID below the destination's prefix. IDs are unique and sort by time:
 * 20261121T204512Z-NAME-ATTEMPT.
 *
 *   stream               = the tool's own bytes (xbstream, SQL, tar), then compressed (one zstd frame with content
 *                          checksum), then sealed (backup_seal.h)
 *   digest of a piece    = SHA-256 over the 32-byte SHA-256 of each of its parts, in order: each byte is hashed once,
 *                          for the request's signature and for this
 *   digest of a backup   = SHA-256 of manifest.json as stored
 *
 * A sealed backup's manifest carries `mac`, an HMAC-SHA-256 with a key derived from the user's, over the document
 * without it (keys sorted, compact): pieces cannot be swapped between backups, nor its position changed, by somebody
 * who has not the key. Readers refuse a manifest that they do not understand wholly (`format`).
 */
#ifndef KM_COMMON_BACKUP_MANIFEST_H
#define KM_COMMON_BACKUP_MANIFEST_H

#include "common/base.h"

#include "common/agent_order.h"
#include "common/error.h"
#include "common/frame_stream.h"
#include "common/position.h"
#include "common/stored_document.h"
#include "common/strbuf.h"

#define BACKUP_MANIFEST_NAME "manifest.json"
#define BACKUP_MANIFEST_MAX (4 * KM_MIB)
#define BACKUP_FORMAT 1
#define BACKUP_ID_SIZE 128
#define BACKUP_PIECES_MAX 20000
#define BACKUP_PART_BYTES (5 * KM_MIB)                 /* also the largest amount that waits for an upload */
#define BACKUP_PIECE_BYTES ((uint64_t)(1024 * KM_MIB)) /* less than OBJECT_PARTS_MAX parts */
#define BACKUP_KEY_BYTES STORED_KEY_BYTES
#define BACKUP_SALT_BYTES STORED_SALT_BYTES

enum backup_method { BACKUP_METHOD_PHYSICAL, BACKUP_METHOD_LOGICAL, BACKUP_METHOD_COUNT };
enum backup_compression { BACKUP_COMPRESSION_ZSTD, BACKUP_COMPRESSION_NONE, BACKUP_COMPRESSION_COUNT };
extern const char *const backup_method_names[BACKUP_METHOD_COUNT];           /* "physical", "logical" */
extern const char *const backup_compression_names[BACKUP_COMPRESSION_COUNT]; /* "zstd", "none" */

struct backup_piece {
    uint64_t bytes;
    char sha256[65];
};

struct backup_manifest {
    char id[BACKUP_ID_SIZE];
    char ns[64], cluster[64];
    char cluster_uid[64];
    enum backup_method method;
    enum stream_method stream; /* what the bytes are: who can unpack them */
    enum backup_compression compression;
    bool sealed;
    char key_id[17];                       /* sealed: names the user's key without telling it (backup_seal.h) */
    unsigned char salt[BACKUP_SALT_BYTES]; /* sealed: of this backup's own key */
    char flavour[16];                      /* agent_flavour_name */
    char server_version[64];
    char donor[64];
    int64_t started_ms, completed_ms;
    const char *gtid;                /* the position that it stands for; NULL counts as "" */
    struct position_pool *positions; /* holds that, if it was decoded; owned */
    uint64_t data_bytes;             /* as restored files, about: what a volume must have room for */
    uint64_t raw_bytes;              /* of the tool's stream */
    uint64_t stored_bytes;
    uint64_t part_bytes, piece_bytes;
    size_t piece_count;
    struct backup_piece *pieces; /* owned */
};

void backup_manifest_release(struct backup_manifest *manifest);
void backup_manifest_add_piece(struct backup_manifest *manifest, uint64_t bytes, const char *sha256);
/* user_key: of a sealed one; else NULL. */
void backup_manifest_encode(
    const struct backup_manifest *manifest, const unsigned char user_key[BACKUP_KEY_BYTES], struct strbuf *out);
/* Checks everything that can be checked without the key: sums of sizes, names, limits. ERROR_PROTOCOL names the member.
 * With user_key also the mac: ERROR_FORBIDDEN when it is another key's (by key_id) or the manifest was altered. *ret
 * must be released in any case of success. */
int backup_manifest_decode(const char *text, size_t len, const unsigned char user_key[BACKUP_KEY_BYTES],
    struct backup_manifest *ret, struct error *err) KM_MUST_CHECK;
/* "data-000001" for index 0. */
void backup_piece_name(size_t index, char out[static 16]);
/* "20261121T204512Z-NAME-1"; name is cut to fit. */
void backup_id_make(int64_t now_ms, const char *name, unsigned attempt, char out[static BACKUP_ID_SIZE]);
/* "NAMESPACE/CLUSTER/backups/" and "NAMESPACE/CLUSTER/backups/ID". */
void backup_folder_of(const char *ns, const char *cluster, const char *id, struct strbuf *out);

#endif
