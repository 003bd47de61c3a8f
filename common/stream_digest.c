/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/stream_digest.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "common/hex.h"

#define POLY1305_BYTES 16

const char *const stream_digest_names[STREAM_DIGEST_COUNT] = {
    [STREAM_DIGEST_SHA256] = "sha256",
    [STREAM_DIGEST_POLY1305] = "poly1305",
};

void stream_digest_init(struct stream_digest *digest)
{
    *digest = (struct stream_digest){.kind = STREAM_DIGEST_SHA256};
    sha256_init(&digest->sha);
}

void stream_digest_release(struct stream_digest *digest)
{
    sha256_release(&digest->sha);
    EVP_MAC_CTX_free(digest->mac);
    digest->mac = NULL;
}

static EVP_MAC_CTX *poly1305_new(void)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;

    EVP_MAC_free(mac);
    return context;
}

bool stream_digest_has_poly1305(void)
{
    EVP_MAC_CTX *context = poly1305_new();

    EVP_MAC_CTX_free(context);
    return context != NULL;
}

int stream_digest_use_poly1305(struct stream_digest *digest, const char *key)
{
    unsigned char bytes[STREAM_DIGEST_KEY_BYTES];

    if (digest->mac || !hex_parse(key, bytes, sizeof(bytes)))
        return -1;
    digest->mac = poly1305_new();
    if (!digest->mac)
        return -1;
    if (EVP_MAC_init(digest->mac, bytes, sizeof(bytes), NULL) != 1)
        abort();
    digest->kind = STREAM_DIGEST_POLY1305;
    return 0;
}

void stream_digest_make_key(char ret_key[static STREAM_DIGEST_KEY_HEX_SIZE])
{
    unsigned char bytes[STREAM_DIGEST_KEY_BYTES];

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        abort();
    hex_print(bytes, sizeof(bytes), ret_key);
}

void stream_digest_add(struct stream_digest *digest, const void *data, size_t len)
{
    if (digest->kind == STREAM_DIGEST_SHA256)
        sha256_add(&digest->sha, data, len);
    else if (EVP_MAC_update(digest->mac, data, len) != 1)
        abort();
}

void stream_digest_hex(struct stream_digest *digest, char out[static STREAM_DIGEST_HEX_SIZE])
{
    unsigned char bytes[POLY1305_BYTES];
    size_t len = 0;

    if (digest->kind == STREAM_DIGEST_SHA256) {
        sha256_hex(&digest->sha, out);
        return;
    }
    if (EVP_MAC_final(digest->mac, bytes, &len, sizeof(bytes)) != 1 || len != sizeof(bytes))
        abort();
    hex_print(bytes, sizeof(bytes), out);
}
