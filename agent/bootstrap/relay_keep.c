/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/relay_keep.h"

#include <errno.h>
#include <unistd.h>

#include "agent/bootstrap/run_mycnf.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/json_note.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/tls.h"

#define TEXT_MAX 512
#define BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define POD_NAME_BYTES 24

static const struct json_field fields[] = {
    JSON_FIELD(relay_keep, "boot", JSON_FIELD_TEXT, CHANGE_COUNTS, boot),
    JSON_FIELD(relay_keep, "pod", JSON_FIELD_TEXT, CHANGE_COUNTS, pod),
    JSON_FIELD(relay_keep, "synced", JSON_FIELD_BOOL, CHANGE_COUNTS, synced),
    JSON_FIELD(relay_keep, "dropping", JSON_FIELD_BOOL, CHANGE_COUNTS, dropping),
};

bool relay_keep_decide(const struct relay_keep *noted, const struct relay_keep *now)
{
    if (!*noted->boot || !*now->boot || noted->dropping)
        return false;
    bool same = strcmp(noted->boot, now->boot) == 0 && *now->pod && strcmp(noted->pod, now->pod) == 0;
    return same || (noted->synced && now->synced);
}

static void read_line(const char *path, char *ret, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, TEXT_MAX);
    *ret = '\0';
    if (fs_read_file(path, &text, NULL) == 0)
        snprintf(ret, size, "%.*s", (int)strcspn(text.buf, "\r\n"), text.buf);
}

void relay_keep_boot(char ret[static RELAY_KEEP_NAME_SIZE])
{
    read_line(BOOT_FILE, ret, RELAY_KEEP_NAME_SIZE);
}

/* Made at the first start in this pod. Of two processes that make one at a time both take the one that is there
 * first. */
void relay_keep_pod(const struct agent_paths *paths, char ret[static RELAY_KEEP_NAME_SIZE])
{
    _cleanup_(freep) char *path = xasprintf("%s/relay-pod", paths->run_dir);

    read_line(path, ret, RELAY_KEEP_NAME_SIZE);
    if (*ret)
        return;
    _cleanup_(freep) char *name = tls_random_password(POD_NAME_BYTES);
    _cleanup_(freep) char *made = xasprintf("%s.%s", path, name);
    if (fs_write_file_atomic(made, name, strlen(name), 0600, NULL) == 0 && (link(made, path) == 0 || errno == EEXIST))
        read_line(path, ret, RELAY_KEEP_NAME_SIZE);
    unlink(made);
}

static void look(const struct agent_paths *paths, struct relay_keep *ret)
{
    _cleanup_(strbuf_release) struct strbuf mycnf;

    *ret = (struct relay_keep){0};
    relay_keep_boot(ret->boot);
    relay_keep_pod(paths, ret->pod);
    strbuf_init(&mycnf, MYCNF_MAX + 16 * KM_KIB);
    uint64_t often = 0;
    ret->synced = fs_read_file(paths->run_mycnf, &mycnf, NULL) == 0 &&
        run_mycnf_number(mycnf.buf, "sync_relay_log", &often) && often == 1;
}

static void read_note(const char *path, struct relay_keep *ret)
{
    struct relay_keep found = {0};

    *ret = (struct relay_keep){0};
    if (json_note_read(path, TEXT_MAX, fields, ARRAY_LEN(fields), NULL, &found, NULL) == 0)
        *ret = found;
}

static char *note_path(const struct agent_paths *paths)
{
    return xasprintf("%s/kube-mysql-relay.json", paths->data_dir);
}

char *relay_keep_proof_path(const struct agent_paths *paths)
{
    return xasprintf("%s/caught-up.json", paths->run_dir);
}

static void forget_proof(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = relay_keep_proof_path(paths);

    if (unlink(path) == 0)
        (void)(fs_fsync_dir(paths->run_dir, NULL) == 0);
}

const char *relay_keep_option(const struct agent_paths *paths, const struct server_version *version)
{
    _cleanup_(freep) char *path = note_path(paths);
    bool is_known = version->flavour == AGENT_FLAVOUR_MARIADB || version->number >= VERSION_NUMBER(8, 0, 11);
    struct relay_keep noted, now;
    struct error err = ERROR_INIT;

    look(paths, &now);
    read_note(path, &noted);
    bool keep = is_known && relay_keep_decide(&noted, &now);
    now.synced = now.synced && (noted.synced || !keep); /* those that are kept were written as noted */
    now.dropping = !keep;
    bool same = strcmp(noted.boot, now.boot) == 0 && strcmp(noted.pod, now.pod) == 0 && noted.synced == now.synced &&
        noted.dropping == now.dropping;
    if (is_known && !same && json_note_write(path, fields, ARRAY_LEN(fields), &now, &err) < 0) {
        log_warn("it cannot be noted where relay logs are written: they are not kept", LOG_ERR(&err));
        unlink(path);
        keep = false;
    }
    if (!keep)
        forget_proof(paths);
    if (!is_known)
        return NULL;
    log_info(keep ? "relay logs are kept" : "relay logs are dropped: this pod, or this kernel, did not write them");
    return keep ? "--relay-log-recovery=OFF" : "--relay-log-recovery=ON";
}

bool relay_keep_is_dropping(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = note_path(paths);
    struct relay_keep noted;

    read_note(path, &noted);
    return noted.dropping;
}

int relay_keep_dropped(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = note_path(paths);
    struct relay_keep noted;

    read_note(path, &noted);
    if (!noted.dropping)
        return 0;
    noted.dropping = false;
    return json_note_write(path, fields, ARRAY_LEN(fields), &noted, err);
}

int relay_keep_unsynced(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = note_path(paths);
    struct relay_keep noted;

    read_note(path, &noted);
    if (!noted.synced)
        return 0;
    noted.synced = false;
    if (json_note_write(path, fields, ARRAY_LEN(fields), &noted, err) == 0)
        return 0;
    /* On a full volume: without a note the next start drops relay logs. One that says so by itself stays. */
    if (noted.dropping || unlink(path) < 0)
        return -1;
    error_clear(err);
    return fs_fsync_dir(paths->data_dir, err);
}
