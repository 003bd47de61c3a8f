/* SPDX-License-Identifier: Apache-2.0 */
/* look_answer.h: what the error of a look at the server says of that server: pure. */
#ifndef KM_AGENT_LOOK_ANSWER_H
#define KM_AGENT_LOOK_ANSWER_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "common/error.h"

/* The server said something, if only "too many connections" or "access denied". ERROR_NONE: it did, too. */
bool look_is_answer(enum error_kind kind);
/* It answers, and refuses what the latest look cannot do without. */
bool look_is_refused(const struct instance_state *state);

#endif
