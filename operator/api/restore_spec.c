/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/restore_spec.h"

#include "common/clock.h"
#include "common/gtid.h"
#include "common/json.h"

#define PATH "spec.restoreFrom"

static const json_t *object_at(const json_t *spec, const char *path)
{
    const json_t *value = json_path(spec, path);
    return json_is_object(value) ? value : NULL;
}

static const json_t *first_of(const json_t *first, const json_t *second)
{
    return first ? first : second;
}

static void read_point(const json_t *from, struct restore_spec *ret)
{
    const char *time = json_path_str(from, "pointInTime", NULL);
    ret->until_gtid = json_path_str(from, "gtid", NULL);
    if (ret->until_gtid)
        ret->point = RESTORE_POINT_GTID;
    else if (time && str_eq(time, RESTORE_POINT_LATEST_WORD))
        ret->point = RESTORE_POINT_LATEST;
    else if (time) {
        ret->point = RESTORE_POINT_TIME;
        if (clock_parse_rfc3339(time, &ret->until_ms) < 0)
            ret->until_ms = 0;
    }
}

void restore_spec_read(const json_t *spec, struct restore_spec *ret)
{
    const json_t *from = object_at(spec, "restoreFrom");
    *ret = (struct restore_spec){.from_namespace = "", .from_cluster = ""};
    if (!from)
        return;
    ret->document = from;
    ret->backup = json_path_str(from, "backup.name", NULL);
    ret->name = json_path_str(from, "name", NULL);
    ret->or_empty = json_path_bool(from, "orEmpty", false);
    ret->from_namespace = json_path_str(from, "cluster.namespace", "");
    ret->from_cluster = json_path_str(from, "cluster.name", "");
    read_point(from, ret);
    ret->destination = first_of(object_at(from, "destination"), object_at(spec, "backup.destination"));
    ret->encryption = object_at(from, "encryption");
    if (!object_at(from, "destination"))
        ret->encryption = first_of(ret->encryption, object_at(spec, "backup.encryption"));
    if (ret->backup)
        ret->source = RESTORE_SOURCE_BACKUP;
    else if (ret->name)
        ret->source = RESTORE_SOURCE_NAME;
    else if (json_path_bool(from, "latest", false))
        ret->source = RESTORE_SOURCE_LATEST;
}

static void check_companions(const json_t *from, const struct restore_spec *restore, struct api_problems *problems)
{
    static const char *const not_with_backup[] = {"destination", "cluster"};
    for (size_t i = 0; i < ARRAY_LEN(not_with_backup) && restore->backup; i++) {
        char path[API_PATH_MAX];
        snprintf(path, sizeof(path), PATH ".%s", not_with_backup[i]);
        if (object_at(from, not_with_backup[i]))
            api_problems_add(problems, path, "must not be given together with backup, which says it");
    }
    if (restore->or_empty && restore->source != RESTORE_SOURCE_LATEST)
        api_problems_add(problems, PATH ".orEmpty", "needs latest: true: a backup that is named must be there");
    if (!restore->backup && restore->source != RESTORE_SOURCE_NONE && !restore->destination)
        api_problems_add(problems, PATH ".destination", "is required, because spec.backup has no destination");
}

/* Whether the text is a GTID at all: of which family, only the backup's server tells. */
static bool is_gtid(const char *text)
{
    for (int flavour = GTID_MYSQL; flavour <= GTID_MARIADB; flavour++) {
        _cleanup_(gtid_set_freep) struct gtid_set *set = gtid_set_parse((enum gtid_flavour)flavour, text, NULL);
        if (set && !gtid_set_is_empty(set))
            return true;
    }
    return false;
}

static void check_point(const json_t *from, const struct restore_spec *restore, struct api_problems *problems)
{
    if (restore->until_gtid && json_path_str(from, "pointInTime", NULL))
        api_problems_add(problems, PATH ".gtid", "must not be given together with pointInTime");
    if (restore->point == RESTORE_POINT_TIME && restore->until_ms <= 0)
        api_problems_add(problems, PATH ".pointInTime",
            "must be a time like 2026-11-21T20:45:12Z or 2026-11-21T21:45:12+01:00, or " RESTORE_POINT_LATEST_WORD);
    if (restore->until_gtid && !is_gtid(restore->until_gtid))
        api_problems_add(
            problems, PATH ".gtid", "must be a GTID, or a set of them, like 0-1-4711 (MariaDB) or UUID:1-4711 (MySQL)");
}

int restore_spec_check(const json_t *spec, struct api_problems *problems)
{
    struct restore_spec restore;
    int before = problems->count;
    const json_t *from = object_at(spec, "restoreFrom");
    if (!from)
        return 0;
    restore_spec_read(spec, &restore);
    int sources = (restore.backup != NULL) + (restore.name != NULL) + json_path_bool(from, "latest", false);
    if (sources != 1)
        api_problems_add(problems, PATH, "needs exactly one of backup, name (with destination) and latest: true");
    else
        check_companions(from, &restore, problems);
    backup_destination_check(json_object_get(from, "destination"), PATH ".destination", problems);
    check_point(from, &restore, problems);
    return problems->count > before ? -1 : 0;
}

int restore_spec_check_change(const struct restore_spec *now, const json_t *old, struct api_problems *problems)
{
    if (!now->document || (old && json_equal(now->document, old)))
        return 0;
    return api_problems_add(problems, PATH,
        old ? "cannot change any more: the cluster has its data. It may be taken away"
            : "cannot be added to a cluster that has data: make a new one, or restore in place (docs/restore.md)");
}
