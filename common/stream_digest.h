/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_digest.h: the check over a stream's data that its two ends compare (frame_stream.h): a SHA-256, or Poly1305
 * with a key made for this one stream.
 *
 * What travels is guarded against others by TLS. The check is there for what TLS does not see: bytes that one of the
 * ends lost, doubled or mixed up. A one-time authenticator is as good at that (a stream of a TiB that differs passes
 * with a probability of about 2^-66, D. J. Bernstein, "The Poly1305-AES message-authentication code", theorem 3.3) and
 * takes 0.09 s of a processor for a GiB, SHA-256 0.7 s even with instructions of its own.
 */
#ifndef KM_COMMON_STREAM_DIGEST_H
#define KM_COMMON_STREAM_DIGEST_H

#include "common/base.h"

#include "common/sha256.h"

enum stream_digest_kind {
    STREAM_DIGEST_SHA256,
    STREAM_DIGEST_POLY1305,
    STREAM_DIGEST_COUNT,
};
extern const char *const stream_digest_names[STREAM_DIGEST_COUNT]; /* "sha256", "poly1305" */

#define STREAM_DIGEST_KEY_BYTES 32
#define STREAM_DIGEST_KEY_HEX_SIZE (2 * STREAM_DIGEST_KEY_BYTES + 1)
#define STREAM_DIGEST_HEX_SIZE 65

struct stream_digest {
    enum stream_digest_kind kind;
    struct sha256 sha;
    void *mac;
};

/* A SHA-256. */
void stream_digest_init(struct stream_digest *digest);
void stream_digest_release(struct stream_digest *digest);
/* Before anything was added: Poly1305 with this key instead. key: 64 characters of hex. -1: it is none, or this OpenSSL
 * has no Poly1305. */
int stream_digest_use_poly1305(struct stream_digest *digest, const char *key) KM_MUST_CHECK;
/* False: this OpenSSL has none (it may be confined to what FIPS knows). */
bool stream_digest_has_poly1305(void);
void stream_digest_make_key(char ret_key[static STREAM_DIGEST_KEY_HEX_SIZE]);
void stream_digest_add(struct stream_digest *digest, const void *data, size_t len);
/* Lower-case hex. Nothing may be added afterwards. */
void stream_digest_hex(struct stream_digest *digest, char out[static STREAM_DIGEST_HEX_SIZE]);

#endif
