/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tls.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "common/alloc.h"
#include "common/hex.h"
#include "common/tls_openssl.h"

/* RFC 5280, 4.1.2.2: at most 20 octets; 128 random bits need no memory of what was issued. */
#define SERIAL_BITS 128

void tls_keypair_release(struct tls_keypair *pair)
{
    secret_free(pair->key_pem);
    free(pair->cert_pem);
    *pair = (struct tls_keypair){.key_pem = NULL};
}

/* ---- PEM text ---- */

static char *bio_text(BIO *bio)
{
    char *data = NULL;
    const long len = BIO_get_mem_data(bio, &data);
    return xstrndup(data, len > 0 ? (size_t)len : 0);
}

static char *key_to_pem(EVP_PKEY *key)
{
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new(BIO_s_secmem());
    if (!bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
        return NULL;
    return bio_text(bio);
}

static char *cert_to_pem(X509 *cert)
{
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new(BIO_s_mem());
    if (!bio || PEM_write_bio_X509(bio, cert) != 1)
        return NULL;
    return bio_text(bio);
}

static EVP_PKEY *key_from_pem(const char *pem, struct error *err)
{
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new_mem_buf(str_or_empty(pem), -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, tls_no_passphrase, NULL) : NULL;
    if (!key)
        tls_error(err, ERROR_INVALID, "no usable private key");
    return key;
}

static X509 *cert_from_pem(const char *pem, struct error *err)
{
    _cleanup_(tls_bio_freep) BIO *bio = BIO_new_mem_buf(str_or_empty(pem), -1);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL) : NULL;
    if (!cert)
        tls_error(err, ERROR_INVALID, "no usable certificate");
    return cert;
}

/* ---- making certificates ---- */

static int set_time(ASN1_TIME *field, int64_t ms)
{
    return ASN1_TIME_set(field, (time_t)(ms / 1000)) ? 0 : -1;
}

static int set_serial(X509 *cert)
{
    _cleanup_(tls_bignum_freep) BIGNUM *number = BN_new();
    if (!number || BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1)
        return -1;
    return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) ? 0 : -1;
}

static int set_common_name(X509_NAME *name, const char *common_name)
{
    const unsigned char *text = (const unsigned char *)str_or_empty(common_name);
    return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, text, -1, -1, 0) == 1 ? 0 : -1;
}

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (!extension)
        return -1;
    const int rc = X509_add_ext(cert, extension, -1) == 1 ? 0 : -1;
    X509_EXTENSION_free(extension);
    return rc;
}

/* Built name by name, not from one configuration string: a comma in a name must not become a second name. */
static int add_dns_names(X509 *cert, const char *const *names)
{
    if (!names || !names[0])
        return 0;
    GENERAL_NAMES *list = sk_GENERAL_NAME_new_null();
    int rc = list ? 0 : -1;
    for (size_t i = 0; rc == 0 && names[i]; i++) {
        GENERAL_NAME *name = GENERAL_NAME_new();
        ASN1_IA5STRING *text = ASN1_IA5STRING_new();
        if (!name || !text || ASN1_STRING_set(text, names[i], -1) != 1) {
            GENERAL_NAME_free(name);
            ASN1_IA5STRING_free(text);
            rc = -1;
            break;
        }
        GENERAL_NAME_set0_value(name, GEN_DNS, text);
        if (sk_GENERAL_NAME_push(list, name) <= 0) {
            GENERAL_NAME_free(name);
            rc = -1;
        }
    }
    if (rc == 0 && X509_add1_ext_i2d(cert, NID_subject_alt_name, list, 0, X509V3_ADD_DEFAULT) != 1)
        rc = -1;
    sk_GENERAL_NAME_pop_free(list, GENERAL_NAME_free);
    return rc;
}

static int fill_common(X509 *cert, EVP_PKEY *key, const struct tls_cert_request *request)
{
    if (X509_set_version(cert, X509_VERSION_3) != 1 || set_serial(cert) < 0)
        return -1;
    if (set_time(X509_getm_notBefore(cert), request->not_before_ms) < 0 ||
        set_time(X509_getm_notAfter(cert), request->not_after_ms) < 0)
        return -1;
    if (set_common_name(X509_get_subject_name(cert), request->common_name) < 0)
        return -1;
    return X509_set_pubkey(cert, key) == 1 ? 0 : -1;
}

static int fill_ca(X509 *cert)
{
    if (X509_set_issuer_name(cert, X509_get_subject_name(cert)) != 1)
        return -1;
    if (add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") < 0 ||
        add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") < 0)
        return -1;
    return add_extension(cert, cert, NID_subject_key_identifier, "hash");
}

static const char *extended_usage(const struct tls_cert_request *request)
{
    if (request->server_auth && request->client_auth)
        return "serverAuth,clientAuth";
    if (request->server_auth)
        return "serverAuth";
    return request->client_auth ? "clientAuth" : NULL;
}

static int fill_leaf(X509 *cert, X509 *issuer, const struct tls_cert_request *request)
{
    const char *usage = extended_usage(request);
    if (X509_set_issuer_name(cert, X509_get_subject_name(issuer)) != 1)
        return -1;
    if (add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") < 0 ||
        add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") < 0 ||
        add_extension(cert, issuer, NID_subject_key_identifier, "hash") < 0 ||
        add_extension(cert, issuer, NID_authority_key_identifier, "keyid") < 0)
        return -1;
    if (usage && add_extension(cert, issuer, NID_ext_key_usage, usage) < 0)
        return -1;
    return add_dns_names(cert, request->dns_names);
}

static int export_pair(EVP_PKEY *key, X509 *cert, struct tls_keypair *ret)
{
    struct tls_keypair pair = {.key_pem = key_to_pem(key), .cert_pem = cert_to_pem(cert)};
    if (!pair.key_pem || !pair.cert_pem) {
        tls_keypair_release(&pair);
        return -1;
    }
    *ret = pair;
    return 0;
}

int tls_make_ca(const struct tls_cert_request *request, struct tls_keypair *ret, struct error *err)
{
    _cleanup_(tls_key_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(tls_cert_freep) X509 *cert = X509_new();
    if (!key || !cert || fill_common(cert, key, request) < 0 || fill_ca(cert) < 0 ||
        add_dns_names(cert, request->dns_names) < 0 || X509_sign(cert, key, EVP_sha256()) == 0 ||
        export_pair(key, cert, ret) < 0)
        return tls_error(err, ERROR_INTERNAL, "cannot make a CA");
    return 0;
}

int tls_issue(
    const struct tls_keypair *ca, const struct tls_cert_request *request, struct tls_keypair *ret, struct error *err)
{
    _cleanup_(tls_key_freep) EVP_PKEY *ca_key = key_from_pem(ca->key_pem, err);
    _cleanup_(tls_cert_freep) X509 *ca_cert = ca_key ? cert_from_pem(ca->cert_pem, err) : NULL;
    if (!ca_key || !ca_cert)
        return error_prefix(err, "CA");
    if (X509_check_private_key(ca_cert, ca_key) != 1)
        return tls_error(err, ERROR_INVALID, "the CA's key does not fit its certificate");
    _cleanup_(tls_key_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(tls_cert_freep) X509 *cert = X509_new();
    if (!key || !cert || fill_common(cert, key, request) < 0 || fill_leaf(cert, ca_cert, request) < 0 ||
        X509_sign(cert, ca_key, EVP_sha256()) == 0 || export_pair(key, cert, ret) < 0)
        return tls_error(err, ERROR_INTERNAL, "cannot issue a certificate for %s", str_or_empty(request->common_name));
    return 0;
}

/* ---- looking at certificates ---- */

static int64_t asn1_time_ms(const ASN1_TIME *time)
{
    struct tm tm;
    if (!time || ASN1_TIME_to_tm(time, &tm) != 1)
        return 0;
    return (int64_t)timegm(&tm) * 1000;
}

static int fingerprint(const X509 *cert, char out[static 65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (X509_digest(cert, EVP_sha256(), digest, &len) != 1 || len != 32)
        return -1;
    hex_print(digest, len, out);
    return 0;
}

static int inspect(X509 *cert, struct tls_cert_info *ret, struct error *err)
{
    struct tls_cert_info info = {
        .not_before_ms = asn1_time_ms(X509_get0_notBefore(cert)),
        .not_after_ms = asn1_time_ms(X509_get0_notAfter(cert)),
        .is_ca = X509_check_ca(cert) == 1,
    };
    if (fingerprint(cert, info.fingerprint_sha256) < 0)
        return tls_error(err, ERROR_INTERNAL, "cannot compute the fingerprint of a certificate");
    *ret = info;
    return 0;
}

int tls_cert_inspect(const char *cert_pem, struct tls_cert_info *ret, struct error *err)
{
    _cleanup_(tls_cert_freep) X509 *cert = cert_from_pem(cert_pem, err);
    return cert ? inspect(cert, ret, err) : -1;
}

/* A wildcard of ours ("*.svc.ns.svc") is asked for by any host it stands for. */
static bool cert_names(X509 *cert, const char *dns_name)
{
    if (!str_starts_with(dns_name, "*."))
        return X509_check_host(cert, dns_name, 0, 0, NULL) == 1;
    char *host = xasprintf("any%s", dns_name + 1);
    const bool named = X509_check_host(cert, host, 0, 0, NULL) == 1;
    free(host);
    return named;
}

static int check_signature(X509 *cert, const char *ca_pem, int64_t now_ms, struct error *err)
{
    _cleanup_(tls_store_freep) X509_STORE *store = tls_store_from_pem(ca_pem, err);
    if (!store)
        return -1;
    _cleanup_(tls_store_ctx_freep) X509_STORE_CTX *context = X509_STORE_CTX_new();
    if (!context || X509_STORE_CTX_init(context, store, cert, NULL) != 1)
        return tls_error(err, ERROR_INTERNAL, "cannot verify a certificate");
    X509_STORE_CTX_set_time(context, 0, (time_t)(now_ms / 1000));
    if (X509_verify_cert(context) == 1)
        return 0;
    const int reason = X509_STORE_CTX_get_error(context);
    return error_set(err, ERROR_INVALID, "certificate: %s", X509_verify_cert_error_string(reason));
}

int tls_cert_check(const struct tls_keypair *pair, const char *ca_pem, const char *const *dns_names, int64_t now_ms,
    struct tls_cert_info *ret, struct error *err)
{
    _cleanup_(tls_cert_freep) X509 *cert = cert_from_pem(pair->cert_pem, err);
    _cleanup_(tls_key_freep) EVP_PKEY *key = cert ? key_from_pem(pair->key_pem, err) : NULL;
    if (!cert || !key)
        return -1;
    if (X509_check_private_key(cert, key) != 1)
        return tls_error(err, ERROR_INVALID, "the key does not fit the certificate");
    if (check_signature(cert, ca_pem, now_ms, err) < 0)
        return -1;
    for (size_t i = 0; dns_names && dns_names[i]; i++)
        if (!cert_names(cert, dns_names[i]))
            return error_set(err, ERROR_INVALID, "the certificate does not name %s", dns_names[i]);
    return ret ? inspect(cert, ret, err) : 0;
}
