/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addressee.h: whether a request on a TLS door is for this pod (agent_identity.h).
 */
#ifndef KM_AGENT_ADDRESSEE_H
#define KM_AGENT_ADDRESSEE_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/http_server.h"

/* own: says which pod this is. False: another one is meant, and the request is answered, 421 with the reason. */
bool addressee_check(const struct agent_status *own, struct http_exchange *exchange);

#endif
