/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/clone_finish.h"

#include "agent/bootstrap/clone_space.h"
#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/datadir_beside.h"
#include "agent/bootstrap/memory_limit.h"
#include "agent/bootstrap/seed_position.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/log.h"

static int push_tool(struct strvec *argv, const char *name, const char *old_name, struct error *err)
{
    char *path = server_binary_search(name);

    if (!path)
        path = server_binary_search(old_name);
    if (!path)
        return error_set(err, ERROR_NOT_FOUND, "this image has no %s", name);
    strvec_push(argv, path);
    free(path);
    return 0;
}

int clone_unpack_command(const struct agent_paths *paths, struct strvec *argv, struct error *err)
{
    if (push_tool(argv, "mbstream", "xbstream", err) < 0)
        return -1;
    strvec_push(argv, "-x");
    strvec_push(argv, "-C");
    strvec_push(argv, paths->data_new_dir);
    return 0;
}

int clone_prepare_command(const struct agent_paths *paths, struct strvec *argv, struct error *err)
{
    if (push_tool(argv, "mariadb-backup", "mariabackup", err) < 0)
        return -1;
    /* What the donor's server was configured with came along; the image's own files have no say. */
    strvec_pushf(argv, "--defaults-file=%s/backup-my.cnf", paths->data_new_dir);
    strvec_push(argv, "--prepare");
    strvec_pushf(argv, "--target-dir=%s", paths->data_new_dir);
    strvec_pushf(argv, "--use-memory=%lluM", (unsigned long long)clone_prepare_memory(memory_limit_bytes()) / KM_MIB);
    return 0;
}

void clone_settle_command(const struct agent_paths *paths, const char *server, bool roll_back, struct strvec *argv)
{
    /* --bootstrap: runs the statements of its standard input, here none, and ends. */
    static const char *const rest[] = {"--bootstrap", "--skip-log-bin", "--skip-networking", "--skip-log-error",
        "--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-at-shutdown=OFF", NULL};

    strvec_push(argv, server);
    strvec_pushf(argv, "--defaults-file=%s", paths->run_mycnf);
    strvec_pushf(argv, "--datadir=%s", paths->data_new_dir);
    strvec_pushf(argv, "--socket=%s/settle.sock", paths->run_dir);
    strvec_pushf(argv, "--pid-file=%s/settle.pid", paths->run_dir);
    strvec_pushf(argv, "--innodb-buffer-pool-size=%lluM",
        (unsigned long long)clone_prepare_memory(memory_limit_bytes()) / KM_MIB);
    strvec_push_all(argv, rest);
    if (roll_back)
        strvec_push(argv, "--tc-heuristic-recover=ROLLBACK");
}

/* The file by which a later upgrade of the image is noticed (datadir.h) is not part of a backup. */
static int write_version(const char *dir, const char *version, struct error *err)
{
    struct server_version parsed;

    if (server_version_parse(version, "MariaDB", &parsed, err) < 0)
        return error_prefix(err, "the donor's version");
    const char *name = server_version_series(&parsed) >= 1100 ? "mariadb_upgrade_info" : "mysql_upgrade_info";
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);
    _cleanup_(freep) char *text =
        xasprintf("%d.%d.%d-MariaDB", parsed.number / 10000, parsed.number / 100 % 100, parsed.number % 100);
    return fs_exists(path) ? 0 : fs_write_file_atomic(path, text, strlen(text), 0660, err);
}

/* The donor knows better than the tool (agent/backup/copy_position.h), and never less. */
static int check_position(const struct agent_paths *paths, const char *said, struct error *err)
{
    _cleanup_(freep) char *own = NULL;

    if (seed_position_find(paths->data_new_dir, &own, err) < 0)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *ours = gtid_set_parse(GTID_MARIADB, own, err);
    _cleanup_(gtid_set_freep) struct gtid_set *theirs = ours ? gtid_set_parse(GTID_MARIADB, said, err) : NULL;
    if (!ours || !theirs)
        return error_prefix(err, "the copy's position");
    enum gtid_relation relation = gtid_set_compare(theirs, ours);
    if (relation != GTID_EQUAL && relation != GTID_SUPERSET)
        return error_set(
            err, ERROR_PROTOCOL, "the donor says that the copy ends at %.100s, the copy itself says %.100s", said, own);
    return 0;
}

int clone_finish_loaded(const struct agent_paths *paths, const struct clone_origin *origin, struct error *err)
{
    struct seed_position position = {.gtid = origin->gtid, .at_ms = clock_realtime_ms()};

    snprintf(position.donor, sizeof(position.donor), "%s", origin->donor);
    if (seed_position_write(paths->data_new_dir, &position, err) < 0)
        return -1;
    log_info("the copy is ready", LOG_STR("donor", origin->donor), LOG_STR("gtid", position.gtid));
    return datadir_publish(paths, origin->replace, err);
}

int clone_finish_mariadb(const struct agent_paths *paths, const struct clone_origin *origin, struct error *err)
{
    struct seed_position position = {.gtid = origin->gtid, .at_ms = clock_realtime_ms()};

    if (check_position(paths, origin->gtid, err) < 0)
        return -1;
    snprintf(position.donor, sizeof(position.donor), "%s", origin->donor);
    if (seed_position_write(paths->data_new_dir, &position, err) < 0 ||
        write_version(paths->data_new_dir, origin->server_version, err) < 0)
        return -1;
    log_info("the copy is ready", LOG_STR("donor", origin->donor), LOG_STR("gtid", position.gtid));
    return origin->beside ? datadir_keep_beside(paths, origin->beside, err)
                          : datadir_publish(paths, origin->replace, err);
}
