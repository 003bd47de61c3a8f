/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_openssl.h: what the files of tls.h share: OpenSSL types with cleanup, its error queue as struct error. Private to
 * them.
 */
#ifndef KM_COMMON_TLS_OPENSSL_H
#define KM_COMMON_TLS_OPENSSL_H

#include "common/base.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "common/error.h"

/* Fills *err with the text and OpenSSL's own reason, and empties its error queue. Returns -1. */
int tls_error(struct error *err, enum error_kind kind, const char *fmt, ...) KM_PRINTF(3, 4);
/* A store of all certificates in the text (at least one), or NULL. */
X509_STORE *tls_store_from_pem(const char *ca_pem, struct error *err);
/* pem_password_cb for PEM readers: encrypted keys are an error, never a prompt on the terminal. */
int tls_no_passphrase(char *buf, int size, int rwflag, void *arg);

static inline void tls_bio_freep(BIO **p)
{
    BIO_free_all(*p);
}
static inline void tls_bignum_freep(BIGNUM **p)
{
    BN_free(*p);
}
static inline void tls_key_freep(EVP_PKEY **p)
{
    EVP_PKEY_free(*p);
}
static inline void tls_cert_freep(X509 **p)
{
    X509_free(*p);
}
static inline void tls_store_freep(X509_STORE **p)
{
    X509_STORE_free(*p);
}
static inline void tls_store_ctx_freep(X509_STORE_CTX **p)
{
    X509_STORE_CTX_free(*p);
}

#endif
