/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client_tls.h: an identity and its use. Private to http_client.
 */
#ifndef KM_COMMON_HTTP_CLIENT_TLS_H
#define KM_COMMON_HTTP_CLIENT_TLS_H

#include "common/base.h"

#include "common/http_client.h"

struct http_tls {
    unsigned refs;
    char *ca_pem;
    char *ca_file; /* without ca_pem: the system's; NULL: there is none */
    char *cert_pem;
    char *key_pem;
    char *server_name;
    bool insecure_skip_verify;
};

/* easy: a CURL pointer; tls NULL: defaults. The texts are not copied: tls must live as long as the transfer. */
void http_tls_apply(void *easy, const struct http_tls *tls);

/* code: the CURLcode that the transfer ended with. */
enum http_distrust http_tls_distrust(void *easy, int code);

#endif
