/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_util.h: ports for the servers that a test starts.
 *
 * They lie below those that the kernel gives to connections (net.ipv4.ip_local_port_range begins at 32768): one of
 * those could be taken by any connection of another process between the look and the server's own bind.
 */
#ifndef KM_PORT_UTIL_H
#define KM_PORT_UTIL_H

#include "common/base.h"

/* A TCP port on which nobody listens on loopback now. Each call gives another one; processes begin at different places,
 * by their pid. */
uint16_t free_port(void);

#endif
