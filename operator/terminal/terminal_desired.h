/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_desired.h: the manifests of a terminal: pure.
 */
#ifndef KM_TERMINAL_DESIRED_H
#define KM_TERMINAL_DESIRED_H

#include <jansson.h>

#include "common/strbuf.h"
#include "operator/api/mysql_config.h"
#include "operator/api/mysql_terminal.h"

/* What the manifests are made from. */
struct terminal_view {
    const char *uid;
    const struct mysql_terminal *terminal;
    const struct mysql_config_spec *config; /* the cluster's, in force */
    int port;                               /* of its Services, likewise */
    struct terminal_names names;
};

/* Host of the cluster's primary Service. */
void terminal_host(const struct mysql_terminal *terminal, struct strbuf *out);
/* The server that a client speaks with, as the cluster's status tells; "" while it does not. Borrowed. */
struct terminal_server {
    const char *flavour, *version;
};
struct terminal_tls {
    bool has_ca; /* the client is given the terminal's ca.crt, with which it connects by TLS */
    /* How it says that the server's certificate must be of that CA and bear the name that was asked for. NULL: the
     * server is not known, or such a client cannot: those of MySQL before 8.0 look for names only where there are none,
     * in the common name. */
    const char *verify_option;
};
/* A server that is not known yet gets the CA without the option, which all clients understand: root is let in by TLS
 * alone (agent/mysql/accounts.h). */
struct terminal_tls terminal_tls_for(const struct terminal_server *server);
/* What such a configuration holds. */
struct terminal_tls terminal_tls_of(const char *my_cnf);
/* The client configuration; secret. Values are quoted for option files. */
void terminal_my_cnf(const struct mysql_terminal *terminal, int port, const char *password,
    const struct terminal_tls *tls, struct strbuf *out);
/* {labels, ownerReferences} of the children. */
json_t *terminal_child_metadata(const struct terminal_view *view);
/* Label kubemysql.dev/role of the pod is "terminal-HASH" of its own manifest: pods cannot be changed, a new hash means
 * a new pod. */
json_t *terminal_pod(const struct terminal_view *view);

#endif
