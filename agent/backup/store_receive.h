/* SPDX-License-Identifier: Apache-2.0 */
/* store_receive.h: bodies in: PUT of an object or of a piece. */
#ifndef KM_AGENT_BACKUP_STORE_RECEIVE_H
#define KM_AGENT_BACKUP_STORE_RECEIVE_H

#include "agent/backup/store_exchange.h"

void store_receive(struct store_exchange *exchange);
/* Ends one that is under way; it is answered with the fault, perhaps only when its job is done. why must stay. */
void store_receive_end(struct store_exchange *exchange, enum store_code code, const char *why);

#endif
