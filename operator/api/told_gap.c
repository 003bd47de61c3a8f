/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/told_gap.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

static const char *const until_names[TOLD_UNTIL_COUNT] = {
    [TOLD_UNTIL_UNKNOWN] = "", [TOLD_UNTIL_OPENING] = "Opening", [TOLD_UNTIL_FIRST_COMMIT] = "FirstCommit"};

void told_gap_encode(const struct told_gap *told, json_t *change)
{
    if (told->until == TOLD_UNTIL_UNKNOWN)
        return;
    json_put_str(change, "writesBlockedUntil", until_names[told->until]);
    status_put_positive(change, "uncertaintyMs", told->uncertainty_ms);
    json_put_int(change, "openedMs", told->opened_ms);
    if (told->until == TOLD_UNTIL_FIRST_COMMIT)
        json_put_int(change, "routeMs", told->route_ms);
}

void told_gap_decode(const json_t *change, struct told_gap *ret)
{
    *ret = (struct told_gap){.until = (enum told_until)json_name_index(
                                 until_names, TOLD_UNTIL_COUNT, json_path_str(change, "writesBlockedUntil", ""))};
    if (ret->until == TOLD_UNTIL_UNKNOWN)
        return;
    ret->uncertainty_ms = MAX_OF(0, json_path_int(change, "uncertaintyMs", 0));
    ret->opened_ms = MAX_OF(0, json_path_int(change, "openedMs", 0));
    if (ret->until == TOLD_UNTIL_FIRST_COMMIT)
        ret->route_ms = MAX_OF(0, json_path_int(change, "routeMs", 0));
}

bool told_gap_same(const struct told_gap *a, const struct told_gap *b)
{
    return a->until == b->until && a->uncertainty_ms == b->uncertainty_ms && a->opened_ms == b->opened_ms &&
        a->route_ms == b->route_ms;
}
