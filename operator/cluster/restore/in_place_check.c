/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/in_place_check.h"

#include "operator/cluster/state/server_series.h"

#define FIELD "spec.restoreFrom"

static bool is_mariadb(const char *flavour)
{
    return str_eq(flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
}

enum restore_reason in_place_check(
    const struct restore_answer *answer, const struct agent_status *member, char *why, size_t size)
{
    bool known = *answer->flavour && *answer->server_version && *member->version;
    bool other = is_mariadb(answer->flavour) != (member->flavour == AGENT_FLAVOUR_MARIADB);
    if (known && (other || !server_series_same(answer->server_version, member->version))) {
        snprintf(why, size, "the backup is of %s %s, the members run %s: it cannot be restored here", answer->flavour,
            answer->server_version, member->version);
        return RESTORE_REASON_SERVER_MISMATCH;
    }
    if (member->volume_bytes > 0 && member->volume_free_bytes < answer->data_bytes + IN_PLACE_ROOM_MARGIN) {
        snprintf(why, size,
            "the data volume is too small: the backup goes beside the data and needs %llu MiB, %llu MiB are free",
            (unsigned long long)((answer->data_bytes + IN_PLACE_ROOM_MARGIN) / KM_MIB),
            (unsigned long long)(member->volume_free_bytes / KM_MIB));
        return RESTORE_REASON_VOLUME_TOO_SMALL;
    }
    return RESTORE_REASON_NONE;
}

const char *in_place_message(const char *message)
{
    const char *rest = strncmp(message, FIELD, sizeof(FIELD) - 1) == 0 ? strstr(message, ": ") : NULL;
    return rest ? rest + 2 : message;
}
