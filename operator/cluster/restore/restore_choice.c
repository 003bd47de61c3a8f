/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/restore_choice.h"

#include "common/agent_api.h"
#include "common/gtid.h"

#define TIME_LEN (sizeof("20261121T204512Z") - 1)

bool restore_may_fit(const struct restore_spec *wish, const char *id)
{
    char limit[BACKUP_ID_SIZE];
    if (wish->point != RESTORE_POINT_TIME)
        return true;
    backup_id_make(wish->until_ms, "x", 1, limit);
    bool is_time = strspn(id, "0123456789") == 8 && id[8] == 'T';
    return !is_time || strncmp(id, limit, TIME_LEN) <= 0;
}

static int fits_gtid(const char *target_text, const struct backup_manifest *manifest, struct error *err)
{
    bool mariadb = str_eq(manifest->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
    enum gtid_flavour flavour = mariadb ? GTID_MARIADB : GTID_MYSQL;
    _cleanup_(gtid_set_freep) struct gtid_set *target = gtid_set_parse(flavour, target_text, err);
    if (!target) {
        error_prefix(err, "spec.restoreFrom.gtid: backup %s is of %s", manifest->id, manifest->flavour);
        err->kind = ERROR_INVALID;
        return -1;
    }
    _cleanup_(gtid_set_freep) struct gtid_set *held = gtid_set_parse(flavour, str_or_empty(manifest->gtid), NULL);
    if (!held) /* an earlier version could not keep it whole */
        return 0;
    enum gtid_relation relation = gtid_set_compare(held, target);
    bool one = !mariadb && gtid_set_count(target) == 1;
    if (one)
        return relation == GTID_SUBSET || relation == GTID_DIVERGED;
    return relation == GTID_SUBSET || relation == GTID_EQUAL;
}

int restore_fits(const struct restore_spec *wish, const struct backup_manifest *manifest, struct error *err)
{
    switch (wish->point) {
    case RESTORE_POINT_TIME:
        return manifest->completed_ms <= wish->until_ms;
    case RESTORE_POINT_GTID:
        return fits_gtid(wish->until_gtid, manifest, err);
    default:
        return 1;
    }
}
