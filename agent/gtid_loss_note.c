/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/gtid_loss_note.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json_note.h"
#include "common/log.h"

#define NOTE_MAX ((size_t)(4 * KM_KIB))

static const struct json_field fields[] = {
    JSON_FIELD(gtids_lost, "lost", JSON_FIELD_BOOL, CHANGE_COUNTS, is_lost),
    JSON_FIELD(gtids_lost, "wasOpen", JSON_FIELD_BOOL, CHANGE_COUNTS, was_open),
    JSON_FIELD(gtids_lost, "lacking", JSON_FIELD_TEXT, CHANGE_COUNTS, lacking),
};

static char *note_path(const struct agent_paths *paths)
{
    return xasprintf("%s/kube-mysql-gtids-lost.json", paths->data_dir);
}

struct gtids_lost gtid_loss_note_read(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = note_path(paths);
    struct gtids_lost lost = {.is_lost = false};
    struct error err = ERROR_INIT;

    if (!fs_exists(path) || json_note_read(path, NOTE_MAX, fields, ARRAY_LEN(fields), NULL, &lost, &err) == 0)
        return lost;
    log_warn("what is noted of a GTID position that was set back cannot be read", LOG_ERR(&err));
    return (struct gtids_lost){.is_lost = true, .was_open = true};
}

int gtid_loss_note_write(const struct agent_paths *paths, const struct gtids_lost *lost, struct error *err)
{
    _cleanup_(freep) char *path = note_path(paths);

    return json_note_write(path, fields, ARRAY_LEN(fields), lost, err);
}

/* ---- beside the loop ---- */

static void run(void *arg)
{
    struct gtid_loss_keeper *keeper = arg;

    error_clear(&keeper->error);
    (void)(gtid_loss_note_write(keeper->paths, &keeper->asked, &keeper->error) == 0);
}

static void done(void *arg)
{
    struct gtid_loss_keeper *keeper = arg;

    keeper->busy = false;
    if (keeper->error.kind == ERROR_NONE) {
        keeper->noted = keeper->asked;
        return;
    }
    log_warn("that the GTID position was set back cannot be noted", LOG_ERR(&keeper->error));
    keeper->retry_ms = clock_monotonic_ms() + GTID_LOSS_RETRY_MS;
}

void gtid_loss_keeper_init(struct gtid_loss_keeper *keeper, const struct agent_paths *paths, struct worker *worker)
{
    *keeper = (struct gtid_loss_keeper){.paths = paths, .worker = worker, .noted = gtid_loss_note_read(paths)};
}

void gtid_loss_keeper_turn(struct gtid_loss_keeper *keeper, const struct gtids_lost *lost, int64_t now_ms)
{
    struct worker_job job = {.run = run, .done = done, .arg = keeper};
    bool is_noted = lost->is_lost == keeper->noted.is_lost && lost->was_open == keeper->noted.was_open;

    if (is_noted || keeper->busy || now_ms < keeper->retry_ms)
        return;
    keeper->asked = *lost;
    error_set(&keeper->error, ERROR_CANCELLED, "the agent ends");
    keeper->busy = worker_submit(keeper->worker, &job) == 0;
}
