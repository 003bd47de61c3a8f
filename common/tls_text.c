/* SPDX-License-Identifier: Apache-2.0 */
/* tls_text.c: the parts of tls.h that turn bytes into text: digests, base64, passwords; and OpenSSL's errors. */
#include "common/base.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "common/alloc.h"
#include "common/hex.h"
#include "common/tls.h"
#include "common/tls_openssl.h"

int tls_error(struct error *err, enum error_kind kind, const char *fmt, ...)
{
    char text[ERROR_MESSAGE_MAX / 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    const unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    if (reason)
        return error_set(err, kind, "%s: %s", text, reason);
    return error_set(err, kind, "%s", text);
}

int tls_no_passphrase(char *buf, int size, int rwflag, void *arg)
{
    UNUSED(buf);
    UNUSED(size);
    UNUSED(rwflag);
    UNUSED(arg);
    return -1;
}

X509_STORE *tls_store_from_pem(const char *ca_pem, struct error *err)
{
    X509_STORE *store = X509_STORE_new();
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new_mem_buf(str_or_empty(ca_pem), -1);
    size_t count = 0;
    X509 *cert;
    while (store && bio && (cert = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL))) {
        count += X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
    }
    if (count == 0) {
        tls_error(err, ERROR_INVALID, "no usable CA certificate");
        X509_STORE_free(store);
        return NULL;
    }
    ERR_clear_error(); /* the end of the text reads as "no start line" */
    return store;
}

void tls_sha256_hex(const void *data, size_t len, char out[static 65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_len = 0;
    if (EVP_Digest(data, len, digest, &digest_len, EVP_sha256(), NULL) != 1 || digest_len != 32)
        abort();
    hex_print(digest, digest_len, out);
}

char *tls_random_password(size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const unsigned char letters = sizeof(alphabet) - 1;
    /* Bytes from here on would make the first letters more likely. */
    const unsigned char limit = (unsigned char)(256 / letters * letters);
    char *password = xmalloc(len + 1);
    for (size_t i = 0; i < len;) {
        unsigned char byte;
        if (RAND_priv_bytes(&byte, 1) != 1)
            abort();
        if (byte < limit)
            password[i++] = alphabet[byte % letters];
    }
    password[len] = '\0';
    return password;
}

char *tls_base64_encode(const void *data, size_t len)
{
    if (len > INT_MAX / 2)
        abort();
    char *out = xmalloc((len + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)out, data, (int)len);
    return out;
}

/* The alphabet, then at most two '=' at the very end: EVP_DecodeBlock alone takes blanks and '=' in the middle. */
static bool is_base64(const char *text, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (len % 4 != 0 || len > INT_MAX / 2)
        return false;
    size_t body = len;
    while (body > 0 && len - body < 2 && text[body - 1] == '=')
        body--;
    for (size_t i = 0; i < body; i++)
        if (!text[i] || !strchr(alphabet, text[i]))
            return false;
    return true;
}

char *tls_base64_decode(const char *text, size_t len, size_t *ret_len, struct error *err)
{
    if (!is_base64(text, len)) {
        error_set(err, ERROR_INVALID, "not base64");
        return NULL;
    }
    size_t padding = 0;
    while (padding < len && text[len - 1 - padding] == '=')
        padding++;
    char *out = xmalloc(len / 4 * 3 + 1);
    const int decoded = len ? EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len) : 0;
    if (decoded < 0 || (size_t)decoded < padding) {
        free(out);
        error_set(err, ERROR_INVALID, "not base64");
        return NULL;
    }
    out[(size_t)decoded - padding] = '\0';
    if (ret_len)
        *ret_len = (size_t)decoded - padding;
    return out;
}
