/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/seed_position.h"

#include <errno.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/json_note.h"
#include "common/log.h"

#define FILE_MAX (POSITION_TEXT_MAX + 16 * KM_KIB)
/* ER_BINLOG_MUST_BE_EMPTY: transactions were logged since; then the state is known already. */
#define BINLOG_NOT_EMPTY 1956

static const struct json_field fields[] = {
    JSON_FIELD(seed_position, "gtid", JSON_FIELD_POSITION, CHANGE_COUNTS, gtid),
    JSON_FIELD(seed_position, "donor", JSON_FIELD_TEXT, CHANGE_COUNTS, donor),
    JSON_FIELD(seed_position, "atMs", JSON_FIELD_I64, CHANGE_COUNTS, at_ms),
};

int seed_position_write(const char *dir, const struct seed_position *position, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/" SEED_POSITION_FILE, dir);

    return json_note_write(path, fields, ARRAY_LEN(fields), position, err);
}

static char *file_of(const struct agent_paths *paths)
{
    return xasprintf("%s/" SEED_POSITION_FILE, paths->data_dir);
}

bool seed_position_pending(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = file_of(paths);

    return fs_exists(path);
}

/* The text was checked to be a GTID position: nothing in it needs quoting. */
static int set_global(struct session *session, const char *variable, const char *gtid, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL %s = '%s'", variable, gtid);

    return session_exec(session, sql, err);
}

static int tell_server(struct session *session, const char *gtid, struct error *err)
{
    struct error failure = ERROR_INIT;
    struct gtid_set *set = gtid_set_parse(GTID_MARIADB, gtid, err);

    if (!set)
        return -1;
    gtid_set_free(set);
    /* The binary log begins after the position: a replica that wants older transactions is refused instead of missing
     * them. */
    if (set_global(session, "gtid_binlog_state", gtid, &failure) < 0 && failure.code != BINLOG_NOT_EMPTY) {
        if (failure.kind != ERROR_DATABASE)
            return error_set_code(err, failure.kind, failure.code, "%s", failure.message);
        log_info("the binary log does not take the position", LOG_ERR(&failure)); /* it is off */
    }
    return set_global(session, "gtid_slave_pos", gtid, err);
}

int seed_position_apply(const struct agent_paths *paths, struct session *session, struct error *err)
{
    _cleanup_(freep) char *path = file_of(paths);
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);
    struct seed_position position = {0};

    if (!fs_exists(path))
        return 0;
    if (json_note_read(path, FILE_MAX, fields, ARRAY_LEN(fields), positions, &position, err) < 0)
        return error_prefix(err, "the position of the copied data");
    if (!str_empty(position.gtid) && tell_server(session, position.gtid, err) < 0)
        return error_prefix(err, "the position of the copied data");
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "removing %s", path);
    log_info("the server knows the position of its copied data", LOG_STR("gtid", str_or_empty(position.gtid)),
        LOG_STR("donor", position.donor));
    return fs_fsync_dir(paths->data_dir, err);
}

int seed_position_parse_binlog_info(const char *text, char **ret, struct error *err)
{
    /* file TAB offset [TAB position] */
    const char *at = text;
    for (int word = 0; word < 2; word++) {
        at += strcspn(at, "\t\n");
        if (*at == '\t')
            at++;
        else if (word == 0)
            return error_set(err, ERROR_PROTOCOL, "the copy's binlog_info has one word only");
    }
    size_t len = strcspn(at, "\t\r\n");
    if (len > POSITION_TEXT_MAX)
        return error_set(err, ERROR_TOO_LARGE, "the copy's GTID position has %zu bytes", len);
    _cleanup_(freep) char *gtid = xstrndup(at, len);
    struct gtid_set *set = gtid_set_parse(GTID_MARIADB, gtid, err);
    if (!set)
        return error_prefix(err, "the copy's GTID position");
    gtid_set_free(set);
    str_replace(ret, gtid);
    return 0;
}

int seed_position_find(const char *dir, char **ret, struct error *err)
{
    static const char *const names[] = {"mariadb_backup_binlog_info", "xtrabackup_binlog_info"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", dir, names[i]);
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, FILE_MAX);
        if (fs_exists(path))
            return fs_read_file(path, &text, err) < 0 ? -1 : seed_position_parse_binlog_info(text.buf, ret, err);
    }
    return error_set(
        err, ERROR_NOT_FOUND, "the copy does not say which transactions it holds (no binlog_info: is log_bin off?)");
}
