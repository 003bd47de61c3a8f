/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/catch_up_note.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/strbuf.h"

#define TEXT_MAX (POSITION_TEXT_MAX + (size_t)KM_KIB)

static const struct json_field fields[] = {
    JSON_FIELD(caught_up, "server", JSON_FIELD_TEXT, CHANGE_COUNTS, server),
    JSON_FIELD(caught_up, "received", JSON_FIELD_POSITION, CHANGE_COUNTS, received),
    JSON_FIELD(caught_up, "boot", JSON_FIELD_TEXT, CHANGE_COUNTS, boot),
    JSON_FIELD(caught_up, "synced", JSON_FIELD_BOOL, CHANGE_COUNTS, synced),
};

/* Those that still count, in a pool of their own. */
static void keep_positions(struct catch_up_note *note)
{
    struct position_pool *old = note->positions;
    struct caught_up *const all[] = {&note->found, &note->last, &note->past};

    note->positions = position_pool_new(ARRAY_LEN(all) * POSITION_TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        all[i]->received = position_take(note->positions, all[i]->received);
    position_pool_unref(old);
}

static void read_note(struct catch_up_note *note)
{
    _cleanup_(freep) char *path = relay_keep_proof_path(note->paths);
    _cleanup_(strbuf_release) struct strbuf text;
    struct caught_up found = {0};

    strbuf_init(&text, TEXT_MAX);
    note->is_there = fs_exists(path);
    if (fs_read_file(path, &text, NULL) < 0)
        return;
    _cleanup_(json_decrefp) json_t *object = json_loadb(text.buf, text.len, 0, NULL);
    if (object && json_fields_decode(fields, ARRAY_LEN(fields), object, &found, NULL) == 0) {
        note->found = note->last = found;
        keep_positions(note);
    }
}

void catch_up_note_init(struct catch_up_note *note, const struct agent_paths *paths)
{
    *note = (struct catch_up_note){.paths = paths};
    relay_keep_boot(note->boot);
    read_note(note);
    note->unsure = !note->is_there;
    server_run_id(paths, note->server);
}

void catch_up_note_release(struct catch_up_note *note)
{
    position_pool_unref(note->positions);
    note->positions = NULL;
}

void catch_up_note_look_at(struct catch_up_note *note, const char server[static SERVER_RUN_SIZE],
    struct catch_up *catch_up, enum agent_flavour flavour, const char *received, int64_t now_ms)
{
    bool same = strcmp(server, note->server) == 0;
    note->known = same && *server;
    if (!same) {
        catch_up_gap(catch_up, now_ms);
        catch_up_note_server_gone(note);
    } else if (*note->found.server && strcmp(server, note->found.server) != 0) {
        catch_up_note_server_gone(note); /* it had ended before this agent began */
    } else if (note->known && strcmp(server, note->found.server) == 0) {
        catch_up_resume(catch_up, flavour, note->found.received, received);
    }
    memcpy(note->server, server, sizeof(note->server));
    note->found = (struct caught_up){0};
}

void catch_up_note_look(struct catch_up_note *note, struct catch_up *catch_up, enum agent_flavour flavour,
    const char *received, int64_t now_ms)
{
    char server[SERVER_RUN_SIZE];

    server_run_id(note->paths, server);
    bool is_back = *server && strcmp(server, note->server) == 0 && strcmp(server, note->found.server) == 0;
    catch_up_note_look_at(note, server, catch_up, flavour, received, now_ms);
    if (is_back)
        log_info("an agent is back beside its server", LOG_BOOL("caughtUp", catch_up->up));
}

void catch_up_note_server_gone(struct catch_up_note *note)
{
    if (note->is_there)
        note->past = note->last;
}

void catch_up_note_spend(struct catch_up_note *note)
{
    note->past = (struct caught_up){0};
}

void catch_up_note_relay_logs_kept(
    const struct catch_up_note *note, struct catch_up *catch_up, enum agent_flavour flavour, const char *received)
{
    const struct caught_up *past = &note->past;
    bool same_boot = *past->boot && strcmp(past->boot, note->boot) == 0;

    if (*past->server && (same_boot || past->synced))
        catch_up_kept(catch_up, flavour, past->received, received);
}

static void count_change(struct catch_up_note *note)
{
    if (note->synced || note->last.synced)
        note->change++;
}

uint64_t catch_up_note_unsynced(const struct catch_up_note *note)
{
    return note->change != note->on_disk ? note->change : 0;
}

void catch_up_note_synced(struct catch_up_note *note, uint64_t change)
{
    note->on_disk = MAX_OF(note->on_disk, change);
}

int catch_up_note_sync(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = relay_keep_proof_path(paths);
    struct error err = ERROR_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    int rc = fd < 0 ? 0 : fdatasync(fd); /* it may be gone */

    if (rc < 0)
        log_warn("a note cannot be synced", LOG_STR("path", path));
    if (fd >= 0)
        close(fd);
    if (fs_fsync_dir(paths->run_dir, &err) < 0) {
        log_warn("the folder of notes cannot be synced", LOG_ERR(&err));
        rc = -1;
    }
    return rc;
}

/* Half a note is none: it cannot be read. */
static bool write_note(struct catch_up_note *note, const char *received)
{
    _cleanup_(freep) char *path = relay_keep_proof_path(note->paths);
    _cleanup_(json_decrefp) json_t *object = json_object();
    struct caught_up caught_up = {.synced = note->synced, .received = received};

    memcpy(caught_up.server, note->server, sizeof(caught_up.server));
    memcpy(caught_up.boot, note->boot, sizeof(caught_up.boot));
    json_fields_encode(fields, ARRAY_LEN(fields), &caught_up, object);
    _cleanup_(freep) char *text = json_text(object);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    (void)(write(fd, text, strlen(text)) > 0);
    close(fd);
    count_change(note);
    note->last = caught_up;
    keep_positions(note);
    return true;
}

static bool remove_note(struct catch_up_note *note)
{
    _cleanup_(freep) char *path = relay_keep_proof_path(note->paths);

    note->found = (struct caught_up){0};
    if (unlink(path) == 0 || errno == ENOENT || truncate(path, 0) == 0) {
        count_change(note);
        note->last = (struct caught_up){0};
        return true;
    }
    note->last = (struct caught_up){0};
    log_warn("a note that is no longer true cannot be removed", LOG_STR("path", path));
    return false;
}

enum catch_up_note_act catch_up_note_decide(struct catch_up_note *note, bool up, const char *received)
{
    bool wanted = up && note->known && !str_empty(received) && position_is_whole(received);

    if (note->unsure && note->synced) {
        note->unsure = false;
        count_change(note);
    }
    if (!wanted && *note->past.server)
        return CATCH_UP_NOTE_STAYS;
    bool is_right = wanted && note->is_there && !*note->past.server && note->last.synced == note->synced;
    if (wanted ? is_right : !note->is_there)
        return CATCH_UP_NOTE_STAYS;
    if (wanted)
        catch_up_note_spend(note);
    return wanted ? CATCH_UP_NOTE_WRITTEN : CATCH_UP_NOTE_REMOVED;
}

void catch_up_note_keep(struct catch_up_note *note, bool up, const char *received)
{
    enum catch_up_note_act act = catch_up_note_decide(note, up, received);

    if (act != CATCH_UP_NOTE_STAYS)
        note->is_there =
            act == CATCH_UP_NOTE_WRITTEN ? write_note(note, received) || note->is_there : !remove_note(note);
}
