/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_seal.h: authenticated encryption of a stream of any length, AES-256-GCM in frames (the STREAM construction of
 * Hoang, Reyhanitabar, Rogaway, Vizár 2015).
 *
 *   key of a stream = HKDF-SHA-256(user's key, salt: 32 random bytes of this stream, info "kube-mysql backup 1")
 *             RFC 5869
 *   stream  = frame*: all are full (SEAL_FRAME_MAX bytes of text) but the last one, which may be empty: so its length
 *             marks it
 *   frame   = length (4 bytes, big endian: of the sealed text without tag) ciphertext tag (16 bytes)
 *   nonce   = counter (8 bytes, big endian, from 0), 3 zero bytes, 1 if it is the last frame else 0
 *
 * So a frame that is changed, left out, repeated, moved, of another stream, or behind the end is refused, and so is an
 * end without the last frame. Pure but for the random salt, which the caller makes. Frames hold SEAL_FRAME_MAX bytes,
 * so a reader holds no more than that of what is not authenticated.
 */
#ifndef KM_COMMON_BACKUP_SEAL_H
#define KM_COMMON_BACKUP_SEAL_H

#include "common/base.h"

#include "common/backup_manifest.h"
#include "common/error.h"
#include "common/strbuf.h"

#define SEAL_FRAME_MAX (64 * KM_KIB)
#define SEAL_OVERHEAD 20

/* A key as users keep it in a Secret: 32 bytes, or those in hex or base64, white space around ignored. ERROR_INVALID
 * says what is wrong, without the key. */
int backup_key_parse(
    const char *text, size_t len, unsigned char ret[static BACKUP_KEY_BYTES], struct error *err) KM_MUST_CHECK;
/* First 16 hex digits of HMAC-SHA-256(key, "kube-mysql key id"): tells keys apart and nothing else. */
void backup_key_id(const unsigned char key[static BACKUP_KEY_BYTES], char out[static 17]);

/* HKDF-SHA-256: the key for one use, which `info` names. Wipe it. */
void backup_key_derive(const unsigned char user_key[static BACKUP_KEY_BYTES],
    const unsigned char salt[static BACKUP_SALT_BYTES], const char *info, unsigned char ret[static BACKUP_KEY_BYTES]);

struct seal_writer;
struct seal_writer *seal_writer_new(
    const unsigned char key[static BACKUP_KEY_BYTES], const unsigned char salt[static BACKUP_SALT_BYTES]);
void seal_writer_free(struct seal_writer *writer); /* wipes the key; NULL is fine */
/* Appends whole frames; what does not fill one waits. */
void seal_writer_add(struct seal_writer *writer, const void *data, size_t len, struct strbuf *out);
void seal_writer_end(struct seal_writer *writer, struct strbuf *out);

struct seal_reader;
struct seal_reader *seal_reader_new(
    const unsigned char key[static BACKUP_KEY_BYTES], const unsigned char salt[static BACKUP_SALT_BYTES]);
void seal_reader_free(struct seal_reader *reader);
/* Hands on only what is authenticated. ERROR_PROTOCOL "frame N is damaged" (from 1 on). Nothing may be fed after an
 * error. */
int seal_reader_feed(struct seal_reader *reader, const char *data, size_t len,
    int (*fn)(void *arg, const char *data, size_t len, struct error *err), void *arg, struct error *err) KM_MUST_CHECK;
/* ERROR_PROTOCOL: the last frame has not come. */
int seal_reader_end(struct seal_reader *reader, struct error *err) KM_MUST_CHECK;

#endif
