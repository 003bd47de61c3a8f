/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_id.h"

#include <errno.h>
#include <sys/random.h>

#include "agent/bootstrap/run_mycnf.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/json_note.h"
#include "common/log.h"
#include "common/strbuf.h"

#define FILE_NAME "kube-mysql-server-id.json"
#define TEXT_MAX 256
#define ORDINAL_BITS 15U /* serverIdBase ends in four zero bits: operator/cluster/desired/desired_instance.c */

struct server_id {
    uint32_t instead_of;
    uint32_t drawn;
};

static const struct json_field fields[] = {
    JSON_FIELD(server_id, "insteadOf", JSON_FIELD_U32, CHANGE_COUNTS, instead_of),
    JSON_FIELD(server_id, "serverId", JSON_FIELD_U32, CHANGE_COUNTS, drawn),
};

/* 0: there is none. */
static uint32_t of_mycnf(const struct agent_paths *paths)
{
    _cleanup_(strbuf_release) struct strbuf mycnf;
    uint64_t number = 0;

    strbuf_init(&mycnf, MYCNF_MAX + 16 * KM_KIB);
    bool found = fs_read_file(paths->run_mycnf, &mycnf, NULL) == 0 && run_mycnf_number(mycnf.buf, "server_id", &number);
    return found && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static int draw(const struct agent_paths *paths, const char *folder, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/" FILE_NAME, folder);
    struct server_id id = {.instead_of = of_mycnf(paths)};

    if (!id.instead_of)
        return error_set(err, ERROR_INVALID, "%s names no server_id", paths->run_mycnf);
    while (!server_id_decide(id.instead_of, id.instead_of, id.drawn)) {
        if (getrandom(&id.drawn, sizeof(id.drawn), 0) != sizeof(id.drawn))
            return error_set_errno(err, errno, "drawing a server id");
        id.drawn = (id.drawn & ~ORDINAL_BITS) | (id.instead_of & ORDINAL_BITS);
    }
    return json_note_write(path, fields, ARRAY_LEN(fields), &id, err);
}

int server_id_draw(const struct agent_paths *paths, struct error *err)
{
    return draw(paths, paths->data_new_dir, err);
}

int server_id_draw_anew(const struct agent_paths *paths, struct error *err)
{
    return draw(paths, paths->data_dir, err);
}

uint32_t server_id_decide(uint32_t of_mycnf, uint32_t instead_of, uint32_t drawn)
{
    return of_mycnf != 0 && instead_of == of_mycnf && drawn != of_mycnf ? drawn : 0;
}

char *server_id_option(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = xasprintf("%s/" FILE_NAME, paths->data_dir);
    struct server_id id = {0};
    struct error err = ERROR_INIT;

    if (!fs_exists(path))
        return NULL;
    if (json_note_read(path, TEXT_MAX, fields, ARRAY_LEN(fields), NULL, &id, &err) < 0) {
        log_warn("the server id of this copy cannot be read: that of my.cnf is used", LOG_ERR(&err));
        return NULL;
    }
    uint32_t decided = server_id_decide(of_mycnf(paths), id.instead_of, id.drawn);
    return decided ? xasprintf("--server-id=%u", decided) : NULL;
}
