/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/restore_check.h"

#include "common/agent_api.h"

int restore_check_manifest(
    const struct backup_manifest *manifest, const struct server_version *server, bool has_tools, struct error *err)
{
    struct server_version writer;
    bool mariadb = server->flavour == AGENT_FLAVOUR_MARIADB;

    if (str_eq(manifest->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB)) != mariadb)
        return error_set(err, ERROR_INVALID, "the backup is of %s %s, this image holds %s: it cannot be restored here",
            manifest->flavour, manifest->server_version, server->text);
    if (server_version_parse(manifest->server_version, NULL, &writer, err) < 0) {
        if (err)
            err->kind = ERROR_INVALID;
        return error_prefix(err, "the backup's server version");
    }
    if (server_version_series(&writer) != server_version_series(server))
        return error_set(err, ERROR_INVALID,
            "the backup is of server %s, this image holds the %s %s: restore it with an image of its own series, then change the image",
            manifest->server_version,
            server_version_series(&writer) > server_version_series(server) ? "older" : "newer", server->text);
    bool files = manifest->stream == (mariadb ? STREAM_METHOD_XBSTREAM : STREAM_METHOD_TAR);
    if (files && mariadb && !has_tools)
        return error_set(err, ERROR_INVALID,
            "the backup holds files (method physical), this image has no mariadb-backup to unpack them: use an image "
            "that has it, or a backup of method logical");
    if (files && !mariadb && writer.number > server->number)
        return error_set(err, ERROR_INVALID,
            "the backup holds the files of server %s, this image holds the older %s: MySQL's files cannot go back, use an image of at least that version",
            manifest->server_version, server->text);
    if (!files && manifest->stream != STREAM_METHOD_SQL)
        return error_set(err, ERROR_INVALID, "the backup is in a form that this image and its agent cannot unpack");
    return 0;
}

static struct restore_failure failure(enum restore_retry retry, enum restore_reason reason)
{
    return (struct restore_failure){retry, reason};
}

static struct restore_failure of_store(const struct error *err, enum restore_reason not_found)
{
    switch (err->kind) {
    case ERROR_FORBIDDEN:
    case ERROR_INVALID:
        return failure(RESTORE_RETRY_SLOWLY, RESTORE_REASON_STORE_REFUSED);
    case ERROR_NOT_FOUND:
        return failure(RESTORE_RETRY_SLOWLY, not_found);
    case ERROR_PROTOCOL:
    case ERROR_TOO_LARGE:
        return failure(RESTORE_GIVE_UP, RESTORE_REASON_BACKUP_DAMAGED);
    default:
        return failure(RESTORE_RETRY, RESTORE_REASON_STORE_UNAVAILABLE);
    }
}

struct restore_failure restore_classify(enum restore_place place, const struct error *err)
{
    switch (place) {
    case RESTORE_AT_MANIFEST:
        return err->kind == ERROR_UNAUTHORIZED ? failure(RESTORE_RETRY_SLOWLY, RESTORE_REASON_STORE_REFUSED)
                                               : of_store(err, RESTORE_REASON_BACKUP_MISSING);
    case RESTORE_AT_DATA:
        return err->kind == ERROR_UNAUTHORIZED ? failure(RESTORE_GIVE_UP, RESTORE_REASON_KEY_INVALID)
                                               : of_store(err, RESTORE_REASON_BACKUP_MISSING);
    case RESTORE_AT_CHECK:
        if (err->kind == ERROR_INVALID)
            return failure(RESTORE_GIVE_UP, RESTORE_REASON_SERVER_MISMATCH);
        if (err->kind == ERROR_FORBIDDEN)
            return failure(RESTORE_GIVE_UP, RESTORE_REASON_KEY_INVALID);
        if (err->kind == ERROR_PROTOCOL)
            return failure(RESTORE_GIVE_UP, RESTORE_REASON_BACKUP_DAMAGED);
        if (err->kind == ERROR_TOO_LARGE)
            return failure(RESTORE_RETRY_SLOWLY, RESTORE_REASON_VOLUME_TOO_SMALL);
        return failure(RESTORE_RETRY, RESTORE_REASON_TOOL_FAILED);
    case RESTORE_AT_COPY:
        if (err->kind == ERROR_INVALID)
            return failure(RESTORE_GIVE_UP, RESTORE_REASON_COPY_UNUSABLE);
        if (err->kind == ERROR_PROTOCOL)
            return failure(RESTORE_GIVE_UP, RESTORE_REASON_BACKUP_DAMAGED);
        return restore_classify(RESTORE_AT_TOOLS, err);
    default:
        return err->kind == ERROR_TOO_LARGE ? failure(RESTORE_RETRY_SLOWLY, RESTORE_REASON_VOLUME_TOO_SMALL)
                                            : failure(RESTORE_RETRY, RESTORE_REASON_TOOL_FAILED);
    }
}

void restore_check_full(enum restore_place place, uint64_t free_bytes, struct error *err)
{
    bool of_tools = place == RESTORE_AT_TOOLS || place == RESTORE_AT_COPY;

    if (!of_tools || err->kind == ERROR_CANCELLED || free_bytes >= RESTORE_FULL_BYTES)
        return;
    error_prefix(err, "%llu MiB are left on the volume", (unsigned long long)(free_bytes / KM_MIB));
    err->kind = ERROR_TOO_LARGE;
}

struct restore_failure restore_failure_of(enum restore_reason reason)
{
    switch (reason) {
    case RESTORE_REASON_GAP_IN_ARCHIVE:
    case RESTORE_REASON_BACKUP_TOO_NEW:
    case RESTORE_REASON_BACKUP_DAMAGED:
    case RESTORE_REASON_KEY_INVALID:
        return failure(RESTORE_GIVE_UP, reason);
    case RESTORE_REASON_TARGET_NOT_COVERED:
    case RESTORE_REASON_REPLAY_FAILED:
    case RESTORE_REASON_VOLUME_TOO_SMALL:
    case RESTORE_REASON_STORE_REFUSED:
        return failure(RESTORE_RETRY_SLOWLY, reason);
    case RESTORE_REASON_STORE_UNAVAILABLE:
        return failure(RESTORE_RETRY, reason);
    default:
        return failure(RESTORE_RETRY, RESTORE_REASON_TOOL_FAILED);
    }
}
