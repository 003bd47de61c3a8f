/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/s3_sign.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>

#include "common/tls.h"

#define CANONICAL_MAX ((size_t)(64 * KM_KIB))
#define DIGEST_BYTES 32
#define DATE_LEN 8 /* of s3_signable.time */

void s3_format_time(int64_t realtime_ms, char out[static S3_TIME_SIZE])
{
    const time_t seconds = (time_t)(realtime_ms / 1000);
    struct tm tm = {0};
    gmtime_r(&seconds, &tm);
    strftime(out, S3_TIME_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

void s3_add_path(struct strbuf *out, const char *path)
{
    static const char digits[] = "0123456789ABCDEF";
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        const bool plain = (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        if (plain || strchr("-_.~/", *p)) {
            strbuf_addc(out, (char)*p);
            continue;
        }
        const char escape[] = {'%', digits[*p >> 4], digits[*p & 15]};
        strbuf_add(out, escape, sizeof(escape));
    }
}

void s3_query_add(struct strbuf *query, const char *name, const char *value)
{
    if (query->len > 0)
        strbuf_addc(query, '&');
    strbuf_add_urlencoded(query, name);
    strbuf_addc(query, '=');
    strbuf_add_urlencoded(query, value);
}

/* ---- canonical request ---- */

static int compare_headers(const void *a, const void *b)
{
    return strcmp(((const struct s3_header *)a)->name, ((const struct s3_header *)b)->name);
}

static size_t sort_headers(const struct s3_signable *request, struct s3_header *out)
{
    const size_t count = MIN_OF(request->header_count, (size_t)S3_SIGNED_HEADERS_MAX);
    memcpy(out, request->headers, count * sizeof(*out));
    qsort(out, count, sizeof(*out), compare_headers);
    return count;
}

/* Blanks at the ends go, those inside become one each. */
static void add_trimmed(struct strbuf *out, const char *value)
{
    bool blank = false;
    bool any = false;
    for (; *value; value++) {
        if (*value == ' ' || *value == '\t') {
            blank = any;
            continue;
        }
        if (blank)
            strbuf_addc(out, ' ');
        strbuf_addc(out, *value);
        blank = false;
        any = true;
    }
}

static void add_signed_names(const struct s3_header *sorted, size_t count, struct strbuf *out)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addf(out, "%s%s", i ? ";" : "", sorted[i].name);
}

void s3_canonical_request(const struct s3_signable *request, struct strbuf *out)
{
    struct s3_header sorted[S3_SIGNED_HEADERS_MAX];
    const size_t count = sort_headers(request, sorted);
    strbuf_addf(out, "%s\n%s\n%s\n", request->method, request->path, request->query);
    for (size_t i = 0; i < count; i++) {
        strbuf_addf(out, "%s:", sorted[i].name);
        add_trimmed(out, sorted[i].value);
        strbuf_addc(out, '\n');
    }
    strbuf_addc(out, '\n');
    add_signed_names(sorted, count, out);
    strbuf_addf(out, "\n%s", request->payload_sha256);
}

/* ---- string to sign, signature ---- */

static void add_scope(const struct s3_signable *request, struct strbuf *out)
{
    strbuf_addf(out, "%.*s/%s/s3/aws4_request", DATE_LEN, request->time, request->region);
}

void s3_string_to_sign(const struct s3_signable *request, struct strbuf *out)
{
    char hash[65];
    struct strbuf canonical;
    strbuf_init(&canonical, CANONICAL_MAX);
    s3_canonical_request(request, &canonical);
    tls_sha256_hex(canonical.buf, canonical.len, hash);
    strbuf_release_secret(&canonical); /* a session token is in it */
    strbuf_addf(out, "AWS4-HMAC-SHA256\n%s\n", request->time);
    add_scope(request, out);
    strbuf_addf(out, "\n%s", hash);
}

/* In place: the result becomes the next key. */
static void hmac(unsigned char key[static DIGEST_BYTES], const char *text, size_t len)
{
    unsigned char result[EVP_MAX_MD_SIZE];
    if (!HMAC(EVP_sha256(), key, DIGEST_BYTES, (const unsigned char *)text, len, result, NULL))
        abort();
    memcpy(key, result, DIGEST_BYTES);
    OPENSSL_cleanse(result, sizeof(result));
}

static void derive_key(const struct s3_signable *request, const char *secret_key, unsigned char key[static DIGEST_BYTES])
{
    unsigned char first[EVP_MAX_MD_SIZE];
    struct strbuf secret;
    strbuf_init(&secret, CANONICAL_MAX);
    strbuf_addf(&secret, "AWS4%s", secret_key);
    if (!HMAC(EVP_sha256(), secret.buf, (int)secret.len, (const unsigned char *)request->time, DATE_LEN, first, NULL))
        abort();
    strbuf_release_secret(&secret);
    memcpy(key, first, DIGEST_BYTES);
    OPENSSL_cleanse(first, sizeof(first));
    hmac(key, request->region, strlen(request->region));
    hmac(key, "s3", 2);
    hmac(key, "aws4_request", strlen("aws4_request"));
}

void s3_authorization(
    const struct s3_signable *request, const char *access_key, const char *secret_key, struct strbuf *out)
{
    struct s3_header sorted[S3_SIGNED_HEADERS_MAX];
    const size_t count = sort_headers(request, sorted);
    unsigned char key[DIGEST_BYTES];
    struct strbuf text;
    strbuf_init(&text, CANONICAL_MAX);
    s3_string_to_sign(request, &text);
    derive_key(request, secret_key, key);
    hmac(key, text.buf, text.len);
    strbuf_release(&text);
    strbuf_addf(out, "AWS4-HMAC-SHA256 Credential=%s/", access_key);
    add_scope(request, out);
    strbuf_adds(out, ",SignedHeaders=");
    add_signed_names(sorted, count, out);
    strbuf_adds(out, ",Signature=");
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        strbuf_addf(out, "%02x", key[i]);
    OPENSSL_cleanse(key, sizeof(key));
}
