/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/strbuf.h"

#define VERSION_FILE_MAX (256 * KM_KIB)

/* What a database folder always holds, one of them at least. */
static const char *const database_marks[] = {"ibdata1", "mysql", "mysql.ibd", "aria_log_control"};
static const char *const harmless_names[] = {"lost+found", NULL};

static bool has_name(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    bool there = fs_exists(path);

    free(path);
    return there;
}

static bool looks_like_database(const char *dir)
{
    /* ibdata1 alone may be the first seconds of an initialisation that somebody else did; the system schema comes
     * later. */
    return has_name(dir, "ibdata1") && (has_name(dir, "mysql") || has_name(dir, "mysql.ibd"));
}

static bool has_any_mark(const char *dir)
{
    for (size_t i = 0; i < ARRAY_LEN(database_marks); i++) {
        if (has_name(dir, database_marks[i]))
            return true;
    }
    return false;
}

/* The first name in the folder that is not harmless, for the message. */
static void find_foreign_name(const char *path, char *ret, size_t size)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        if (!str_eq(entry->d_name, ".") && !str_eq(entry->d_name, "..") && !str_eq(entry->d_name, harmless_names[0])) {
            snprintf(ret, size, "%.63s", entry->d_name);
            break;
        }
    }
    closedir(dir);
}

int datadir_parse_version(const char *text, enum agent_flavour flavour, struct server_version *ret)
{
    char version[64];

    if (*text != '{') {
        snprintf(version, sizeof(version), "%.*s", (int)MIN_OF(strcspn(text, "\r\n"), sizeof(version) - 1), text);
        return server_version_parse(version, flavour == AGENT_FLAVOUR_MARIADB ? "MariaDB" : NULL, ret, NULL);
    }
    _cleanup_(json_decrefp) json_t *document = json_parse(text, strlen(text), NULL);
    const json_t *history = document ? json_path(document, "upgrade_history") : NULL;
    size_t count = json_array_size(history);
    if (count == 0)
        return -1;
    const char *last = json_path_str(json_array_get(history, count - 1), "version", "");
    return server_version_parse(last, NULL, ret, NULL);
}

static void read_version(const char *dir, struct datadir_facts *facts)
{
    /* MariaDB: mysql_upgrade_info, since 11.0 mariadb_upgrade_info. MySQL: mysql_upgrade_info, since 8.4
     * mysql_upgrade_history. */
    static const char *const files[] = {"mysql_upgrade_history", "mariadb_upgrade_info", "mysql_upgrade_info"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        _cleanup_(freep) char *path = xasprintf("%s/%s", dir, files[i]);
        enum agent_flavour flavour = facts->has_aria ? AGENT_FLAVOUR_MARIADB : AGENT_FLAVOUR_MYSQL;

        strbuf_init(&text, VERSION_FILE_MAX);
        if (fs_read_file(path, &text, NULL) == 0 && datadir_parse_version(text.buf, flavour, &facts->written_by) == 0)
            return;
    }
}

static int inspect_data(const char *dir, struct datadir_facts *facts, struct error *err)
{
    bool empty = true;

    if (fs_exists(dir) && fs_dir_is_empty(dir, harmless_names, &empty, err) < 0)
        return -1;
    if (empty) {
        facts->kind = DATADIR_EMPTY;
        return 0;
    }
    facts->kind = looks_like_database(dir) ? DATADIR_DATABASE : DATADIR_FOREIGN;
    facts->has_mysql_ibd = has_name(dir, "mysql.ibd");
    facts->has_aria = has_name(dir, "aria_log_control");
    read_version(dir, facts);
    find_foreign_name(dir, facts->foreign_name, sizeof(facts->foreign_name));
    return 0;
}

int datadir_inspect(const struct agent_paths *paths, struct datadir_facts *ret, struct error *err)
{
    struct datadir_facts facts = {0};

    if (inspect_data(paths->data_dir, &facts, err) < 0)
        return error_prefix(err, "looking at the data folder");
    if (facts.kind == DATADIR_EMPTY && has_any_mark(paths->volume_dir)) {
        facts.kind = DATADIR_STRAY;
        find_foreign_name(paths->volume_dir, facts.foreign_name, sizeof(facts.foreign_name));
    }
    *ret = facts;
    return 0;
}

int datadir_facts_of(const char *version, struct datadir_facts *ret, struct error *err)
{
    struct datadir_facts facts = {.kind = DATADIR_DATABASE};

    if (server_version_parse(version, NULL, &facts.written_by, err) < 0)
        return -1;
    facts.has_aria = facts.written_by.flavour == AGENT_FLAVOUR_MARIADB;
    facts.has_mysql_ibd = !facts.has_aria && facts.written_by.number >= VERSION_NUMBER(8, 0, 0);
    *ret = facts;
    return 0;
}

static int check_flavour(const struct datadir_facts *facts, const struct server_version *server, struct error *err)
{
    bool mariadb = server->flavour == AGENT_FLAVOUR_MARIADB;

    if (mariadb && facts->has_mysql_ibd)
        return error_set(err, ERROR_INVALID,
            "the data folder was written by MySQL 8 or later (mysql.ibd); the image holds MariaDB %s, which cannot read it",
            server->text);
    if (!mariadb && facts->has_aria && !facts->has_mysql_ibd)
        return error_set(err, ERROR_INVALID,
            "the data folder was written by MariaDB (aria_log_control); the image holds MySQL %s, which cannot read it",
            server->text);
    return 0;
}

/*
 * What the servers promise of data that a newer one has written.
 *   MySQL, Percona Server: in place within an LTS or bugfix series only, and within 8.0 not below 8.0.35, whose InnoDB
 *     refuses: https://dev.mysql.com/doc/refman/8.4/en/downgrading.html,
 *     https://dev.mysql.com/doc/refman/8.0/en/downgrading.html
 *   MariaDB: not between major versions, whose series is the first two numbers; within one it is supported:
 *     https://mariadb.com/kb/en/downgrading-between-major-versions-of-mariadb/
 */
static bool cannot_go_back(const struct server_version *writer, const struct server_version *server)
{
    static const int mysql_80_can_go_back_to = VERSION_NUMBER(8, 0, 35);
    bool is_mysql_80 =
        server->flavour != AGENT_FLAVOUR_MARIADB && server_version_series(server) == VERSION_NUMBER(8, 0, 0) / 100;

    if (server_version_series(writer) != server_version_series(server))
        return server_version_series(writer) > server_version_series(server);
    return is_mysql_80 && server->number < writer->number && server->number < mysql_80_can_go_back_to;
}

int datadir_check(const struct datadir_facts *facts, const struct server_version *server, struct error *err)
{
    if (facts->kind == DATADIR_FOREIGN)
        return error_set(err, ERROR_INVALID,
            "the data folder is not empty (\"%s\") and holds no database; it is left alone: empty it or use another volume",
            facts->foreign_name);
    if (facts->kind == DATADIR_STRAY)
        return error_set(err, ERROR_INVALID,
            "the volume's top folder holds a database, but no folder \"data\"; nothing is initialised beside it: move its files into \"data\"");
    if (check_flavour(facts, server, err) < 0)
        return -1;
    if (facts->written_by.number && cannot_go_back(&facts->written_by, server))
        return error_set(err, ERROR_INVALID,
            "the data folder was written by version %s; the image holds the older %s: servers cannot go back, use an image of at least that version",
            facts->written_by.text, server->text);
    return 0;
}
