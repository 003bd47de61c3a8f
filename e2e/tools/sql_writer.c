/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_writer.c: a client as an application is one: one connection, one small transaction after the other, and a retry
 * after each error. It writes down what was acknowledged and how long it had to wait, and reads everything again at the
 * end.
 *
 *   sql_writer HOST PORT USER PASSWORD-FILE SECONDS [PAUSE-US]
 *
 * Table writer.t is made if it is not there. Row N is written until the server says yes; then row N + 1. A line
 * "GAP start-ms length-ms errors" for every pause of GAP_MS or more between two acknowledgements (start: wall clock),
 * at the end one JSON line:
 *   {"acknowledged":N,"missing":M,"errors":E,"lost":L,"maxGapMs":G}
 * errors: attempts that failed and were tried again; lost: rows that no attempt within RETRY_MS brought through.
 * `missing` counts acknowledged rows that are not there when read at the end: any is lost data. Ends by itself;
 * SIGTERM, or a file that SQL_WRITER_STOP names, ends it early with the same last line. Exit code 0 only if nothing is
 * missing or lost. With SQL_WRITER_ONCE set it ends with the first attempt that fails, and reads nothing again
 * (missing: -1): for a server that goes for good. With SQL_WRITER_PATIENT set it has no time-outs for reads and writes,
 * as clients have none by default. SQL_WRITER_ACKS names a file that gets the time of each acknowledgement, one a line
 * (wall clock, ms).
 */
#include <errno.h>
#include <mysql.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GAP_MS 15
#define RETRY_MS 60000
#define RETRY_PAUSE_US 2000

static volatile sig_atomic_t stopped;

struct writer {
    const char *host, *user;
    char password[256];
    unsigned port;
    MYSQL *mysql;
    uint64_t errors, lost;
    char last_error[256];
};

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static int64_t now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void hang_up(struct writer *writer)
{
    if (writer->mysql)
        mysql_close(writer->mysql);
    writer->mysql = NULL;
}

static bool dial(struct writer *writer)
{
    const my_bool enforce = 1, verify = 0; /* root is let in by TLS alone */
    unsigned timeout_s = 2;
    if (writer->mysql)
        return true;
    MYSQL *mysql = mysql_init(NULL);
    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    timeout_s = getenv("SQL_WRITER_PATIENT") ? 0 : 30;
    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &timeout_s);
    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &timeout_s);
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (!mysql_real_connect(mysql, writer->host, writer->user, writer->password, NULL, writer->port, NULL, 0)) {
        snprintf(writer->last_error, sizeof(writer->last_error), "connect: %s", mysql_error(mysql));
        mysql_close(mysql);
        return false;
    }
    writer->mysql = mysql;
    return true;
}

static bool run(struct writer *writer, const char *sql)
{
    if (!dial(writer))
        return false;
    if (mysql_query(writer->mysql, sql) == 0) {
        mysql_free_result(mysql_store_result(writer->mysql));
        return true;
    }
    snprintf(writer->last_error, sizeof(writer->last_error), "%u: %s", mysql_errno(writer->mysql),
        mysql_error(writer->mysql));
    hang_up(writer);
    return false;
}

/* True when the server said yes within RETRY_MS. */
static bool insist(struct writer *writer, const char *sql)
{
    const int64_t end = now_ms(CLOCK_MONOTONIC) + RETRY_MS;
    while (!run(writer, sql)) {
        writer->errors++;
        if (now_ms(CLOCK_MONOTONIC) > end)
            return false;
        usleep(RETRY_PAUSE_US);
    }
    return true;
}

static void note_acknowledgement(FILE *acks)
{
    if (acks)
        fprintf(acks, "%lld\n", (long long)now_ms(CLOCK_REALTIME));
}

static uint64_t write_rows(struct writer *writer, int64_t seconds, unsigned pause_us, int64_t *ret_max_gap, FILE *acks)
{
    const int64_t end = now_ms(CLOCK_MONOTONIC) + seconds * 1000;
    int64_t last = now_ms(CLOCK_MONOTONIC);
    uint64_t acknowledged = 0;
    char sql[160];
    const char *stop_file = getenv("SQL_WRITER_STOP");
    const bool once = getenv("SQL_WRITER_ONCE") != NULL;
    while (!stopped && now_ms(CLOCK_MONOTONIC) < end && !(stop_file && access(stop_file, F_OK) == 0)) {
        const uint64_t errors = writer->errors;
        const unsigned long long row = acknowledged + 1;
        snprintf(sql, sizeof(sql),
            "INSERT INTO writer.t (id, filler) VALUES (%llu, REPEAT('x', 100)) ON DUPLICATE KEY UPDATE attempts = attempts + 1",
            row);
        if (once ? !run(writer, sql) : !insist(writer, sql)) {
            writer->lost++;
            fprintf(stderr, "row %llu: %s\n", row, writer->last_error);
            break;
        }
        acknowledged++;
        note_acknowledgement(acks);
        const int64_t now = now_ms(CLOCK_MONOTONIC);
        if (now - last >= GAP_MS)
            printf("GAP %lld %lld %llu %s\n", (long long)(now_ms(CLOCK_REALTIME) - (now - last)),
                (long long)(now - last), (unsigned long long)(writer->errors - errors),
                writer->errors > errors ? writer->last_error : "");
        if (now - last > *ret_max_gap)
            *ret_max_gap = now - last;
        fflush(stdout);
        last = now;
        if (pause_us > 0) {
            usleep(pause_us);
            last = now_ms(CLOCK_MONOTONIC);
        }
    }
    return acknowledged;
}

static int64_t count_rows(struct writer *writer, uint64_t up_to)
{
    char sql[100];
    int64_t count = -1;
    snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM writer.t WHERE id <= %llu", (unsigned long long)up_to);
    for (int i = 0; i < 3000 && count < 0; i++) {
        if (!dial(writer) || mysql_query(writer->mysql, sql) != 0) {
            hang_up(writer);
            usleep(10000);
            continue;
        }
        MYSQL_RES *result = mysql_store_result(writer->mysql);
        MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
        if (row && row[0])
            count = strtoll(row[0], NULL, 10);
        mysql_free_result(result);
    }
    return count;
}

static bool read_password(struct writer *writer, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || !fgets(writer->password, sizeof(writer->password), file)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    writer->password[strcspn(writer->password, "\r\n")] = '\0';
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    struct writer writer = {.host = NULL};
    int64_t max_gap = 0;
    if (argc < 6) {
        fprintf(stderr, "usage: sql_writer HOST PORT USER PASSWORD-FILE SECONDS [PAUSE-US]\n");
        return 2;
    }
    writer.host = argv[1];
    writer.port = (unsigned)strtoul(argv[2], NULL, 10);
    writer.user = argv[3];
    if (!read_password(&writer, argv[4]))
        return 2;
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    if (!insist(&writer, "CREATE DATABASE IF NOT EXISTS writer") ||
        !insist(&writer,
            "CREATE TABLE IF NOT EXISTS writer.t (id BIGINT PRIMARY KEY, filler VARCHAR(200), attempts INT NOT NULL DEFAULT 1)") ||
        !insist(&writer, "DELETE FROM writer.t")) {
        fprintf(stderr, "%s\n", writer.last_error);
        return 1;
    }
    writer.errors = 0;
    FILE *acks = getenv("SQL_WRITER_ACKS") ? fopen(getenv("SQL_WRITER_ACKS"), "w") : NULL;
    if (acks)
        setvbuf(acks, NULL, _IOLBF, BUFSIZ);
    const uint64_t acknowledged = write_rows(
        &writer, strtoll(argv[5], NULL, 10), argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : 0, &max_gap, acks);
    if (acks)
        fclose(acks);
    const int64_t there = getenv("SQL_WRITER_ONCE") ? -1 : count_rows(&writer, acknowledged);
    const int64_t missing = there < 0 ? -1 : (int64_t)acknowledged - there;
    printf("{\"acknowledged\":%llu,\"missing\":%lld,\"errors\":%llu,\"lost\":%llu,\"maxGapMs\":%lld}\n",
        (unsigned long long)acknowledged, (long long)missing, (unsigned long long)writer.errors,
        (unsigned long long)writer.lost, (long long)max_gap);
    hang_up(&writer);
    return missing == 0 && writer.lost == 0 ? 0 : 1;
}
