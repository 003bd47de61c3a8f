/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/replication_writer.h"

#include <mysql.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/strbuf.h"

#define ROWS_MAX (1U << 20)
#define PAUSE_US 10000 /* after all have refused it: else clients that come take the whole machine */

struct journal {
    volatile bool stop;
    volatile uint32_t tried;             /* ids below were sent */
    volatile int64_t acked_us[ROWS_MAX]; /* by id; 0: not acknowledged */
};

struct writer {
    struct journal *journal;
    pid_t pid;
};

/* The server's own answer to the statement counts: what a connection is told before it is closed is told. */
static bool client_insert(MYSQL *client, const char *table, uint32_t id)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (%u)", table, id);
    return mysql_query(client, sql) == 0;
}

/* root comes in over the network with TLS alone. */
static void require_tls(MYSQL *client)
{
#ifdef MARIADB_PACKAGE_VERSION
    const my_bool enforce = 1, verify = 0;
    mysql_options(client, MYSQL_OPT_SSL_ENFORCE, &enforce);
    mysql_options(client, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#else
    const unsigned mode = SSL_MODE_REQUIRED;
    mysql_options(client, MYSQL_OPT_SSL_MODE, &mode);
#endif
}

static MYSQL *client_open(const char *defaults)
{
    const char *plugins = getenv("KM_TEST_CLIENT_PLUGINS");
    MYSQL *client = mysql_init(NULL);

    if (plugins)
        mysql_options(client, MYSQL_PLUGIN_DIR, plugins);
    require_tls(client);
    mysql_options(client, MYSQL_READ_DEFAULT_FILE, defaults);
    mysql_options(client, MYSQL_READ_DEFAULT_GROUP, "client");
    if (mysql_real_connect(client, NULL, NULL, NULL, NULL, 0, NULL, 0))
        return client;
    mysql_close(client);
    return NULL;
}

static void write_rows(struct journal *journal, char *const *defaults, unsigned members, const char *table)
{
    MYSQL *client = NULL;
    unsigned member = 0;

    while (!journal->stop && journal->tried < ROWS_MAX) {
        uint32_t id = journal->tried;
        if (!client)
            client = client_open(defaults[member]);
        journal->tried = id + 1;
        if (client && client_insert(client, table, id)) {
            journal->acked_us[id] = clock_monotonic_us();
            continue;
        }
        if (client)
            mysql_close(client);
        client = NULL;
        member = (member + 1) % members;
        if (member == 0)
            usleep(PAUSE_US);
    }
    if (client)
        mysql_close(client);
}

static char *write_defaults(const struct agent_rig *rig, const char *user, const char *password)
{
    _cleanup_(freep) char *name = xasprintf("writer-%s.cnf", user);
    _cleanup_(strbuf_release) struct strbuf cnf;

    strbuf_init(&cnf, 4096);
    strbuf_addf(&cnf,
        "[client]\nprotocol=tcp\nhost=127.0.0.1\nport=%u\nuser=%s\npassword=\"%s\"\nssl\nconnect_timeout=2\n",
        rig->mysql_port, user, password);
    agent_rig_put(rig, name, cnf.buf);
    return xstrdup(agent_rig_path(rig, name));
}

static struct writer *start(char *const *defaults, unsigned members, const char *table)
{
    struct writer *writer = xnew(struct writer);

    writer->journal = mmap(NULL, sizeof(struct journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(writer->journal, MAP_FAILED);
    fflush(NULL);
    writer->pid = fork();
    if (writer->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that was ended leaves nobody behind who writes on */
        signal(SIGPIPE, SIG_IGN);
        write_rows(writer->journal, defaults, members, table);
        _exit(0);
    }
    return writer;
}

struct writer *writer_start(struct replication_rig *rig, const char *table)
{
    char *defaults[MEMBERS];

    for (unsigned i = 0; i < MEMBERS; i++)
        defaults[i] = write_defaults(rig->members[i].rig, "root", "pw-root'\\\\");
    struct writer *writer = start(defaults, MEMBERS, table);
    for (unsigned i = 0; i < MEMBERS; i++)
        free(defaults[i]);
    return writer;
}

struct writer *writer_start_at(
    struct replication_rig *rig, unsigned member, const char *user, const char *password, const char *table)
{
    _cleanup_(freep) char *defaults = write_defaults(rig->members[member].rig, user, password);

    return start(&defaults, 1, table);
}

void writer_stop(struct writer *writer)
{
    writer->journal->stop = true;
    waitpid(writer->pid, NULL, 0);
}

void writer_free(struct writer *writer)
{
    munmap(writer->journal, sizeof(struct journal));
    free(writer);
}

uint64_t writer_acknowledged(const struct writer *writer)
{
    uint64_t count = 0;

    for (uint32_t id = 0; id < writer->journal->tried; id++)
        count += writer->journal->acked_us[id] != 0;
    return count;
}

/* Ids that were not acknowledged may be there or not. */
void writer_check_sql(const struct writer *writer, const char *table, struct strbuf *out)
{
    strbuf_addf(out, "SELECT COUNT(*) FROM %s WHERE id >= 0 AND id NOT IN (-1", table);
    for (uint32_t id = 0; id < writer->journal->tried; id++) {
        if (!writer->journal->acked_us[id])
            strbuf_addf(out, ",%u", id);
    }
    strbuf_adds(out, ")");
}

void writer_print_missing(const struct writer *writer, const char *table, const char *ids, int64_t since_us)
{
    _cleanup_(freep) bool *there = xnew_array(bool, ROWS_MAX);
    char *end = (char *)ids;

    while (*end) {
        uint32_t id = (uint32_t)strtoul(end, &end, 10);
        there[MIN_OF(id, ROWS_MAX - 1)] = true;
        end += strspn(end, "\n");
    }
    for (uint32_t id = 0; id < writer->journal->tried; id++) {
        if (writer->journal->acked_us[id] && !there[id])
            printf("%s: row %u was acknowledged after %lld us, and is not there\n", table, id,
                (long long)(writer->journal->acked_us[id] - since_us));
    }
}

static int compare_down(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left > right ? -1 : left < right;
}

int64_t writer_gap_ms(const struct writer *writer, unsigned count, unsigned percentile)
{
    int64_t *gaps = xcalloc(ROWS_MAX, sizeof(*gaps));
    size_t n = 0;
    int64_t last = 0;

    for (uint32_t id = 0; id < writer->journal->tried; id++) {
        int64_t at = writer->journal->acked_us[id];
        if (at && last)
            gaps[n++] = at - last;
        last = at ? at : last;
    }
    qsort(gaps, n, sizeof(*gaps), compare_down);
    size_t index = (size_t)count * (100 - percentile) / 100;
    int64_t gap_ms = n ? gaps[MIN_OF(index, n - 1)] / 1000 : 0;
    free(gaps);
    return gap_ms;
}
