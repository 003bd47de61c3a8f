/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server.c: the server side of mutual TLS (tls.h). */
#include "common/base.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "common/alloc.h"
#include "common/tls.h"
#include "common/tls_openssl.h"

struct tls_server {
    SSL_CTX *context; /* connections hold references of their own */
};

static int use_certificates(SSL_CTX *context, const char *cert_pem, struct error *err)
{
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new_mem_buf(str_or_empty(cert_pem), -1);
    _cleanup_(tls_cert_freep) X509 *leaf = bio ? PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL) : NULL;
    if (!leaf || SSL_CTX_use_certificate(context, leaf) != 1)
        return tls_error(err, ERROR_INVALID, "no usable server certificate");
    X509 *link;
    while ((link = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL))) {
        if (SSL_CTX_add0_chain_cert(context, link) != 1) {
            X509_free(link);
            return tls_error(err, ERROR_INVALID, "no usable certificate chain");
        }
    }
    ERR_clear_error(); /* the end of the text reads as "no start line" */
    return 0;
}

static int use_key(SSL_CTX *context, const char *key_pem, struct error *err)
{
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new_mem_buf(str_or_empty(key_pem), -1);
    _cleanup_(tls_key_freep) EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, tls_no_passphrase, NULL) : NULL;
    if (!key || SSL_CTX_use_PrivateKey(context, key) != 1 || SSL_CTX_check_private_key(context) != 1)
        return tls_error(err, ERROR_INVALID, "no private key that fits the server certificate");
    return 0;
}

/* Once for all handshakes: OpenSSL would build it anew for each of them, which costs a verification. Without the root,
 * which whoever trusts it has. */
static void build_chain(SSL_CTX *context)
{
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(context, &chain);
    if (sk_X509_num(chain) <= 0)
        SSL_CTX_build_cert_chain(context,
            SSL_BUILD_CHAIN_FLAG_NO_ROOT | SSL_BUILD_CHAIN_FLAG_IGNORE_ERROR | SSL_BUILD_CHAIN_FLAG_CLEAR_ERROR);
    ERR_clear_error();
}

/* Sessions are never resumed: after a reload every client has to show its certificate to the new CA. */
static void set_policy(SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

static SSL_CTX *context_new(const struct tls_keypair *pair, const char *ca_pem, struct error *err)
{
    X509_STORE *store = tls_store_from_pem(ca_pem, err);
    if (!store)
        return NULL;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) {
        X509_STORE_free(store);
        tls_error(err, ERROR_INTERNAL, "cannot make a TLS context");
        return NULL;
    }
    SSL_CTX_set_cert_store(context, store); /* takes it */
    set_policy(context);
    if (use_certificates(context, pair->cert_pem, err) < 0 || use_key(context, pair->key_pem, err) < 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    build_chain(context);
    return context;
}

struct tls_server *tls_server_new(const struct tls_keypair *pair, const char *ca_pem, struct error *err)
{
    SSL_CTX *context = context_new(pair, ca_pem, err);
    if (!context)
        return NULL;
    struct tls_server *server = xnew(struct tls_server);
    server->context = context;
    return server;
}

int tls_server_reload(struct tls_server *server, const struct tls_keypair *pair, const char *ca_pem, struct error *err)
{
    SSL_CTX *context = context_new(pair, ca_pem, err);
    if (!context)
        return -1;
    SSL_CTX_free(server->context);
    server->context = context;
    return 0;
}

void tls_server_free(struct tls_server *server)
{
    if (!server)
        return;
    SSL_CTX_free(server->context);
    free(server);
}

void *tls_server_context(struct tls_server *server)
{
    return server->context;
}
