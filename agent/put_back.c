/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/put_back.h"

#include <unistd.h>

#include "agent/bootstrap/volume_mark.h"
#include "agent/mysql/replication_facts.h"
#include "agent/mysql/row_value.h"
#include "agent/put_back_part.h"
#include "agent/relay_apply.h"
#include "agent/set_aside.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/json_note.h"
#include "common/log.h"
#include "common/strbuf.h"

#define NOTE_MAX ((size_t)(16 * KM_KIB))
#define UP_TO_SIZE 4096
#define FAILURE_MAX ((size_t)(4 * KM_KIB))
#define LOG_NAME "binlog.000001" /* of what was set aside (set_aside.h) */
/* Of PUT_BACK_MS each: a server that applies nothing in so long is to be replaced. */
#define TRIES_MAX 15
/* Nobody's: of a member it would be serverIdBase and an ordinal, or drawn (bootstrap/server_id.h). */
#define OTHER_SERVER_ID "4294967294"

struct note {
    char folder[AGENT_SET_ASIDE_SIZE];
    char up_to[UP_TO_SIZE];
    char server_id[16]; /* "": it is the server's own still */
    uint64_t tries;     /* that came to no end in time */
};

static const struct json_field fields[] = {
    JSON_FIELD(note, "folder", JSON_FIELD_TEXT, CHANGE_COUNTS, folder),
    JSON_FIELD(note, "upTo", JSON_FIELD_TEXT, CHANGE_COUNTS, up_to),
    JSON_FIELD(note, "serverId", JSON_FIELD_TEXT, CHANGE_COUNTS, server_id),
    JSON_FIELD(note, "tries", JSON_FIELD_U64, CHANGE_COUNTS, tries),
};

/* ---- the note ---- */

static char *note_path(const struct agent_paths *paths)
{
    return xasprintf("%s/put-back.json", paths->state_dir);
}

static char *failure_path(const struct agent_paths *paths)
{
    return xasprintf("%s/put-back-failed", paths->state_dir);
}

static int note_write(const struct agent_paths *paths, const struct note *note, struct error *err)
{
    _cleanup_(freep) char *path = note_path(paths);

    return json_note_write(path, fields, ARRAY_LEN(fields), note, err);
}

static bool note_read(const struct agent_paths *paths, struct note *ret)
{
    _cleanup_(freep) char *path = note_path(paths);

    if (!fs_exists(path))
        return false;
    *ret = (struct note){.folder = ""};
    if (json_note_read(path, NOTE_MAX, fields, ARRAY_LEN(fields), NULL, ret, NULL) < 0)
        *ret = (struct note){.folder = ""}; /* then it cannot be taken back */
    return true;
}

int put_back_note(const struct agent_paths *paths, const char *set_aside, const char *up_to, struct error *err)
{
    struct note note = {.folder = ""};
    size_t len = strcspn(set_aside, ":");

    if (len >= sizeof(note.folder) || strlen(up_to) >= sizeof(note.up_to))
        return error_set(err, ERROR_TOO_LARGE, "the position %.100s... is too long", up_to);
    memcpy(note.folder, set_aside, len);
    snprintf(note.up_to, sizeof(note.up_to), "%s", up_to);
    return note_write(paths, &note, err);
}

bool put_back_is_due(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = note_path(paths);

    return access(path, F_OK) == 0;
}

static void forget_note(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = note_path(paths);

    unlink(path);
}

void put_back_forget(const struct agent_paths *paths)
{
    _cleanup_(freep) char *failure = failure_path(paths);

    forget_note(paths);
    unlink(failure);
}

/* ---- why it could not be ---- */

static void note_failure(const struct agent_paths *paths, const struct error *failure)
{
    _cleanup_(freep) char *path = failure_path(paths);
    struct error err = ERROR_INIT;

    if (fs_write_file_atomic(path, failure->message, strlen(failure->message), 0600, &err) < 0)
        log_warn("why the data is to be replaced cannot be noted", LOG_ERR(&err));
}

void put_back_failure(const struct agent_paths *paths, struct error *ret)
{
    _cleanup_(freep) char *path = failure_path(paths);
    _cleanup_(strbuf_release) struct strbuf text;

    error_clear(ret);
    strbuf_init(&text, FAILURE_MAX);
    if (fs_exists(path) && fs_read_file(path, &text, ret) == 0)
        error_set(ret, ERROR_NOT_FOUND, "what the start of the server has cut off cannot be taken back: %s", text.buf);
}

/* ---- under another server id ---- */

static void take_text(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    if (count > 0 && values[0])
        row_value_copy(arg, sizeof(((struct note *)NULL)->server_id), values[0]);
}

static int leave_server_id(
    const struct agent_paths *paths, struct note *note, struct session *session, struct error *err)
{
    if (!*note->server_id &&
        (session_query(session, "SELECT @@global.server_id", take_text, note->server_id, err) < 0 ||
            note_write(paths, note, err) < 0))
        return -1;
    return session_exec(session, "SET GLOBAL server_id = " OTHER_SERVER_ID, err);
}

static int return_server_id(const struct note *note, struct session *session, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("SET GLOBAL server_id = %lu", strtoul(note->server_id, NULL, 10));

    return *note->server_id ? session_exec(session, sql, err) : 0;
}

static int apply(const struct agent_paths *paths, const struct dialect *dialect, struct note *note, const char *spool,
    struct session *session, struct error *err)
{
    const struct relay_apply what = {
        .data_dir = paths->data_dir,
        .dialect = dialect,
        .channel = PUT_BACK_CHANNEL,
        .log = spool,
        .gtids = note->up_to,
        .limit_ms = PUT_BACK_MS,
    };
    struct error failure = ERROR_INIT;

    if (leave_server_id(paths, note, session, err) < 0)
        return -1;
    int rc = relay_apply_run(&what, session, err);
    if (return_server_id(note, session, rc < 0 ? &failure : err) < 0)
        rc = -1;
    return rc;
}

/* ---- together ---- */

static int take_back(const struct agent_paths *paths, const struct dialect *dialect, struct note *note,
    struct session *session, struct error *err)
{
    _cleanup_(freep) char *log = xasprintf("%s/set-aside/%s/" LOG_NAME, paths->state_dir, note->folder);
    _cleanup_(freep) char *spool = xasprintf("%s/put-back.binlog", paths->state_dir);
    _cleanup_(gtid_set_freep) struct gtid_set *up_to = gtid_set_parse(GTID_MARIADB, note->up_to, err);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = up_to ? replication_executed(session, dialect, err) : NULL;
    bool any = false;

    if (!executed || put_back_part_write(log, executed, up_to, spool, &any, err) < 0)
        return -1;
    if (!any) {
        log_info("nothing that the start has cut off is lacking", LOG_STR("up_to", note->up_to));
        return 0;
    }
    log_info("what the start has cut off and the next primary had is taken back", LOG_STR("up_to", note->up_to));
    int rc = apply(paths, dialect, note, spool, session, err);
    unlink(spool);
    return rc;
}

/* What was applied stays, and the next try begins behind it. */
static bool goes_on(const struct agent_paths *paths, struct note *note, const struct error *failure)
{
    note->tries++;
    return failure->kind == ERROR_TIMEOUT && note->tries < TRIES_MAX && note_write(paths, note, NULL) == 0;
}

int put_back_run(
    const struct agent_paths *paths, const struct dialect *dialect, struct session *session, struct error *err)
{
    struct note note;
    struct error failure = ERROR_INIT;

    if (!note_read(paths, &note))
        return 0;
    if (return_server_id(&note, session, err) < 0) /* an agent has died in the middle */
        return -1;
    if (take_back(paths, dialect, &note, session, &failure) < 0) {
        if (session_is_broken(session) || goes_on(paths, &note, &failure)) {
            *err = failure;
            return -1;
        }
        log_warn(
            "what the start has cut off cannot be taken back: the data is to be replaced by a copy", LOG_ERR(&failure));
        note_failure(paths, &failure);
        if (volume_mark_write(paths, AGENT_MARK_RESEED, err) < 0)
            return -1;
    }
    forget_note(paths);
    return 0;
}
