/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_status.h: the server's counters that we export, as one fixed array, and as Prometheus metrics.
 *
 * Names and types are those of mysqld_exporter (mysql_global_status_*, mysql_global_variables_*, mysql_slave_status_*),
 * so dashboards and alerts that exist go on working: a status variable that only grows has no "_total" and is untyped.
 * Collecting happens on a worker thread, exporting on the loop; a struct server_status is a plain value between.
 */
#ifndef KM_AGENT_MYSQL_SERVER_STATUS_H
#define KM_AGENT_MYSQL_SERVER_STATUS_H

#include "common/base.h"

#include "common/metrics.h"

#define SERVER_STATUS_VALUES_MAX 144

struct server_status {
    double values[SERVER_STATUS_VALUES_MAX]; /* by index of the table in server_status.c; NAN: not reported */
};

void server_status_clear(struct server_status *status);

/* Of a status variable or a variable by the server's name; NAN: not reported. */
double server_status_value(const struct server_status *status, const char *name);

enum server_status_source { SOURCE_STATUS, SOURCE_VARIABLE, SOURCE_REPLICA };
/* Takes one name and value as the server prints them; names we do not export are ignored. "ON"/"Yes" are 1,
 * "OFF"/"No" 0. */
void server_status_take(
    struct server_status *status, enum server_status_source source, const char *name, const char *value);

/* SQL that fetches exactly the rows of a source, e.g. SHOW GLOBAL STATUS WHERE Variable_name IN (...). */
struct strbuf;
void server_status_sql(enum server_status_source source, struct strbuf *out);

/* The same rows of SOURCE_STATUS and others beside them, for SHOW GLOBAL STATUS LIKE; ends with NULL. MariaDB evaluates
 * every variable for a WHERE, and only those that match for a LIKE (sql_show.cc: show_status_array). Among them are
 * numbers of grants (Acl_*), which wait for LOCK_grant: CREATE USER holds it while its commit waits for an
 * acknowledgement. */
const char *const *server_status_patterns(void);

/* The metric families of the server in a registry (loop thread). */
struct server_metrics;
struct server_metrics *server_metrics_new(struct metrics *metrics);
void server_metrics_free(struct server_metrics *server);
/* NULL: the server does not answer; mysql_up becomes 0 and the rest keeps its last values. */
void server_metrics_set(struct server_metrics *server, const struct server_status *status);

#endif
