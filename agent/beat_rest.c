/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/beat_rest.h"

static bool is_same(const struct beat_look *a, const struct beat_look *b)
{
    return a->known && b->known && a->position == b->position && a->prepares == b->prepares;
}

bool beat_rest_wants_row(struct beat_rest *rest, const struct beat_look *look, bool may_rest, int64_t now_ms)
{
    if (!rest->row_ms || !may_rest || !is_same(look, &rest->left))
        rest->busy_ms = now_ms;
    return now_ms - rest->busy_ms < BEAT_REST_AFTER_MS || now_ms - rest->row_ms >= BEAT_REST_ROW_MS;
}

void beat_rest_note_row(
    struct beat_rest *rest, const struct beat_look *look, const struct beat_look *after, int64_t now_ms)
{
    uint64_t prepares = after->prepares - look->prepares;

    if (rest->row_ms && prepares != rest->row_prepares)
        rest->busy_ms = now_ms;
    rest->row_prepares = prepares;
    rest->left = *after;
    rest->row_ms = now_ms;
}
