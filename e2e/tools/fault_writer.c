/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_writer.c: clients that write all the time and tell of every attempt.
 *
 *   fault_writer rows|mixed USER PASSWORD-FILE CYCLE LIMIT-MS PAUSE-US MAX-ROWS ROUTE HOST [ROUTE HOST ...]
 *
 * One thread and one connection for each pair: ROUTE is a word for the records ("service", "direct"), HOST where to
 * connect. Each writes rows (cycle, thread, seq) into shop.w; a seq is never tried twice, so no row may be there twice,
 * and what was acknowledged must be there. A route "direct" asks first whether its server is open at all and waits
 * quietly until it is. A call that takes longer than LIMIT-MS is given up, and a new connection is made at once.
 *
 * "rows": one row per statement. "mixed": each eighth statement writes MANY_ROWS rows, and now and then a thread makes
 * a small table of its own (named shop.t_CYCLE_THREAD_SEQ), adds a column to it, and drops it. A table of which a
 * statement failed is left as it is.
 *
 * One line on stdout per attempt: "THREAD SEQ START-NS END-NS RESULT SERVER ROWS", RESULT 0 for an acknowledgement,
 * else the error's number; SERVER the server id of who answered; the rows are SEQ to SEQ + ROWS - 1. Clock:
 * CLOCK_MONOTONIC. Refused connections are attempts without a row: SEQ 0, of which runs are told only once per 100 ms.
 * Statements on tables: "create|alter|drop THREAD SEQ START-NS END-NS RESULT SERVER", SEQ that of the table's name.
 * Ends with SIGTERM, or after MAX-ROWS rows of a thread.
 */
#include "fault_client.h"

#define THREADS_MAX 16
#define RETRY_PAUSE_US 3000
#define MIXED_RETRY_PAUSE_US 20000 /* outages are many and long, and nobody measures milliseconds */
#define CONNECT_LIMIT_MS 300
#define TELL_AGAIN_MS 100
#define MANY_ROWS 30
#define MANY_EVERY 8
#define TABLE_EVERY 25
#define ROW_SIZE 48

static volatile sig_atomic_t stopped;

static struct {
    const char *user, *cycle;
    char password[256];
    int64_t limit_ms, max_rows;
    long pause_us;
    bool mixed;
} options;

/* What a thread does next with its table. */
enum table_step { CREATE, ALTER, DROP };

struct writer {
    int number;
    bool direct;
    const char *host;
    pthread_t thread;
    struct session session;
    int64_t server_id, seq, told_ns;
    int64_t turn, table; /* table: the number in its name */
    enum table_step step;
};

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void pause_before_retry(void)
{
    pause_us(options.mixed ? MIXED_RETRY_PAUSE_US : RETRY_PAUSE_US);
}

static void tell(const struct writer *writer, int64_t seq, int64_t start_ns, int rows)
{
    printf("%d %lld %lld %lld %u %lld %d\n", writer->number, (long long)seq, (long long)start_ns, (long long)now_ns(),
        writer->session.error, (long long)writer->server_id, rows);
}

static void failed(struct writer *writer, int64_t start_ns)
{
    if (writer->session.error == 0)
        writer->session.error = 2013; /* an answer that was none */
    if (start_ns - writer->told_ns > TELL_AGAIN_MS * NS_PER_MS) {
        tell(writer, 0, start_ns, 0);
        writer->told_ns = start_ns;
    }
    session_end(&writer->session);
    pause_before_retry();
}

static bool dial(struct writer *writer)
{
    const int64_t start_ns = now_ns();
    struct session *session = &writer->session;
    writer->server_id = -1;
    if (!somebody_greets(writer->host, "3306", CONNECT_LIMIT_MS)) {
        session->error = 2002;
        failed(writer, start_ns);
        return false;
    }
    if (!session_begin(session, writer->host, NULL, options.user, options.password)) {
        failed(writer, start_ns);
        return false;
    }
    writer->server_id = session_number(session, "SELECT @@server_id", options.limit_ms);
    if (writer->server_id < 0)
        failed(writer, start_ns);
    return writer->server_id >= 0;
}

static bool is_open(struct writer *writer)
{
    const int64_t read_only = session_number(&writer->session, "SELECT @@global.read_only", options.limit_ms);
    if (read_only < 0)
        failed(writer, now_ns());
    else if (read_only == 1)
        pause_before_retry();
    return read_only == 0;
}

/* With `rows` numbers that were never tried. */
static void write_rows(struct writer *writer, int rows)
{
    char sql[128 + MANY_ROWS * ROW_SIZE];
    const int64_t start_ns = now_ns(), first = writer->seq + 1;
    int len = snprintf(sql, sizeof(sql), "INSERT INTO shop.w (cycle, thread, seq) VALUES ");
    for (int i = 0; i < rows; i++)
        len += snprintf(sql + len, sizeof(sql) - (size_t)len, "%s(%s, %d, %lld)", i ? ", " : "", options.cycle,
            writer->number, (long long)(first + i));
    writer->seq += rows;
    const bool ok = session_query(&writer->session, sql, options.limit_ms);
    tell(writer, first, start_ns, rows);
    if (!ok)
        failed(writer, start_ns);
}

/* Each third table gets another column before it is dropped. */
static enum table_step step_after(const struct writer *writer)
{
    switch (writer->step) {
    case CREATE:
        return writer->table % 3 == 0 ? ALTER : DROP;
    case ALTER:
        return DROP;
    case DROP:
        break;
    }
    return CREATE;
}

static void change_table(struct writer *writer)
{
    static const char *const words[] = {"create", "alter", "drop"};
    static const char *const tails[] = {
        " (n INT PRIMARY KEY, text VARCHAR(40))", " ADD COLUMN more INT NOT NULL DEFAULT 7", ""};
    char sql[200];
    const int64_t start_ns = now_ns();
    const char *word = words[writer->step];
    if (writer->step == CREATE)
        writer->table++;
    snprintf(sql, sizeof(sql), "%s TABLE shop.t_%s_%d_%lld%s", word, options.cycle, writer->number,
        (long long)writer->table, tails[writer->step]);
    const bool ok = session_query(&writer->session, sql, options.limit_ms);
    printf("%s %d %lld %lld %lld %u %lld\n", word, writer->number, (long long)writer->table, (long long)start_ns,
        (long long)now_ns(), writer->session.error, (long long)writer->server_id);
    writer->step = ok ? step_after(writer) : CREATE;
    if (!ok)
        failed(writer, start_ns);
}

static void write_something(struct writer *writer)
{
    const int64_t turn = ++writer->turn + 7 * (int64_t)writer->number;
    if (options.mixed && turn % TABLE_EVERY == 0)
        change_table(writer);
    else
        write_rows(writer, options.mixed && turn % MANY_EVERY == 0 ? MANY_ROWS : 1);
    if (writer->session.mysql)
        pause_us(options.pause_us);
}

static void *run(void *arg)
{
    struct writer *writer = arg;
    mysql_thread_init();
    while (!stopped && writer->seq < options.max_rows) {
        if (!writer->session.mysql && !dial(writer))
            continue;
        if (!writer->direct || is_open(writer))
            write_something(writer);
    }
    session_end(&writer->session);
    mysql_thread_end();
    return NULL;
}

static bool read_options(int argc, char **argv)
{
    if (argc < 10 || argc % 2 == 1) {
        fprintf(stderr,
            "usage: fault_writer rows|mixed USER PASSWORD-FILE CYCLE LIMIT-MS PAUSE-US MAX-ROWS ROUTE HOST ...\n");
        return false;
    }
    options.mixed = strcmp(argv[1], "mixed") == 0;
    options.user = argv[2];
    options.cycle = argv[4];
    options.limit_ms = strtoll(argv[5], NULL, 10);
    options.pause_us = strtol(argv[6], NULL, 10);
    options.max_rows = strtoll(argv[7], NULL, 10);
    return read_password(argv[3], options.password, sizeof(options.password));
}

int main(int argc, char **argv)
{
    static struct writer writers[THREADS_MAX];
    int count = 0;
    if (!read_options(argc, argv))
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    mysql_library_init(0, NULL, NULL);
    for (int i = 8; i + 1 < argc && count < THREADS_MAX; i += 2, count++) {
        struct writer *writer = &writers[count];
        writer->number = count;
        writer->direct = strcmp(argv[i], "direct") == 0;
        writer->host = argv[i + 1];
        writer->session.fd = -1;
        pthread_create(&writer->thread, NULL, run, writer);
    }
    while (!stopped) {
        for (int i = 0; i < count; i++)
            session_watch(&writers[i].session);
        pause_us(2000);
    }
    /* Who hangs is let go. */
    for (int i = 0; i < count; i++)
        if (writers[i].session.fd >= 0)
            shutdown(writers[i].session.fd, SHUT_RDWR);
    for (int i = 0; i < count; i++)
        pthread_join(writers[i].thread, NULL);
    return 0;
}
