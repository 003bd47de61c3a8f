/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/dialect.h"

#include <ctype.h>
#include <strings.h>

#include "agent/mysql/start_domain.h"

/* All global privileges of MariaDB 10.5 to 10.10 that do not override read_only. SUPER did until 10.11 (MDEV-29596). */
#define MARIADB_ROOT_BASE                                                                                             \
    "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, SHUTDOWN, PROCESS, FILE, REFERENCES, INDEX, ALTER, "       \
    "SHOW DATABASES, CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, REPLICATION SLAVE, BINLOG MONITOR, CREATE VIEW, " \
    "SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, CREATE USER, EVENT, TRIGGER, CREATE TABLESPACE, DELETE HISTORY, "      \
    "SET USER, FEDERATED ADMIN, CONNECTION ADMIN, REPLICATION SLAVE ADMIN, REPLICATION MASTER ADMIN, BINLOG ADMIN, "  \
    "BINLOG REPLAY"

#define RELAY_LOGS "@@global.relay_log_recovery, @@global.sync_relay_log"

/* Both positions: gtid_current_pos leaves out what this server wrote under an earlier server_id. A reader takes the
 * furthest of each domain. What the server wrote by itself at its start is no part of the cluster's history
 * (start_domain.h). */
#define MARIADB_OBSERVE                                                              \
    "SELECT VERSION(), @@version_comment, @@server_id, '', @@global.read_only, 0, "  \
    "CONCAT_WS(',', NULLIF(@@global.gtid_slave_pos, ''), NULLIF(TRIM(BOTH ',' FROM " \
    "REGEXP_REPLACE(@@global.gtid_binlog_pos, '(^|,)" START_DOMAIN "-[0-9]+-[0-9]+', '')), '')), " RELAY_LOGS
#define MYSQL_OBSERVE                                                                                                 \
    "SELECT VERSION(), @@version_comment, @@server_id, @@server_uuid, @@global.read_only, @@global.super_read_only, " \
    "@@global.gtid_executed, " RELAY_LOGS

#define MYSQL_OLD_OBSERVE                                                                      \
    "SELECT VERSION(), @@version_comment, @@server_id, @@server_uuid, @@global.read_only, 0, " \
    "@@global.gtid_executed, " RELAY_LOGS

#define MYSQL_STREAM                                                                                                   \
    "SELECT c.HEARTBEAT_INTERVAL AS Slave_heartbeat_period, s.COUNT_RECEIVED_HEARTBEATS AS Slave_received_heartbeats " \
    "FROM performance_schema.replication_connection_configuration c "                                                  \
    "JOIN performance_schema.replication_connection_status s USING (CHANNEL_NAME) WHERE CHANNEL_NAME = ''"

#define DEFAULT_CHANNEL " FOR CHANNEL ''"

/* The terms of MariaDB, and of MySQL before it renamed them. */
#define SLAVE_TERMS                                                                                           \
    .replica = "SLAVE", .source = "MASTER", .change = "CHANGE MASTER TO", .receiver = "IO_THREAD",            \
    .skip_start = "skip_slave_start", .log_updates = "log_slave_updates", .net_timeout = "slave_net_timeout", \
    .semi_source = "rpl_semi_sync_master", .semi_replica = "rpl_semi_sync_slave",                             \
    .semi_no_replica = "rpl_semi_sync_master_wait_no_slave", .semi_status = "Rpl_semi_sync_master"

static const struct replication_terms mariadb_terms = {
    SLAVE_TERMS,
    .own = "",
};

/* Never replicated: server_features.h. The plugins are there so that their variables can be asked for. */
static const struct replication_terms mysql_oldest_terms = {
    SLAVE_TERMS,
    .own = "",
    .semi_plugins = {"semisync_master.so", "semisync_slave.so"},
};

static const struct replication_terms mysql_old_terms = {
    SLAVE_TERMS,
    .own = DEFAULT_CHANNEL,
    .semi_plugins = {"semisync_master.so", "semisync_slave.so"},
    .semi_count = "rpl_semi_sync_master_wait_for_slave_count",
};

static const struct replication_terms mysql_terms = {
    .replica = "REPLICA",
    .source = "SOURCE",
    .change = "CHANGE REPLICATION SOURCE TO",
    .receiver = "IO_THREAD",
    .own = DEFAULT_CHANNEL,
    .skip_start = "skip_replica_start",
    .log_updates = "log_replica_updates",
    .net_timeout = "replica_net_timeout",
    .semi_source = "rpl_semi_sync_source",
    .semi_replica = "rpl_semi_sync_replica",
    .semi_no_replica = "rpl_semi_sync_source_wait_no_replica",
    .semi_status = "Rpl_semi_sync_source",
    .semi_plugins = {"semisync_source.so", "semisync_replica.so"},
    .semi_count = "rpl_semi_sync_source_wait_for_replica_count",
};

/* Per family, ascending by `since`. */
static const struct dialect dialects[] = {
    {
        .family = AGENT_FLAVOUR_MARIADB,
        .since = 0,
        .observe = MARIADB_OBSERVE,
        .replica_status = "SHOW ALL SLAVES STATUS",
        .auth_socket = "IDENTIFIED VIA unix_socket",
        .account_statements = true,
        .require_tls = true,
        .password_hash = true,
        .root_grants = MARIADB_ROOT_BASE,
        .root_revoke = "READ_ONLY ADMIN, SUPER",
        .monitor_grants = "PROCESS, BINLOG MONITOR, REPLICATION SLAVE ADMIN",
        .replication_grants = "REPLICATION SLAVE, BINLOG MONITOR, CONNECTION ADMIN",
        .binlog_expiry = "expire_logs_days = 3",
        .reload_tls = "FLUSH NO_WRITE_TO_BINLOG SSL",
        .replication = &mariadb_terms,
    },
    {
        /* 10.5.9 split SLAVE MONITOR from REPLICATION SLAVE ADMIN (MDEV-23610). */
        .family = AGENT_FLAVOUR_MARIADB,
        .since = VERSION_NUMBER(10, 5, 9),
        .observe = MARIADB_OBSERVE,
        .replica_status = "SHOW ALL SLAVES STATUS",
        .auth_socket = "IDENTIFIED VIA unix_socket",
        .account_statements = true,
        .require_tls = true,
        .password_hash = true,
        .root_grants = MARIADB_ROOT_BASE ", SLAVE MONITOR",
        .root_revoke = "READ_ONLY ADMIN, SUPER",
        .monitor_grants = "PROCESS, BINLOG MONITOR, SLAVE MONITOR",
        .replication_grants = "REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR, CONNECTION ADMIN",
        .binlog_expiry = "expire_logs_days = 3",
        .reload_tls = "FLUSH NO_WRITE_TO_BINLOG SSL",
        .replication = &mariadb_terms,
    },
    {
        .family = AGENT_FLAVOUR_MARIADB,
        .since = VERSION_NUMBER(10, 11, 0),
        .observe = MARIADB_OBSERVE,
        .replica_status = "SHOW ALL SLAVES STATUS",
        .auth_socket = "IDENTIFIED VIA unix_socket",
        .account_statements = true,
        .require_tls = true,
        .password_hash = true,
        .root_grants = MARIADB_ROOT_BASE ", SLAVE MONITOR, SUPER",
        .root_revoke = "READ_ONLY ADMIN",
        .monitor_grants = "PROCESS, BINLOG MONITOR, SLAVE MONITOR",
        .replication_grants = "REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR, CONNECTION ADMIN",
        .binlog_expiry = "expire_logs_days = 3",
        .reload_tls = "FLUSH NO_WRITE_TO_BINLOG SSL",
        .replication = &mariadb_terms,
    },
    {
        .family = AGENT_FLAVOUR_MYSQL, /* 5.6 */
        .since = 0,
        .observe = MYSQL_OLD_OBSERVE,
        .replica_status = "SHOW SLAVE STATUS",
        .auth_socket = "IDENTIFIED WITH auth_socket",
        .auth_plugin = "auth_socket.so",
        .root_grants = "ALL PRIVILEGES",
        .monitor_grants = "PROCESS, REPLICATION CLIENT",
        .replication_grants = "REPLICATION SLAVE, REPLICATION CLIENT",
        .binlog_expiry = "expire_logs_days = 3",
        .replication = &mysql_oldest_terms,
    },
    {
        /* 5.7.6: statements for accounts. 5.7.8: super_read_only. */
        .family = AGENT_FLAVOUR_MYSQL,
        .since = VERSION_NUMBER(5, 7, 8),
        .observe = MYSQL_OBSERVE,
        .replica_status = "SHOW SLAVE STATUS",
        .stream_status = MYSQL_STREAM,
        .auth_socket = "IDENTIFIED WITH auth_socket",
        .auth_plugin = "auth_socket.so",
        .super_read_only = true,
        .gtid_table = true,
        .offline_mode = true,
        .account_statements = true,
        .require_tls = true,
        .root_grants = "ALL PRIVILEGES",
        .monitor_grants = "PROCESS, REPLICATION CLIENT",
        .replication_grants = "REPLICATION SLAVE, REPLICATION CLIENT",
        .binlog_expiry = "expire_logs_days = 3",
        .replication = &mysql_old_terms,
    },
    {
        .family = AGENT_FLAVOUR_MYSQL,
        .since = VERSION_NUMBER(8, 0, 11),
        .observe = MYSQL_OBSERVE,
        .replica_status = "SHOW SLAVE STATUS",
        .stream_status = MYSQL_STREAM,
        .auth_socket = "IDENTIFIED WITH auth_socket",
        .auth_plugin = "auth_socket.so",
        .super_read_only = true,
        .gtid_table = true,
        .offline_mode = true,
        .account_statements = true,
        .require_tls = true,
        .password_history = true,
        .mysqlx = true,
        .root_grants = "ALL PRIVILEGES",
        .monitor_grants = "PROCESS, REPLICATION CLIENT",
        .replication_grants = "REPLICATION SLAVE, REPLICATION CLIENT, BACKUP_ADMIN, CONNECTION_ADMIN",
        .binlog_expiry = "binlog_expire_logs_seconds = 259200",
        .replication = &mysql_old_terms,
    },
    {
        /* 8.0.16: --validate-config. 8.0.22: SHOW REPLICA STATUS; the older spelling is gone in 8.4. */
        .family = AGENT_FLAVOUR_MYSQL,
        .since = VERSION_NUMBER(8, 0, 22),
        .observe = MYSQL_OBSERVE,
        .replica_status = "SHOW REPLICA STATUS",
        .stream_status = MYSQL_STREAM,
        .auth_socket = "IDENTIFIED WITH auth_socket",
        .auth_plugin = "auth_socket.so",
        .super_read_only = true,
        .gtid_table = true,
        .offline_mode = true,
        .account_statements = true,
        .require_tls = true,
        .clone_plugin = "mysql_clone.so",
        .validate_config = true,
        .password_history = true,
        .mysqlx = true,
        .root_grants = "ALL PRIVILEGES",
        .monitor_grants = "PROCESS, REPLICATION CLIENT",
        .replication_grants = "REPLICATION SLAVE, REPLICATION CLIENT, BACKUP_ADMIN, CONNECTION_ADMIN",
        .binlog_expiry = "binlog_expire_logs_seconds = 259200",
        .reload_tls = "ALTER INSTANCE RELOAD TLS",
        .replication = &mysql_old_terms,
    },
    {
        .family = AGENT_FLAVOUR_MYSQL,
        .since = VERSION_NUMBER(8, 0, 26),
        .observe = MYSQL_OBSERVE,
        .replica_status = "SHOW REPLICA STATUS",
        .stream_status = MYSQL_STREAM,
        .auth_socket = "IDENTIFIED WITH auth_socket",
        .auth_plugin = "auth_socket.so",
        .super_read_only = true,
        .gtid_table = true,
        .offline_mode = true,
        .account_statements = true,
        .require_tls = true,
        .clone_plugin = "mysql_clone.so",
        .validate_config = true,
        .password_history = true,
        .mysqlx = true,
        .root_grants = "ALL PRIVILEGES",
        .monitor_grants = "PROCESS, REPLICATION CLIENT",
        .replication_grants = "REPLICATION SLAVE, REPLICATION CLIENT, BACKUP_ADMIN, CONNECTION_ADMIN",
        .binlog_expiry = "binlog_expire_logs_seconds = 259200",
        .reload_tls = "ALTER INSTANCE RELOAD TLS",
        .replication = &mysql_terms,
    },
};

const struct dialect *dialect_for(const struct server_version *version)
{
    enum agent_flavour family = version->flavour == AGENT_FLAVOUR_MARIADB ? AGENT_FLAVOUR_MARIADB : AGENT_FLAVOUR_MYSQL;
    const struct dialect *found = NULL;

    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        if (dialects[i].family == family && (!found || dialects[i].since <= version->number))
            found = &dialects[i];
    }
    return found;
}

static bool contains_word(const char *text, const char *word)
{
    return text && strcasestr(text, word);
}

static enum agent_flavour flavour_of(const char *version, const char *comment)
{
    if (contains_word(version, "mariadb") || contains_word(comment, "mariadb"))
        return AGENT_FLAVOUR_MARIADB;
    return contains_word(comment, "percona") ? AGENT_FLAVOUR_PERCONA : AGENT_FLAVOUR_MYSQL;
}

/* "10.11.19-..." to {10, 11, 19}; false if there are not three numbers below 100 at the start. */
static bool parse_numbers(const char *text, int ret[static 3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        long number = strtol(text, &end, 10);
        if (number > 99 || (i < 2 && *end != '.'))
            return false;
        ret[i] = (int)number;
        text = end + 1;
    }
    return true;
}

int server_version_parse(const char *version, const char *comment, struct server_version *ret, struct error *err)
{
    int numbers[3];

    if (!parse_numbers(version, numbers))
        return error_set(err, ERROR_PROTOCOL, "\"%.60s\" is no server version", version);
    *ret = (struct server_version){
        .flavour = flavour_of(version, comment),
        .number = VERSION_NUMBER(numbers[0], numbers[1], numbers[2]),
    };
    snprintf(ret->text, sizeof(ret->text), "%s", version);
    return 0;
}

int server_version_parse_banner(const char *banner, struct server_version *ret, struct error *err)
{
    char version[64];
    const char *start = strstr(banner, "Ver ");

    if (!start)
        return error_set(err, ERROR_PROTOCOL, "no version in \"%.100s\"", banner);
    start += strlen("Ver ");
    size_t len = strcspn(start, " \t\r\n");
    snprintf(version, sizeof(version), "%.*s", (int)MIN_OF(len, sizeof(version) - 1), start);
    return server_version_parse(version, start + len, ret, err);
}

int server_version_series(const struct server_version *version)
{
    return version->number / 100;
}
