/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/server_status.h"

#include <math.h>
#include <strings.h>

#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/strbuf.h"

struct status_row {
    enum server_status_source source;
    const char *name; /* as the server spells it */
    enum metric_type type;
    const char *metric;
    const char *label; /* name of the label, NULL: none */
    const char *label_value;
};

/* It only grows. mysqld_exporter calls it neither a counter nor "_total", and the names are its own. */
#define COUNTER(name, metric)                                                          \
    {                                                                                  \
        SOURCE_STATUS, name, METRIC_UNTYPED, "mysql_global_status_" metric, NULL, NULL \
    }
#define GAUGE(name, metric)                                                          \
    {                                                                                \
        SOURCE_STATUS, name, METRIC_GAUGE, "mysql_global_status_" metric, NULL, NULL \
    }
#define COMMAND(verb)                                                                                     \
    {                                                                                                     \
        SOURCE_STATUS, "Com_" verb, METRIC_COUNTER, "mysql_global_status_commands_total", "command", verb \
    }
#define ROW_OP(verb)                                                                                                 \
    {                                                                                                                \
        SOURCE_STATUS, "Innodb_rows_" verb, METRIC_COUNTER, "mysql_global_status_innodb_row_ops_total", "operation", \
            verb                                                                                                     \
    }
#define HANDLER(call)                                                                                         \
    {                                                                                                         \
        SOURCE_STATUS, "Handler_" call, METRIC_COUNTER, "mysql_global_status_handlers_total", "handler", call \
    }
#define PAGES(state)                                                                                             \
    {                                                                                                            \
        SOURCE_STATUS, "Innodb_buffer_pool_pages_" state, METRIC_GAUGE, "mysql_global_status_buffer_pool_pages", \
            "state", state                                                                                       \
    }
#define CONNECTION_ERROR(what)                                                                                   \
    {                                                                                                            \
        SOURCE_STATUS, "Connection_errors_" what, METRIC_COUNTER, "mysql_global_status_connection_errors_total", \
            "error", what                                                                                        \
    }
#define VARIABLE(name)                                                                  \
    {                                                                                   \
        SOURCE_VARIABLE, name, METRIC_GAUGE, "mysql_global_variables_" name, NULL, NULL \
    }
#define REPLICA(name, metric)                                                        \
    {                                                                                \
        SOURCE_REPLICA, name, METRIC_GAUGE, "mysql_slave_status_" metric, NULL, NULL \
    }

static const struct status_row rows[] = {
    GAUGE("Uptime", "uptime"),
    GAUGE("Threads_connected", "threads_connected"),
    GAUGE("Threads_running", "threads_running"),
    GAUGE("Threads_cached", "threads_cached"),
    COUNTER("Threads_created", "threads_created"),
    COUNTER("Connections", "connections"),
    GAUGE("Max_used_connections", "max_used_connections"),
    COUNTER("Aborted_clients", "aborted_clients"),
    COUNTER("Aborted_connects", "aborted_connects"),
    CONNECTION_ERROR("max_connections"),
    CONNECTION_ERROR("internal"),
    CONNECTION_ERROR("accept"),
    COUNTER("Queries", "queries"),
    COUNTER("Questions", "questions"),
    COUNTER("Slow_queries", "slow_queries"),
    COUNTER("Bytes_received", "bytes_received"),
    COUNTER("Bytes_sent", "bytes_sent"),
    COMMAND("select"),
    COMMAND("insert"),
    COMMAND("insert_select"),
    COMMAND("update"),
    COMMAND("delete"),
    COMMAND("replace"),
    COMMAND("begin"),
    COMMAND("commit"),
    COMMAND("rollback"),
    COMMAND("call_procedure"),
    COMMAND("alter_table"),
    COMMAND("create_table"),
    COMMAND("drop_table"),
    COUNTER("Created_tmp_tables", "created_tmp_tables"),
    COUNTER("Created_tmp_disk_tables", "created_tmp_disk_tables"),
    COUNTER("Created_tmp_files", "created_tmp_files"),
    COUNTER("Select_full_join", "select_full_join"),
    COUNTER("Select_scan", "select_scan"),
    COUNTER("Sort_merge_passes", "sort_merge_passes"),
    GAUGE("Open_files", "open_files"),
    GAUGE("Open_tables", "open_tables"),
    COUNTER("Opened_tables", "opened_tables"),
    GAUGE("Open_table_definitions", "open_table_definitions"),
    COUNTER("Table_locks_immediate", "table_locks_immediate"),
    COUNTER("Table_locks_waited", "table_locks_waited"),
    COUNTER("Table_open_cache_hits", "table_open_cache_hits"),
    COUNTER("Table_open_cache_misses", "table_open_cache_misses"),
    COUNTER("Binlog_bytes_written", "binlog_bytes_written"),
    COUNTER("Binlog_cache_use", "binlog_cache_use"),
    COUNTER("Binlog_cache_disk_use", "binlog_cache_disk_use"),
    COUNTER("Binlog_stmt_cache_use", "binlog_stmt_cache_use"),
    COUNTER("Binlog_stmt_cache_disk_use", "binlog_stmt_cache_disk_use"),
    PAGES("data"),
    PAGES("free"),
    PAGES("misc"),
    {SOURCE_STATUS, "Innodb_buffer_pool_pages_dirty", METRIC_GAUGE, "mysql_global_status_buffer_pool_dirty_pages", NULL,
        NULL},
    {SOURCE_STATUS, "Innodb_buffer_pool_pages_flushed", METRIC_COUNTER,
        "mysql_global_status_buffer_pool_page_changes_total", "operation", "flushed"},
    {SOURCE_STATUS, "Innodb_buffer_pool_pages_total", METRIC_UNTYPED,
        "mysql_global_status_innodb_buffer_pool_pages_total", NULL, NULL},
    GAUGE("Innodb_buffer_pool_bytes_data", "innodb_buffer_pool_bytes_data"),
    GAUGE("Innodb_buffer_pool_bytes_dirty", "innodb_buffer_pool_bytes_dirty"),
    COUNTER("Innodb_buffer_pool_reads", "innodb_buffer_pool_reads"),
    COUNTER("Innodb_buffer_pool_read_requests", "innodb_buffer_pool_read_requests"),
    COUNTER("Innodb_buffer_pool_write_requests", "innodb_buffer_pool_write_requests"),
    COUNTER("Innodb_buffer_pool_wait_free", "innodb_buffer_pool_wait_free"),
    GAUGE("Innodb_page_size", "innodb_page_size"),
    COUNTER("Innodb_data_read", "innodb_data_read"),
    COUNTER("Innodb_data_written", "innodb_data_written"),
    COUNTER("Innodb_data_reads", "innodb_data_reads"),
    COUNTER("Innodb_data_writes", "innodb_data_writes"),
    COUNTER("Innodb_data_fsyncs", "innodb_data_fsyncs"),
    GAUGE("Innodb_data_pending_fsyncs", "innodb_data_pending_fsyncs"),
    COUNTER("Innodb_os_log_written", "innodb_os_log_written"),
    COUNTER("Innodb_log_waits", "innodb_log_waits"),
    COUNTER("Innodb_log_write_requests", "innodb_log_write_requests"),
    COUNTER("Innodb_log_writes", "innodb_log_writes"),
    GAUGE("Innodb_checkpoint_age", "innodb_checkpoint_age"),
    COUNTER("Innodb_deadlocks", "innodb_deadlocks"),
    COUNTER("Innodb_row_lock_waits", "innodb_row_lock_waits"),
    COUNTER("Innodb_row_lock_time", "innodb_row_lock_time"),
    GAUGE("Innodb_row_lock_current_waits", "innodb_row_lock_current_waits"),
    GAUGE("Innodb_history_list_length", "innodb_history_list_length"),
    ROW_OP("read"),
    ROW_OP("inserted"),
    ROW_OP("updated"),
    ROW_OP("deleted"),
    HANDLER("read_key"),
    HANDLER("read_next"),
    HANDLER("read_rnd_next"),
    HANDLER("write"),
    HANDLER("update"),
    HANDLER("delete"),
    GAUGE("Rpl_semi_sync_master_clients", "rpl_semi_sync_master_clients"),
    GAUGE("Rpl_semi_sync_master_status", "rpl_semi_sync_master_status"),
    GAUGE("Rpl_semi_sync_master_wait_sessions", "rpl_semi_sync_master_wait_sessions"),
    COUNTER("Rpl_semi_sync_master_tx_waits", "rpl_semi_sync_master_tx_waits"),
    COUNTER("Rpl_semi_sync_master_tx_wait_time", "rpl_semi_sync_master_tx_wait_time"),
    COUNTER("Rpl_semi_sync_master_yes_tx", "rpl_semi_sync_master_yes_tx"),
    COUNTER("Rpl_semi_sync_master_no_tx", "rpl_semi_sync_master_no_tx"),
    GAUGE("Rpl_semi_sync_source_clients", "rpl_semi_sync_master_clients"),
    GAUGE("Rpl_semi_sync_source_status", "rpl_semi_sync_master_status"),
    GAUGE("Rpl_semi_sync_source_wait_sessions", "rpl_semi_sync_master_wait_sessions"),
    COUNTER("Rpl_semi_sync_source_tx_waits", "rpl_semi_sync_master_tx_waits"),
    COUNTER("Rpl_semi_sync_source_tx_wait_time", "rpl_semi_sync_master_tx_wait_time"),
    COUNTER("Rpl_semi_sync_source_yes_tx", "rpl_semi_sync_master_yes_tx"),
    COUNTER("Rpl_semi_sync_source_no_tx", "rpl_semi_sync_master_no_tx"),
    VARIABLE("max_connections"),
    VARIABLE("innodb_buffer_pool_size"),
    VARIABLE("innodb_log_file_size"),
    VARIABLE("innodb_redo_log_capacity"),
    VARIABLE("table_open_cache"),
    VARIABLE("table_definition_cache"),
    VARIABLE("open_files_limit"),
    VARIABLE("thread_cache_size"),
    VARIABLE("read_only"),
    VARIABLE("super_read_only"),
    VARIABLE("server_id"),
    /* Both spellings of a replica's columns; whichever the server prints lands in the same series. */
    REPLICA("Seconds_Behind_Master", "seconds_behind_master"),
    REPLICA("Seconds_Behind_Source", "seconds_behind_master"),
    REPLICA("Slave_IO_Running", "slave_io_running"),
    REPLICA("Replica_IO_Running", "slave_io_running"),
    REPLICA("Slave_SQL_Running", "slave_sql_running"),
    REPLICA("Replica_SQL_Running", "slave_sql_running"),
    REPLICA("Read_Master_Log_Pos", "read_master_log_pos"),
    REPLICA("Read_Source_Log_Pos", "read_master_log_pos"),
    REPLICA("Exec_Master_Log_Pos", "exec_master_log_pos"),
    REPLICA("Exec_Source_Log_Pos", "exec_master_log_pos"),
    REPLICA("Relay_Log_Space", "relay_log_space"),
};
_Static_assert(ARRAY_LEN(rows) <= SERVER_STATUS_VALUES_MAX, "server_status.values is too small");

void server_status_clear(struct server_status *status)
{
    for (size_t i = 0; i < SERVER_STATUS_VALUES_MAX; i++)
        status->values[i] = NAN;
}

static double to_number(const char *value)
{
    static const struct {
        const char *text;
        double number;
    } words[] = {{"ON", 1}, {"Yes", 1}, {"OFF", 0}, {"No", 0}, {"Connecting", 0}};
    char *end;

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasecmp(value, words[i].text) == 0)
            return words[i].number;
    }
    double number = strtod(value, &end);
    return end != value && *end == '\0' ? number : (double)NAN;
}

void server_status_take(
    struct server_status *status, enum server_status_source source, const char *name, const char *value)
{
    if (!value)
        return;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].source == source && strcasecmp(rows[i].name, name) == 0) {
            status->values[i] = to_number(value);
            return;
        }
    }
}

double server_status_value(const struct server_status *status, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].source != SOURCE_REPLICA && str_eq(rows[i].name, name))
            return status->values[i];
    }
    return (double)NAN;
}

const char *const *server_status_patterns(void)
{
    static const char *const patterns[] = {"Uptime", "Threads_%", "Connection%", "Max_used_connections", "Aborted_%",
        "Que%", "Slow_queries", "Bytes_%", "Com_%", "Created_tmp_%", "Select_%", "Sort_merge_passes", "Open%",
        "Table_%", "Binlog_%", "Handler_%", "Innodb_%", "Rpl_semi_sync_%", NULL};

    return patterns;
}

void server_status_sql(enum server_status_source source, struct strbuf *out)
{
    const char *separator = "";

    strbuf_addf(out, "SHOW GLOBAL %s WHERE Variable_name IN (", source == SOURCE_STATUS ? "STATUS" : "VARIABLES");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].source != source)
            continue;
        strbuf_adds(out, separator);
        sql_add_string(out, rows[i].name);
        separator = ", ";
    }
    strbuf_adds(out, ")");
}

#define HELP_SIZE 96

struct server_metrics {
    struct metric_desc descs[ARRAY_LEN(rows)]; /* the registry keeps pointers to them */
    char helps[ARRAY_LEN(rows)][HELP_SIZE];
    struct metric_family *families[ARRAY_LEN(rows)];
    struct metric *up;
};

static const struct metric_desc up_desc = {
    .name = "mysql_up",
    .help = "Whether the MySQL server answers.",
    .type = METRIC_GAUGE,
};

static void describe(const struct status_row *row, char ret[static HELP_SIZE])
{
    static const char *const sources[] = {
        [SOURCE_STATUS] = "Status variable",
        [SOURCE_VARIABLE] = "System variable",
        [SOURCE_REPLICA] = "Field of SHOW REPLICA STATUS,",
    };

    if (row->label)
        snprintf(ret, HELP_SIZE, "%s %s and others, by %s.", sources[row->source], row->name, row->label);
    else
        snprintf(ret, HELP_SIZE, "%s %s.", sources[row->source], row->name);
}

struct server_metrics *server_metrics_new(struct metrics *metrics)
{
    struct server_metrics *server = xnew(struct server_metrics);

    server->up = metric_of(metrics_declare(metrics, &up_desc));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct metric_desc *desc = &server->descs[i];
        desc->name = rows[i].metric;
        describe(&rows[i], server->helps[i]);
        desc->help = server->helps[i];
        desc->type = rows[i].type;
        desc->labels[0] = rows[i].label;
        server->families[i] = metrics_declare(metrics, desc);
    }
    return server;
}

void server_metrics_free(struct server_metrics *server)
{
    free(server);
}

void server_metrics_set(struct server_metrics *server, const struct server_status *status)
{
    metric_set(server->up, status ? 1 : 0);
    /* Who follows nobody has none of these, whatever it had before. */
    for (size_t i = 0; status && i < ARRAY_LEN(rows); i++) {
        if (rows[i].source == SOURCE_REPLICA)
            metric_unset(metric_of(server->families[i]));
    }
    for (size_t i = 0; status && i < ARRAY_LEN(rows); i++) {
        if (isnan(status->values[i]))
            continue;
        struct metric *metric =
            rows[i].label ? metric_of1(server->families[i], rows[i].label_value) : metric_of(server->families[i]);
        metric_set(metric, status->values[i]);
    }
}
