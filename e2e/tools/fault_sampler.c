/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_sampler.c: asks every member, over its own socket and so past all cut links, whether it takes writes now.
 *
 *   fault_sampler USER PASSWORD-FILE PERIOD-US NAME SOCKET [NAME SOCKET ...]
 *
 * A sample is an INSERT that is rolled back: it needs no acknowledgement and leaves no trace. One line on stdout at the
 * end of each run of equal samples:
 * "NAME STATE START-NS END-NS" with STATE open, closed (the server refused as read-only), away (no answer, or another
 * error); START is when the first sample of the run was answered, END when the last one was asked for: the member was
 * so for all of that time, however long an answer lay unread. END may be before START. The very first sample of a
 * member has a line of its own, at once. A pause of more than GAP_MS between samples ends a run. Clock:
 * CLOCK_MONOTONIC. SIGTERM ends it.
 */
#include "fault_client.h"

#define MEMBERS_MAX 9
#define GAP_MS 100
#define SAMPLE_LIMIT_MS 2000
#define ER_OPTION_PREVENTS_STATEMENT 1290

enum state { AWAY, CLOSED, OPEN };
static const char *const state_names[] = {"away", "closed", "open"};
static volatile sig_atomic_t stopped;
static const char *user;
static char password[256];
static long period_us;

struct member {
    const char *name, *socket_path;
    pthread_t thread;
    struct session session;
    enum state state;
    int64_t start_ns, end_ns, last_ns; /* last_ns: when the last one was answered */
};

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static enum state sample(struct member *member)
{
    struct session *session = &member->session;
    if (!session->mysql && !session_begin(session, NULL, member->socket_path, user, password))
        return AWAY;
    if (session_query(session, "BEGIN", SAMPLE_LIMIT_MS) &&
        session_query(session, "INSERT INTO shop.probe (n) VALUES (1)", SAMPLE_LIMIT_MS)) {
        /* It is the INSERT that proves it; what becomes of the rest is of no interest. */
        if (!session_query(session, "ROLLBACK", SAMPLE_LIMIT_MS))
            session_end(session);
        return OPEN;
    }
    if (session->error == ER_OPTION_PREVENTS_STATEMENT && session_query(session, "ROLLBACK", SAMPLE_LIMIT_MS))
        return CLOSED;
    session_end(session);
    return AWAY;
}

static void end_run(const struct member *member)
{
    if (member->start_ns > 0)
        printf("%s %s %lld %lld\n", member->name, state_names[member->state], (long long)member->start_ns,
            (long long)member->end_ns);
}

static void *run(void *arg)
{
    struct member *member = arg;
    mysql_thread_init();
    while (!stopped) {
        const int64_t asked = now_ns();
        const enum state state = sample(member);
        const int64_t now = now_ns();
        const bool is_first = member->start_ns == 0;
        if (is_first || state != member->state || now - member->last_ns > GAP_MS * NS_PER_MS) {
            end_run(member);
            member->start_ns = now;
            member->state = state;
        }
        member->end_ns = asked;
        member->last_ns = now;
        if (is_first)
            end_run(member);
        pause_us(period_us);
    }
    end_run(member);
    session_end(&member->session);
    mysql_thread_end();
    return NULL;
}

int main(int argc, char **argv)
{
    static struct member members[MEMBERS_MAX];
    int count = 0;
    if (argc < 6 || argc % 2 == 1) {
        fprintf(stderr, "usage: fault_sampler USER PASSWORD-FILE PERIOD-US NAME SOCKET ...\n");
        return 2;
    }
    user = argv[1];
    period_us = strtol(argv[3], NULL, 10);
    if (!read_password(argv[2], password, sizeof(password)))
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    signal(SIGTERM, on_signal);
    signal(SIGPIPE, SIG_IGN);
    mysql_library_init(0, NULL, NULL);
    for (int i = 4; i + 1 < argc && count < MEMBERS_MAX; i += 2, count++) {
        members[count].name = argv[i];
        members[count].socket_path = argv[i + 1];
        members[count].session.fd = -1;
        pthread_create(&members[count].thread, NULL, run, &members[count]);
    }
    while (!stopped) {
        for (int i = 0; i < count; i++)
            session_watch(&members[i].session);
        pause_us(5000);
    }
    for (int i = 0; i < count; i++)
        if (members[i].session.fd >= 0)
            shutdown(members[i].session.fd, SHUT_RDWR);
    for (int i = 0; i < count; i++)
        pthread_join(members[i].thread, NULL);
    return 0;
}
