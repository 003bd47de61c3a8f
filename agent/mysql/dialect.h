/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h: what differs between the servers of the family, as one table.
 *
 * The flavour and the version are read from what the server says about itself (`mysqld --version`, VERSION() and
 * @@version_comment); everything that depends on them is a field of struct dialect. Pure.
 */
#ifndef KM_AGENT_MYSQL_DIALECT_H
#define KM_AGENT_MYSQL_DIALECT_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/error.h"

struct server_version {
    enum agent_flavour flavour;
    int number;    /* major * 10000 + minor * 100 + patch: 101119, 80036 */
    char text[64]; /* as the server spells it: "10.11.19-MariaDB-0+deb12u1" */
};

#define VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/* From VERSION() and @@version_comment (may be NULL). ERROR_PROTOCOL if the text does not start with a version. */
int server_version_parse(
    const char *version, const char *comment, struct server_version *ret, struct error *err) KM_MUST_CHECK;
/* From the one line that `mysqld --version` prints. */
int server_version_parse_banner(const char *banner, struct server_version *ret, struct error *err) KM_MUST_CHECK;
/* major * 100 + minor: the series that share an on-disk format for our purposes. */
int server_version_series(const struct server_version *version);

/* How a family and version spells replication. Sources: MySQL 8.0.26 release notes (semisync_source.so,
 * rpl_semi_sync_source_*, skip_replica_start, log_replica_updates, replica_net_timeout), 8.0.23 (CHANGE REPLICATION
 * SOURCE TO); MariaDB keeps the older names. */
struct replication_terms {
    const char *replica;  /* STOP <replica>, SHOW <replica> STATUS */
    const char *source;   /* prefix of CHANGE's options: MASTER_HOST, SOURCE_HOST */
    const char *change;   /* CHANGE MASTER TO */
    const char *receiver; /* START SLAVE <receiver> */
    /* Behind statements for the default channel alone: without it MySQL means all channels, MariaDB means the default
     * one. "": it is not needed, or not known (5.6). */
    const char *own;
    const char *skip_start; /* my.cnf keys */
    const char *log_updates;
    const char *net_timeout;
    const char *semi_source; /* prefix of variables */
    const char *semi_replica;
    const char *semi_no_replica; /* variable: wait even when no replica is there */
    const char *semi_status;     /* prefix of status counters */
    const char *semi_plugins[2]; /* shared objects, NULL: built in */
    const char *semi_count;      /* variable: for how many acknowledgements a commit waits; NULL: one */
};

struct dialect {
    enum agent_flavour family; /* AGENT_FLAVOUR_MARIADB or AGENT_FLAVOUR_MYSQL (Percona's is MySQL's) */
    int since;                 /* first version number of this row */
    /* One row: version, version_comment, server_id, server_uuid, read_only, super_read_only, GTIDs executed,
     * relay_log_recovery, sync_relay_log. */
    const char *observe;
    const char *replica_status; /* columns by name, see observe.c; MariaDB: one row per connection */
    /* Columns of the same names that replica_status does not have; NULL: it has them. Part of MySQL's performance
     * schema. */
    const char *stream_status;
    const char *auth_socket;  /* after CREATE/ALTER USER: enter by the socket as the operating system's user */
    const char *auth_plugin;  /* shared object that provides it, NULL if it is built in */
    const char *clone_plugin; /* shared object of CLONE, NULL: there is none */
    bool super_read_only;     /* the variable exists: else root writes also while the server is read-only */
    /* MySQL: mysql.gtid_executed, so gtid_mode is possible without a binary log, and GTIDs are kept without it. */
    bool gtid_table;
    bool offline_mode; /* newcomers can be shut out, and sessions be kept from writing */
    bool account_statements; /* CREATE USER IF NOT EXISTS, ALTER USER … IDENTIFIED: else GRANT … IDENTIFIED makes and changes
                                 accounts */
    bool require_tls;        /* require_secure_transport exists, and ALTER USER … REQUIRE */
    bool validate_config;    /* mysqld --validate-config exists; otherwise --help --verbose tells */
    bool password_hash;      /* the agent hashes passwords itself, so that no log can hold them */
    bool password_history;   /* accounts have a password history that must not refuse what is applied again */
    bool mysqlx;             /* has the X plugin, which opens a port of its own */
    const char *root_grants; /* what root@'%' may do: all but to write while the server is read-only */
    const char *root_revoke; /* taken from root@'%' if an earlier hand gave it; NULL: nothing */
    const char *monitor_grants;
    const char *replication_grants; /* CONNECTION ADMIN: a replica gets in where clients have every connection */
    const char *binlog_expiry;      /* my.cnf line: three days */
    const char *reload_tls;         /* makes the server read its certificates again, NULL: it cannot */
    const struct replication_terms *replication;
};

/* Never NULL: an unknown flavour is treated as MySQL, a version before the first row as the first row. */
const struct dialect *dialect_for(const struct server_version *version);

#endif
