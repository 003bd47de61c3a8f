/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca_bundle.h: the file with the certificate authorities that a server is held against when nobody named others.
 *
 * $SSL_CERT_FILE, as OpenSSL and Go take it; else the system's, where distributions have it; else the one beside the
 * program: images of databases often have none, so `kube-mysql-agent copy` brings its own along
 * (images/ca-certificates.sh).
 */
#ifndef KM_COMMON_CA_BUNDLE_H
#define KM_COMMON_CA_BUNDLE_H

#include "common/base.h"

#define CA_BUNDLE_NAME "ca-certificates.crt"

struct ca_bundle_places {
    const char *wish;          /* taken as it is, there or not: the error is to name it; NULL or "": none */
    const char *const *system; /* NULL-terminated; the first one that can be read and is not empty */
    const char *program;       /* path of the program */
};
/* New text; NULL: there is none. */
char *ca_bundle_choose(const struct ca_bundle_places *places);
/* Of this process. */
char *ca_bundle_find(void);

#endif
