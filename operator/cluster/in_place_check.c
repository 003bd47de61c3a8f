#include "common/base.h"

#include "operator/cluster/in_place_check.h"

#define FIELD "spec.restoreFrom"

static bool is_mariadb(const char *flavour)
{
    return str_eq(flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
}

/* "10.11" of "10.11.6-MariaDB". */
static size_t series_len(const char *version)
{
    size_t major = strcspn(version, ".");
    return version[major] ? major + 1 + strspn(version + major + 1, "0123456789") : major;
}

static bool same_series(const char *a, const char *b)
{
    size_t len = series_len(a);
    return len == series_len(b) && strncmp(a, b, len) == 0;
}

const char *in_place_check(
    const struct restore_answer *answer, const struct agent_status *member, char *why, size_t size)
{
    bool known = *answer->flavour && *answer->server_version && *member->version;
    bool other = is_mariadb(answer->flavour) != (member->flavour == AGENT_FLAVOUR_MARIADB);
    if (known && (other || !same_series(answer->server_version, member->version))) {
        snprintf(why, size, "the backup is of %s %s, the members run %s: it cannot be restored here", answer->flavour,
            answer->server_version, member->version);
        return "ServerMismatch";
    }
    if (member->volume_bytes > 0 && member->volume_free_bytes < answer->data_bytes + IN_PLACE_ROOM_MARGIN) {
        snprintf(why, size,
            "the data volume is too small: the backup goes beside the data and needs %llu MiB, %llu MiB are free",
            (unsigned long long)((answer->data_bytes + IN_PLACE_ROOM_MARGIN) / KM_MIB),
            (unsigned long long)(member->volume_free_bytes / KM_MIB));
        return "VolumeTooSmall";
    }
    return NULL;
}

const char *in_place_message(const char *message)
{
    const char *rest = strncmp(message, FIELD, sizeof(FIELD) - 1) == 0 ? strstr(message, ": ") : NULL;
    return rest ? rest + 2 : message;
}
