/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/sha256.h"

#include <openssl/evp.h>

#include "common/hex.h"

void sha256_init(struct sha256 *sha)
{
    sha->context = EVP_MD_CTX_new();
    if (!sha->context || EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL) != 1)
        abort();
}

void sha256_add(struct sha256 *sha, const void *data, size_t len)
{
    if (EVP_DigestUpdate(sha->context, data, len) != 1)
        abort();
}

void sha256_bytes(struct sha256 *sha, unsigned char out[static 32])
{
    if (EVP_DigestFinal_ex(sha->context, out, NULL) != 1)
        abort();
}

void sha256_hex(struct sha256 *sha, char out[static 65])
{
    unsigned char digest[32];

    sha256_bytes(sha, digest);
    hex_print(digest, sizeof(digest), out);
}

void sha256_release(struct sha256 *sha)
{
    EVP_MD_CTX_free(sha->context);
    sha->context = NULL;
}
