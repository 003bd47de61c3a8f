/* SPDX-License-Identifier: Apache-2.0 */
/* http_client_tls.c: who we are and whom we trust (http_client.h), as libcurl wants it. */
#include "common/base.h"

#include "common/http_client_tls.h"

#include <curl/curl.h>
#include <openssl/x509_vfy.h>

#include "common/alloc.h"
#include "common/ca_bundle.h"

struct http_tls *http_tls_new(const struct http_tls_options *options)
{
    struct http_tls *tls = xnew(struct http_tls);
    tls->refs = 1;
    tls->ca_pem = xstrdup(options->ca_pem);
    tls->ca_file = options->ca_pem ? NULL : ca_bundle_find();
    tls->cert_pem = xstrdup(options->cert_pem);
    tls->key_pem = xstrdup(options->key_pem);
    tls->server_name = xstrdup(options->server_name);
    tls->insecure_skip_verify = options->insecure_skip_verify;
    return tls;
}

struct http_tls *http_tls_ref(struct http_tls *tls)
{
    if (tls)
        tls->refs++;
    return tls;
}

void http_tls_unref(struct http_tls *tls)
{
    if (!tls || --tls->refs > 0)
        return;
    free(tls->ca_pem);
    free(tls->ca_file);
    free(tls->cert_pem);
    secret_free(tls->key_pem);
    free(tls->server_name);
    free(tls);
}

/* The text is not copied for each request: the request holds a reference as long as its handle lives. */
static void set_blob(CURL *easy, CURLoption option, const char *pem)
{
    if (!pem)
        return;
    struct curl_blob blob = {.data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = CURL_BLOB_NOCOPY};
    curl_easy_setopt(easy, option, &blob);
}

void http_tls_apply(void *easy, const struct http_tls *tls)
{
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (!tls)
        return;
    if (tls->ca_pem) {
        /* Else the system's store would be trusted as well. */
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem);
    } else if (tls->ca_file) {
        /* One file, no folder: so libcurl reads it once for all connections (CURLOPT_CA_CACHE_TIMEOUT). */
        curl_easy_setopt(easy, CURLOPT_CAINFO, tls->ca_file);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->cert_pem);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem);
    if (tls->insecure_skip_verify) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

enum http_distrust http_tls_distrust(void *easy, int code)
{
    long verdict = X509_V_OK;
    if (code == CURLE_SSL_CACERT_BADFILE)
        return HTTP_DISTRUST_ALL;
    if (code != CURLE_PEER_FAILED_VERIFICATION)
        return HTTP_DISTRUST_NONE;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verdict);
    switch (verdict) {
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED: /* libcurl compares names before it fills in what OpenSSL thinks of the chain */
        return HTTP_DISTRUST_NAME;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return HTTP_DISTRUST_TIME;
    default:
        return HTTP_DISTRUST_AUTHORITY;
    }
}
