/* SPDX-License-Identifier: Apache-2.0 */
/* store_send.h: bodies out: GET and HEAD of an object. */
#ifndef KM_AGENT_BACKUP_STORE_SEND_H
#define KM_AGENT_BACKUP_STORE_SEND_H

#include "agent/backup/store_exchange.h"

void store_send(struct store_exchange *exchange);

#endif
