/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_controller.h: the controller of MysqlTerminal: a Secret with a client configuration and a Pod in which
 * `mysql` just works.
 *
 * The Secret holds my.cnf with host, user and password of the cluster's primary; the pod copies it to $HOME/.my.cnf
 * with mode 0600 and follows its changes. Image and security context are the cluster's own. A terminal of another
 * namespace is served only if the cluster lists that namespace in spec.terminalNamespaces: a terminal is root's way in.
 */
#ifndef KM_TERMINAL_CONTROLLER_H
#define KM_TERMINAL_CONTROLLER_H

#include "common/strvec.h"
#include "operator/runtime/manager.h"

struct terminal_controller_options {
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    /* Shared with other controllers. */
    struct informer *clusters, *terminals, *pods;
    int64_t blocked_recheck_ms; /* 0: 20 s */
};

void terminal_controller_use_kinds(struct manager *manager);
void terminal_controller_setup(struct manager *manager, const struct terminal_controller_options *options);

#endif
