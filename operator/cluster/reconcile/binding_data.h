/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding_data.h: what an application needs to connect, and nothing that it does not: pure.
 *
 *   Secret NAME-mysql-app           type servicebinding.io/mysql: type, provider, host, port, username, password,
 *                                   database, uri, jdbc-uri, ca.crt. Nothing of root, replication, monitor
 *   ConfigMap NAME-mysql-ca-bundle  ca.crt: the certificate of the cluster's CA, and of the one before it while
 *                                   certificates that it signed may be in use
 *
 * Keys and type: https://servicebinding.io/spec/core/1.1.0/#provisioned-service and #well-known-secret-entries
 */
#ifndef KM_BINDING_DATA_H
#define KM_BINDING_DATA_H

#include "common/base.h"

#include <jansson.h>

#define BINDING_SECRET_TYPE "servicebinding.io/mysql"
#define BINDING_TYPE "mysql"
#define BINDING_PROVIDER "kube-mysql"

struct binding {
    const char *host, *username, *database;
    int port;
    const char *password; /* secret */
    const char *ca_pem;
};

/* `data` of the two, new objects; a Secret's is base64. */
json_t *binding_secret_data(const struct binding *binding);
json_t *binding_bundle_data(const char *ca_pem);

#endif
