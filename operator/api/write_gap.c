/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/write_gap.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

static const char *const until_names[WRITE_GAP_UNTIL_COUNT] = {[WRITE_GAP_UNTIL_UNKNOWN] = "",
    [WRITE_GAP_UNTIL_OPENING] = "Opening",
    [WRITE_GAP_UNTIL_FIRST_COMMIT] = "FirstCommit",
    [WRITE_GAP_UNTIL_NOT_SEEN] = "NotSeen"};

void write_gap_encode(const struct write_gap *gap, json_t *change)
{
    if (gap->until == WRITE_GAP_UNTIL_UNKNOWN)
        return;
    json_put_str(change, "writesBlockedUntil", until_names[gap->until]);
    status_put_positive(change, "uncertaintyMs", gap->uncertainty_ms);
    json_put_int(change, "openedMs", gap->opened_ms);
    if (gap->until == WRITE_GAP_UNTIL_FIRST_COMMIT)
        json_put_int(change, "routeMs", gap->route_ms);
}

void write_gap_decode(const json_t *change, struct write_gap *ret)
{
    *ret = (struct write_gap){.until = (enum write_gap_until)json_name_index(
                                  until_names, WRITE_GAP_UNTIL_COUNT, json_path_str(change, "writesBlockedUntil", ""))};
    if (ret->until == WRITE_GAP_UNTIL_UNKNOWN)
        return;
    ret->uncertainty_ms = MAX_OF(0, json_path_int(change, "uncertaintyMs", 0));
    ret->opened_ms = MAX_OF(0, json_path_int(change, "openedMs", 0));
    if (ret->until == WRITE_GAP_UNTIL_FIRST_COMMIT)
        ret->route_ms = MAX_OF(0, json_path_int(change, "routeMs", 0));
}

bool write_gap_same(const struct write_gap *a, const struct write_gap *b)
{
    return a->until == b->until && a->uncertainty_ms == b->uncertainty_ms && a->opened_ms == b->opened_ms &&
        a->route_ms == b->route_ms;
}
