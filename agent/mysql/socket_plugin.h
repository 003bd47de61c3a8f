/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_plugin.h: the client's side of "you know who I am by the socket", for either client library.
 *
 * Included by session.c alone: it names types of <mysql.h>.
 */
#ifndef KM_AGENT_MYSQL_SOCKET_PLUGIN_H
#define KM_AGENT_MYSQL_SOCKET_PLUGIN_H

#include "common/base.h"

#include <mysql.h>

void socket_plugin_register(void);
void socket_plugin_select(MYSQL *mysql);
/* The connection's descriptor: the libraries expose it differently. */
int socket_plugin_fd(MYSQL *mysql);

#endif
