/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256.h: a SHA-256 over bytes that come in pieces (OpenSSL's). For whole texts: tls_sha256_hex.
 */
#ifndef KM_COMMON_SHA256_H
#define KM_COMMON_SHA256_H

#include "common/base.h"

struct sha256 {
    void *context;
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t len);
/* Lower-case hex. Nothing may be added afterwards. */
void sha256_hex(struct sha256 *sha, char out[static 65]);
/* The same as bytes. */
void sha256_bytes(struct sha256 *sha, unsigned char out[static 32]);
void sha256_release(struct sha256 *sha); /* fine on a zeroed one */

#endif
