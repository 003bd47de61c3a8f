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
/* How its client says that the server's certificate must be of the CA in the terminal's ca.crt and bear the name that
 * was asked for. NULL: it is not known, or such a client cannot: those of MySQL before 8.0 look for names only where
 * there are none, in the common name. */
const char *terminal_verify_option(const struct terminal_server *server);
/* The one that such a configuration holds; NULL: none. */
const char *terminal_verify_option_of(const char *my_cnf);
/* The client configuration; secret. Values are quoted for option files. verify_option: as above. */
void terminal_my_cnf(const struct mysql_terminal *terminal, int port, const char *password, const char *verify_option,
    struct strbuf *out);
/* {labels, ownerReferences} of the children. */
json_t *terminal_child_metadata(const struct terminal_view *view);
/* Label kubemysql.dev/role of the pod is "terminal-HASH" of its own manifest: pods cannot be changed, a new hash means a new pod. */
json_t *terminal_pod(const struct terminal_view *view);

#endif
