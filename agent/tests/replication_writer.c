#include "common/base.h"

#include "agent/tests/replication_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
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

struct client {
    pid_t pid;
    int to, from;
};

static void client_close(struct client *client)
{
    if (client->pid <= 0)
        return;
    close(client->to);
    close(client->from);
    kill(client->pid, SIGKILL);
    waitpid(client->pid, NULL, 0);
    *client = (struct client){0};
}

static void client_exec(const char *defaults, int in, int out)
{
    _cleanup_(freep) char *file = xasprintf("--defaults-file=%s", defaults);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execlp(
        "mariadb", "mariadb", file, "--batch", "--skip-column-names", "--unbuffered", "--skip-reconnect", (char *)NULL);
    _exit(99);
}

static void client_open(struct client *client, const char *defaults)
{
    int to[2];
    int from[2];

    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        _exit(1);
    client->pid = fork();
    if (client->pid == 0)
        client_exec(defaults, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    client->to = to[1];
    client->from = from[0];
}

/* The client ends at the first error, so an answer to the second statement acknowledges the first. */
static bool client_insert(const struct client *client, const char *table, uint32_t id)
{
    char text[256];
    int len = snprintf(text, sizeof(text), "INSERT INTO %s VALUES (%u);\nSELECT %u;\n", table, id, id);
    char answer[64] = "";
    size_t used = 0;

    if (write(client->to, text, (size_t)len) != len)
        return false;
    while (used == 0 || answer[used - 1] != '\n') {
        ssize_t got = read(client->from, answer + used, sizeof(answer) - 1 - used);
        if (got <= 0)
            return false;
        used += (size_t)got;
    }
    answer[used] = '\0';
    return strtoul(answer, NULL, 10) == id;
}

static void write_rows(struct journal *journal, char *const *defaults, unsigned members, const char *table)
{
    struct client client = {0};
    unsigned member = 0;

    while (!journal->stop && journal->tried < ROWS_MAX) {
        uint32_t id = journal->tried;
        if (!client.pid)
            client_open(&client, defaults[member]);
        journal->tried = id + 1;
        if (client_insert(&client, table, id)) {
            journal->acked_us[id] = clock_monotonic_us();
            continue;
        }
        client_close(&client);
        member = (member + 1) % members;
        if (member == 0)
            usleep(PAUSE_US);
    }
    client_close(&client);
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
