/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/look_answer.h"

bool look_is_answer(enum error_kind kind)
{
    return kind == ERROR_NONE || kind == ERROR_DATABASE || kind == ERROR_UNAUTHORIZED || kind == ERROR_PROTOCOL;
}

bool look_is_refused(const struct instance_state *state)
{
    return state->probe_error.kind != ERROR_NONE && look_is_answer(state->probe_error.kind);
}
