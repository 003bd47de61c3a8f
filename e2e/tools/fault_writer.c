/*
 * fault_writer.c: clients that write all the time and tell of every attempt.
 *
 *   fault_writer USER PASSWORD-FILE CYCLE LIMIT-MS PAUSE-US MAX-ROWS ROUTE HOST [ROUTE HOST ...]
 *
 * One thread and one connection for each pair: ROUTE is a word for the records ("service", "direct"), HOST where to connect. Each writes rows (cycle, thread,
 * seq) into shop.w; a seq is never tried twice, so no row may be there twice, and what was acknowledged must be there. A route "direct" asks first whether its
 * server is open at all and waits quietly until it is. A call that takes longer than LIMIT-MS is given up, and a new connection is made at once.
 *
 * One line on stdout per attempt: "THREAD SEQ START-NS END-NS RESULT SERVER", RESULT 0 for an acknowledgement, else the error's number; SERVER the
 * server id of who answered. Clock: CLOCK_MONOTONIC. Refused connections are attempts without a row: SEQ 0, of which runs are told only once per 100 ms.
 * Ends with SIGTERM, or after MAX-ROWS attempts of a thread.
 */
#include "fault_client.h"

#define THREADS_MAX 16
#define RETRY_PAUSE_US 3000
#define CONNECT_LIMIT_MS 300
#define TELL_AGAIN_MS 100

static volatile sig_atomic_t stopped;

static struct {
    const char *user, *cycle;
    char password[256];
    int64_t limit_ms, max_rows;
    long pause_us;
} options;

struct writer {
    int number;
    bool direct;
    const char *host;
    pthread_t thread;
    struct session session;
    int64_t server_id, seq, told_ns;
};

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void tell(const struct writer *writer, int64_t seq, int64_t start_ns)
{
    printf("%d %lld %lld %lld %u %lld\n", writer->number, (long long)seq, (long long)start_ns, (long long)now_ns(),
        writer->session.error, (long long)writer->server_id);
}

static void failed(struct writer *writer, int64_t start_ns)
{
    if (writer->session.error == 0)
        writer->session.error = 2013; /* an answer that was none */
    if (start_ns - writer->told_ns > TELL_AGAIN_MS * NS_PER_MS) {
        tell(writer, 0, start_ns);
        writer->told_ns = start_ns;
    }
    session_end(&writer->session);
    pause_us(RETRY_PAUSE_US);
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
        pause_us(RETRY_PAUSE_US);
    return read_only == 0;
}

static void write_row(struct writer *writer)
{
    char sql[160];
    const int64_t start_ns = now_ns();
    snprintf(sql, sizeof(sql), "INSERT INTO shop.w (cycle, thread, seq) VALUES (%s, %d, %lld)", options.cycle,
        writer->number, (long long)++writer->seq);
    const bool ok = session_query(&writer->session, sql, options.limit_ms);
    tell(writer, writer->seq, start_ns);
    if (!ok)
        failed(writer, start_ns);
    else
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
            write_row(writer);
    }
    session_end(&writer->session);
    mysql_thread_end();
    return NULL;
}

int main(int argc, char **argv)
{
    static struct writer writers[THREADS_MAX];
    int count = 0;
    if (argc < 9 || argc % 2 == 0) {
        fprintf(stderr, "usage: fault_writer USER PASSWORD-FILE CYCLE LIMIT-MS PAUSE-US MAX-ROWS ROUTE HOST ...\n");
        return 2;
    }
    options.user = argv[1];
    options.cycle = argv[3];
    options.limit_ms = strtoll(argv[4], NULL, 10);
    options.pause_us = strtol(argv[5], NULL, 10);
    options.max_rows = strtoll(argv[6], NULL, 10);
    if (!read_password(argv[2], options.password, sizeof(options.password)))
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    mysql_library_init(0, NULL, NULL);
    for (int i = 7; i + 1 < argc && count < THREADS_MAX; i += 2, count++) {
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
