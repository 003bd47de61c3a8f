/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h: keys, certificates and TLS contexts (OpenSSL 3).
 *
 * The operator owns one CA per cluster (ECDSA P-256) and issues a leaf for the agents and one for itself. PEM text in,
 * PEM text out; nothing is written to disk here. Key text is secret: freed with secret_free (I9).
 */
#ifndef KM_COMMON_TLS_H
#define KM_COMMON_TLS_H

#include "common/base.h"

#include "common/error.h"

struct tls_keypair {
    char *key_pem;  /* PKCS#8, secret */
    char *cert_pem; /* leaf first, then chain */
};
void tls_keypair_release(struct tls_keypair *pair);

struct tls_cert_request {
    const char *common_name;
    const char *const *dns_names; /* NULL-terminated, may be NULL; wildcards allowed ("*.svc.ns.svc") */
    bool server_auth;
    bool client_auth;
    int64_t not_before_ms; /* wall clock */
    int64_t not_after_ms;
};

/* A self-signed CA with a fresh key: basicConstraints CA:TRUE, pathlen 0, keyCertSign. */
int tls_make_ca(const struct tls_cert_request *request, struct tls_keypair *ret, struct error *err) KM_MUST_CHECK;
/* A leaf with a fresh key, signed by the CA. */
int tls_issue(const struct tls_keypair *ca, const struct tls_cert_request *request, struct tls_keypair *ret,
    struct error *err) KM_MUST_CHECK;

struct tls_cert_info {
    int64_t not_before_ms;
    int64_t not_after_ms;
    bool is_ca;
    char fingerprint_sha256[65]; /* lower-case hex of the DER form */
};
/* Reads the first certificate of the text. ERROR_INVALID if it is none. */
int tls_cert_inspect(const char *cert_pem, struct tls_cert_info *ret, struct error *err) KM_MUST_CHECK;
/* Key fits certificate, certificate was signed by ca_pem, valid at now_ms, and names every dns_name. ERROR_INVALID says
 * what is wrong. ret: what tls_cert_inspect tells of it, filled on success; may be NULL. */
int tls_cert_check(const struct tls_keypair *pair, const char *ca_pem, const char *const *dns_names, int64_t now_ms,
    struct tls_cert_info *ret, struct error *err) KM_MUST_CHECK;

/* Server side of mutual TLS. Contents can be replaced while in use: connections made before keep the old. */
struct tls_server;
/* Wants TLS 1.2 or later and a client certificate signed by ca_pem. */
struct tls_server *tls_server_new(const struct tls_keypair *pair, const char *ca_pem, struct error *err);
int tls_server_reload(
    struct tls_server *server, const struct tls_keypair *pair, const char *ca_pem, struct error *err) KM_MUST_CHECK;
void tls_server_free(struct tls_server *server);
/* The SSL_CTX for new connections; for http_server only. */
void *tls_server_context(struct tls_server *server);

/* Random text of `len` characters from [A-Za-z0-9] (62^24 > 2^142): passwords. Caller frees with secret_free. */
char *tls_random_password(size_t len);
/* Lower-case hex SHA-256. */
void tls_sha256_hex(const void *data, size_t len, char out[static 65]);
/* Base64 (RFC 4648, padded). encode: caller frees. decode: NUL-terminated heap copy, NULL + ERROR_INVALID if malformed;
 * ret_len may be NULL. */
char *tls_base64_encode(const void *data, size_t len);
char *tls_base64_decode(const char *text, size_t len, size_t *ret_len, struct error *err);

#endif
