/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/sha256.h"

#include <openssl/evp.h>

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
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[32];

    sha256_bytes(sha, digest);
    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = '\0';
}

void sha256_release(struct sha256 *sha)
{
    EVP_MD_CTX_free(sha->context);
    sha->context = NULL;
}
