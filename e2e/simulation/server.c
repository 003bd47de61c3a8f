/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/server.h"

#include "agent/server_start.h"
#include "e2e/simulation/check.h"

/* rpl_semi_sync: from the receiver's write to the source's count. */
#define LATENCY_MS 10
/* The engine's log reaches the disk once a second where commits do not sync it: the binary log stands for them. */
#define ENGINE_FLUSH_MS 1000

bool server_runs(const struct sim_server *server)
{
    return server->phase == SERVER_RUNS;
}

bool server_answers(const struct sim *sim, int member)
{
    const struct sim_server *server = &sim->members[member].server;
    return server_runs(server) && server->frozen_until_ms <= sim->now_ms;
}

bool server_is_full(const struct sim *sim, int member)
{
    return sim->members[member].full_until_ms > sim->now_ms;
}

bool server_is_locked(const struct sim *sim, int member)
{
    return sim->members[member].server.locked_until_ms > sim->now_ms;
}

/* ---- GTIDs ---- */

void server_executed(const struct sim *sim, int member, char *out, size_t size)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    out[0] = '\0';
    /* MariaDB's gtid_binlog_pos has what waits for acknowledgements, MySQL's gtid_executed has not. */
    if (!sim->mariadb)
        txn_set_print(&log->done, NULL, sim->txns.sources, out, size);
    else if (log->count > 0)
        txn_gtid(&sim->txns.all[txn_log_last(log)], true, out, size);
}

/* agent/mysql/replication_facts.c: joined with what is executed; MariaDB's is nothing while both threads are off
 * (forget_what_is_dropped). */
bool server_drops_received(const struct sim *sim, int member)
{
    const struct sim_member *at = &sim->members[member];
    const struct txn_queue *relay = &at->disk.relay;
    return sim->mariadb && at->disk.configured && at->server.receiver == AGENT_THREAD_OFF &&
        at->server.applier == AGENT_THREAD_OFF && !at->server.applier_errno && relay->count > relay->at;
}

void server_received(const struct sim *sim, int member, char *out, size_t size)
{
    const struct sim_member *at = &sim->members[member];
    const struct txn_queue *relay = &at->disk.relay;
    server_executed(sim, member, out, size);
    if (!sim->mariadb)
        txn_set_print(&at->disk.log.done, &relay->all, sim->txns.sources, out, size);
    else if (at->disk.configured && !server_drops_received(sim, member) && relay->count > relay->at) {
        const struct txn *last = &sim->txns.all[relay->entries[relay->count - 1]];
        int own = txn_log_last(&at->disk.log);
        if (own < 0 || sim->txns.all[own].number < last->number)
            txn_gtid(last, true, out, size);
    }
}

bool server_has_applied_all(const struct sim_member *at)
{
    return at->disk.relay.at == at->disk.relay.count;
}

void server_drop_relay(struct sim *sim, int member)
{
    struct txn_queue *relay = &sim->members[member].disk.relay;
    if (relay->count > relay->at)
        sim_tell(sim, "%s drops %d transactions that it had received and not applied", sim_member_name(member),
            relay->count - relay->at);
    txn_queue_clear(relay);
}

/* ---- start and end ---- */

static void forget_run(struct sim *sim, int member)
{
    struct sim_server *server = &sim->members[member].server;
    int crashes = server->crashes;
    int64_t again_ms = server->again_ms;
    *server = (struct sim_server){
        .read_only = true, .crashes = crashes, .again_ms = again_ms, .run = sim_new_id(sim), .began_ms = sim->now_ms};
    snprintf(server->run_text, sizeof(server->run_text), "%llu", (unsigned long long)server->run);
}

static int64_t back_off_ms(const struct sim *sim, int member, int crashes)
{
    int64_t base_ms = sim_between(sim, member, 11, 300, 1200);
    return crashes > 3 ? base_ms + 4000 : base_ms * MAX_OF(1, crashes);
}

void server_kill(struct sim *sim, int member, bool power)
{
    struct sim_member *at = &sim->members[member];
    if (at->server.phase == SERVER_OFF)
        return;
    bool was_open = server_runs(&at->server) && !at->server.read_only;
    forget_run(sim, member);
    at->server.crashes++;
    at->server.again_ms = sim->now_ms + back_off_ms(sim, member, at->server.crashes);
    sim_tell(sim, "%s: its server ends%s%s", sim_member_name(member), power ? " with its node" : "",
        was_open ? ", while it takes writes" : "");
}

void server_end(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    if (at->server.phase == SERVER_OFF)
        return;
    if (server_runs(&at->server) && server_waiting(at) > 0) {
        if (!sim->mariadb)
            check_told_at_end(sim, member);
        server_let_go(sim, member);
    }
    at->disk.log.durable = at->disk.log.count;
    at->disk.semi_primary = at->server.read_only ? at->disk.semi_primary : 0;
    forget_run(sim, member);
    sim_tell(sim, "%s: its server is stopped", sim_member_name(member));
}

static void make_source(struct sim *sim, int member)
{
    if (sim->txns.sources < TXN_SOURCES_MAX)
        sim->members[member].disk.own_source = sim->txns.sources++;
}

/* kept: how many transactions from the beginning on are not cut off, or are taken back. */
static void begin_recovery(struct sim *sim, int member, bool truncate, int kept)
{
    struct sim_member *at = &sim->members[member];
    at->server.phase = SERVER_STARTS;
    at->server.due_ms = sim->now_ms + sim_between(sim, member, 12, 200, 1500);
    if (at->disk.cut) /* agent/server_start.c: give_up_data */
        at->disk.mark = AGENT_MARK_RESEED;
    if (truncate) {
        at->disk.cut = true;
        make_source(sim, member); /* server_id_draw_anew */
        kept = MAX_OF(kept, at->disk.log.durable);
        check_cut(sim, member, kept);
    }
    /* --init-rpl-role=SLAVE: what the engine had not committed for good is cut off, acknowledged or not
     * (start_mode.h). What the next primary had of it is taken back before anything else (agent/put_back.h). */
    if (truncate && kept < at->disk.log.count) {
        sim_tell(sim, "%s: its start cuts off %d transactions%s", sim_member_name(member), at->disk.log.count - kept,
            kept > at->disk.log.durable ? ", and others are taken back" : "");
        txn_log_cut(&sim->txns, &at->disk.log, kept);
    }
    /* Used up, whatever becomes of the start (agent/server_start.c). */
    at->run_dir.has_mode = false;
    at->disk.semi_primary = 0;
    txn_log_commit(&sim->txns, &at->disk.log, at->disk.log.count);
    /* relay_keep_option */
    at->server.relay_kept = at->disk.relay_pod == at->pod.uid;
    at->disk.relay_pod = at->pod.uid;
    if (!at->server.relay_kept)
        at->run_dir.has_note = false;
}

/* agent/server_start.c: judge_end. How many transactions from the beginning on the primary had when it was chosen, as
 * far as its position tells. */
static int count_shared(const struct sim *sim, const struct txn_log *log, const char *beyond)
{
    _cleanup_(gtid_set_freep) struct gtid_set *set = gtid_set_parse(GTID_MARIADB, beyond, NULL);
    struct gtid_one one;
    if (str_empty(beyond) || !set)
        return 0;
    uint32_t shared = 0;
    int count = 0;
    for (size_t i = 0; gtid_set_position(set, i, &one); i++) {
        int source = (int)one.server - TXN_SERVER_ID_BASE;
        if (source >= 0 && source < sim->txns.sources)
            shared = MAX_OF(shared, (uint32_t)MIN_OF((uint64_t)log->all.upto[source], one.number));
    }
    while (count < log->count && sim->txns.all[log->entries[count]].number <= shared)
        count++;
    return count;
}

/* agent/server_start.c: judge_tail */
static void await_word(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    const struct start_mode *mode = &at->run_dir.mode;
    bool has_word = at->run_dir.has_mode;
    if (!has_word && sim->now_ms < at->server.due_ms && at->agent.alive)
        return;
    bool may_cut = has_word && mode->truncate && mode->epoch > at->disk.semi_primary;
    int shared = may_cut ? count_shared(sim, &at->disk.log, mode->beyond) : 0;
    bool has_tail = shared < at->disk.log.count;
    /* agent/set_aside_tail.h: what cannot be set aside as a whole is not cut off. */
    if (may_cut && has_tail && (server_is_full(sim, member) || sim_chance(sim, member, 15, 10))) {
        sim_tell(sim, "%s: its tail cannot be set aside, and is left", sim_member_name(member));
        may_cut = false;
    }
    at->server.in_domain = may_cut;
    begin_recovery(sim, member, may_cut && has_tail, shared);
}

void server_launch(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    forget_run(sim, member);
    at->server.phase = SERVER_WAITS;
    at->server.due_ms = sim->now_ms;
    if (sim->mariadb && at->disk.semi_primary)
        at->server.due_ms += SERVER_START_PATIENCE_MS;
}

static void finish_recovery(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    at->server.phase = SERVER_RUNS;
    at->disk.log.durable = at->disk.log.count;
    if (!at->server.relay_kept)
        server_drop_relay(sim, member);
    if (at->disk.ddl && (at->disk.cut || at->server.in_domain)) {
        at->disk.ddl = false;
        at->disk.self_written = true;
        sim_tell(sim, "%s: DDL recovery logs in the domain of the start", sim_member_name(member));
    }
    if (at->disk.ddl) { /* MariaDB's DDL recovery logs under the server's own id, before anybody is followed */
        at->disk.ddl = false;
        at->server.read_only = false;
        int txn = server_write(sim, member, TXN_DDL_RECOVERY, 0);
        at->server.read_only = true;
        char gtid[64];
        if (txn >= 0) {
            txn_gtid(&sim->txns.all[txn], true, gtid, sizeof(gtid));
            sim_tell(sim, "%s: DDL recovery logs %s", sim_member_name(member), gtid);
        }
    }
    char executed[256];
    server_executed(sim, member, executed, sizeof(executed));
    sim_tell(sim, "%s: its server runs, executed %s", sim_member_name(member), executed);
}

/* ---- writing ---- */

static uint32_t next_number(const struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    if (sim->mariadb)
        return log->count > 0 ? sim->txns.all[txn_log_last(log)].number + 1 : 1;
    return log->all.upto[sim->members[member].disk.own_source] + 1;
}

/* MariaDB gives a number again that was cut off. MySQL never gives one twice: no UUID comes back, and none of its
 * numbers is taken off. */
static void note_twin(struct txn_table *table, int txn)
{
    const struct txn *what = &table->all[txn];
    uint32_t *highest = &table->highest[what->source];
    if (what->number > *highest) {
        *highest = what->number;
        return;
    }
    for (int i = txn - 1; i >= MAX_OF(0, txn - 800); i--) {
        if (txn_same_gtid(&table->all[i], &table->all[txn]))
            table->all[i].has_twin = table->all[txn].has_twin = true;
    }
}

int server_write(struct sim *sim, int member, enum txn_kind kind, uint64_t epoch)
{
    struct sim_member *at = &sim->members[member];
    bool may = server_runs(&at->server) && !at->server.read_only && !at->server.closing;
    if (!may || server_is_full(sim, member) || server_is_locked(sim, member) || sim->txns.count == TXNS_MAX ||
        at->disk.log.count == TXNS_MAX)
        return -1;
    int txn = sim->txns.count++;
    sim->txns.all[txn] = (struct txn){.kind = kind,
        .server = (uint8_t)member,
        .source = (uint8_t)at->disk.own_source,
        .number = next_number(sim, member),
        .epoch = epoch,
        .made_ms = sim->now_ms};
    if (sim->mariadb)
        note_twin(&sim->txns, txn);
    txn_log_add(&sim->txns, &at->disk.log, txn);
    check_added(sim, member, txn);
    return txn;
}

int server_waiting(const struct sim_member *at)
{
    return at->disk.log.count - at->disk.log.committed;
}

bool server_has_committed(const struct sim *sim, int member, int txn)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    for (int i = log->committed; i < log->count; i++) {
        if (log->entries[i] == txn)
            return false;
    }
    return txn_bits_has(&log->bits, txn);
}

static int acks_needed(const struct sim *sim, const struct sim_server *server)
{
    return sim->mariadb ? 1 : MAX_OF(1, server->semi_acks);
}

static bool has_acknowledger(const struct sim *sim, int source, int member)
{
    const struct sim_member *at = &sim->members[member];
    return member != source && server_answers(sim, member) && at->disk.configured && at->disk.source == source &&
        at->server.receiver == AGENT_THREAD_RUNNING && at->server.gives &&
        at->server.source_run == sim->members[source].server.run && sim_is_linked(sim, source, member);
}

bool server_can_acknowledge(const struct sim *sim, int member)
{
    const struct sim_server *server = &sim->members[member].server;
    int count = 0;
    if (!server_answers(sim, member) || server->read_only || server->closing)
        return false;
    for (int i = 0; i < sim->member_count; i++)
        count += has_acknowledger(sim, member, i);
    return !server->semi_source || count >= acks_needed(sim, server);
}

void server_let_go(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    at->server.unacknowledged += (uint64_t)server_waiting(at);
    txn_log_commit(&sim->txns, &at->disk.log, at->disk.log.count);
}

static void note_let_go(struct sim *sim, int txn)
{
    sim->txns.all[txn].let_go_ms = sim->let_go_ms = sim->now_ms;
}

static void note_waiting_let_go(struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    if (log->committed < log->count)
        sim_tell(sim, "%s lets %d commits go that waited", sim_member_name(member), log->count - log->committed);
    for (int i = log->committed; i < log->count; i++)
        note_let_go(sim, log->entries[i]);
}

void server_release_waiting(struct sim *sim, int member)
{
    note_waiting_let_go(sim, member);
    server_let_go(sim, member);
}

void server_end_by_hand(struct sim *sim, int member)
{
    if (!sim->mariadb && server_runs(&sim->members[member].server))
        note_waiting_let_go(sim, member);
    server_end(sim, member);
}

static int count_acks(const struct sim_server *server, int member, int at)
{
    int count = 0;
    for (int i = 0; i < SIM_MEMBERS_MAX && server->semi_source; i++)
        count += i != member && server->heard[i] > at;
    return count;
}

static void count_acknowledgements(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct txn_log *log = &at->disk.log;
    bool waits = at->server.semi_source && !at->server.semi_gave_up;
    while (log->committed < log->count) {
        int count = count_acks(&at->server, member, log->committed);
        bool enough = count >= acks_needed(sim, &at->server);
        if (waits && !enough)
            return;
        if (count < at->server.ordered_acks)
            note_let_go(sim, log->entries[log->committed]);
        at->server.acknowledged += waits;
        at->server.unacknowledged += at->server.semi_gave_up && !enough;
        txn_log_commit(&sim->txns, log, log->committed + 1);
    }
}

/* The time-out of semi-sync: it waits again once a replica has everything. */
static void mind_timeout(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_server *server = &at->server;
    const struct txn_log *log = &at->disk.log;
    if (!server->semi_source || server->semi_timeout_ms == 0)
        return;
    if (server->semi_gave_up)
        server->semi_gave_up = count_acks(server, member, log->count - 1) < acks_needed(sim, server);
    else if (log->committed < log->count &&
        sim->now_ms - sim->txns.all[log->entries[log->committed]].made_ms >= server->semi_timeout_ms) {
        sim_tell(sim, "%s waits for acknowledgements no more", sim_member_name(member));
        server->semi_gave_up = true;
        server_release_waiting(sim, member);
    }
}

/* KILL ends the connection of the one that leads the group, and lets all of them go. KILL QUERY: MariaDB answers OK. */
static void kill_waiting(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    const struct txn_log *log = &at->disk.log;
    if (at->server.kill_until_ms <= sim->now_ms || log->committed == log->count)
        return;
    at->server.kill_until_ms = 0;
    for (int i = 0; i < SIM_CLIENTS && !(sim->mariadb && at->server.kill_softly); i++) {
        struct sim_client *client = &sim->clients[i];
        if (client->member == member && client->txn == log->entries[log->committed])
            client->member = client->txn = -1;
    }
    server_release_waiting(sim, member);
}

/* ---- applying ---- */

void server_apply(struct sim *sim, int member, int txn)
{
    struct sim_member *at = &sim->members[member];
    const struct txn *what = &sim->txns.all[txn];
    int last = txn_log_last(&at->disk.log);
    char gtid[64];
    if (!sim->mariadb && what->number <= at->disk.log.all.upto[what->source])
        return; /* skipped: it has that GTID */
    if (sim->mariadb && last >= 0 && what->number <= sim->txns.all[last].number) {
        txn_gtid(what, true, gtid, sizeof(gtid)); /* gtid_strict_mode */
        at->server.applier_errno = 1950;
        snprintf(at->server.applier_error, sizeof(at->server.applier_error),
            "An attempt was made to binlog GTID %s which would create an out-of-order sequence number with existing GTID ",
            gtid);
        size_t len = strlen(at->server.applier_error);
        txn_gtid(&sim->txns.all[last], true, at->server.applier_error + len, sizeof(at->server.applier_error) - len);
        at->server.applier = AGENT_THREAD_OFF;
        return;
    }
    if (at->disk.log.count == TXNS_MAX)
        return;
    txn_log_add(&sim->txns, &at->disk.log, txn);
    txn_log_commit(&sim->txns, &at->disk.log, at->disk.log.count);
    check_added(sim, member, txn);
}

static void apply_some(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct txn_queue *relay = &at->disk.relay;
    int limit = 40;
    if (at->server.applier != AGENT_THREAD_RUNNING || at->server.applier_stuck_until_ms > sim->now_ms ||
        server_is_full(sim, member))
        return;
    /* A slow one stops for a while, and then has much to do. */
    if (sim->schedule->slow && (sim->now_ms / 1500 + member) % 3 != 0)
        return;
    for (; relay->at < relay->count && limit > 0 && at->server.applier == AGENT_THREAD_RUNNING; limit--) {
        server_apply(sim, member, relay->entries[relay->at]);
        if (!at->server.applier_errno)
            relay->at++;
    }
}

void server_step(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    if (at->server.frozen_until_ms > sim->now_ms || at->server.phase == SERVER_OFF)
        return;
    if (at->server.phase == SERVER_WAITS)
        await_word(sim, member);
    else if (at->server.phase == SERVER_STARTS && sim->now_ms >= at->server.due_ms && !server_is_full(sim, member))
        finish_recovery(sim, member);
    if (!server_runs(&at->server))
        return;
    apply_some(sim, member);
    count_acknowledgements(sim, member);
    mind_timeout(sim, member);
    kill_waiting(sim, member);
    if (sim->now_ms - at->disk.log.durable_ms >= ENGINE_FLUSH_MS) {
        at->disk.log.durable_ms = sim->now_ms;
        at->disk.log.durable = at->disk.log.committed;
    }
}

/* ---- replication ---- */

void server_stop_receiver(struct sim *sim, int member)
{
    struct sim_server *server = &sim->members[member].server;
    UNUSED(sim);
    server->receiver = AGENT_THREAD_OFF;
    server->receiver_errno = 0;
    server->receiver_error[0] = '\0';
    server->gives = false;
}

static void drop_by_start(struct sim *sim, int member)
{
    const struct sim_server *server = &sim->members[member].server;
    if (sim->mariadb && server->receiver == AGENT_THREAD_OFF && server->applier == AGENT_THREAD_OFF)
        server_drop_relay(sim, member);
}

void server_start_receiver(struct sim *sim, int member)
{
    struct sim_server *server = &sim->members[member].server;
    if (server->receiver != AGENT_THREAD_OFF)
        return;
    drop_by_start(sim, member);
    server->receiver = AGENT_THREAD_CONNECTING;
    server->receiver_errno = 0;
    server->receiver_error[0] = '\0';
    server->connect_ms = sim->now_ms + sim_between(sim, member, 13, 10, 60);
}

bool server_recover_relay(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    for (int limit = sim->mariadb ? 40 : 0; limit > 0 && at->disk.relay.at < at->disk.relay.count; limit--) {
        server_apply(sim, member, at->disk.relay.entries[at->disk.relay.at]);
        if (at->server.applier_errno)
            return true;
        at->disk.relay.at++;
    }
    return !sim->mariadb || at->disk.relay.at == at->disk.relay.count;
}

void server_start_applier(struct sim *sim, int member)
{
    struct sim_server *server = &sim->members[member].server;
    if (server->applier != AGENT_THREAD_OFF)
        return;
    drop_by_start(sim, member);
    server->applier = AGENT_THREAD_RUNNING;
    server->applier_errno = 0;
    server->applier_error[0] = '\0';
}

void server_follow(struct sim *sim, int member, int source)
{
    struct sim_member *at = &sim->members[member];
    at->disk.configured = true;
    at->disk.source = source;
    server_stop_receiver(sim, member);
}

static void refuse(struct sim *sim, int member, const char *why)
{
    struct sim_server *server = &sim->members[member].server;
    server->receiver = AGENT_THREAD_OFF;
    server->receiver_errno = sim->mariadb ? 1236 : 13114;
    snprintf(server->receiver_error, sizeof(server->receiver_error), "%s", why);
    sim_tell(sim, "%s: its source refuses it: %s", sim_member_name(member), why);
}

/* Where in the source's log a MariaDB replica goes on; -1: refused. */
static int find_place_mariadb(struct sim *sim, int source, int member)
{
    const struct txn_log *theirs = &sim->members[source].disk.log;
    const struct sim_disk *own = &sim->members[member].disk;
    int last = own->relay.count > own->relay.at ? own->relay.entries[own->relay.count - 1] : txn_log_last(&own->log);
    char why[160], gtid[64];
    if (last < 0)
        return theirs->base == 0 ? 0 : (refuse(sim, member, "Could not find GTID state requested"), -1);
    for (int i = theirs->count - 1; i >= MAX_OF(theirs->base - 1, 0); i--) {
        if (txn_same_gtid(&sim->txns.all[theirs->entries[i]], &sim->txns.all[last]))
            return i + 1;
    }
    bool older =
        theirs->base > 0 && sim->txns.all[last].number < sim->txns.all[theirs->entries[theirs->base - 1]].number;
    txn_gtid(&sim->txns.all[last], true, gtid, sizeof(gtid));
    if (older)
        snprintf(why, sizeof(why), "Could not find GTID state requested by slave");
    else
        snprintf(why, sizeof(why),
            "connecting slave requested to start from GTID %s, which is not in the master's binlog", gtid);
    refuse(sim, member, why);
    return -1;
}

static int find_place_mysql(struct sim *sim, int source, int member)
{
    const struct txn_log *theirs = &sim->members[source].disk.log;
    const struct sim_disk *own = &sim->members[member].disk;
    int uuid = sim->members[source].disk.own_source;
    if (MAX_OF(own->log.all.upto[uuid], own->relay.all.upto[uuid]) > theirs->all.upto[uuid]) {
        refuse(sim, member, "Replica has more GTIDs than the source has, using the source's SERVER_UUID");
        return -1;
    }
    for (int i = 0; i < theirs->base; i++) {
        const struct txn *txn = &sim->txns.all[theirs->entries[i]];
        if (txn->number > MAX_OF(own->log.all.upto[txn->source], own->relay.all.upto[txn->source])) {
            refuse(sim, member, "Cannot replicate because the source purged required binary logs");
            return -1;
        }
    }
    return theirs->base;
}

static void connect_receiver(struct sim *sim, int source, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_server *server = &at->server;
    if (sim->now_ms < server->connect_ms)
        return;
    server->connect_ms = sim->now_ms + 1000; /* CONNECT_RETRY */
    server->receiver_errno = 2003;
    snprintf(server->receiver_error, sizeof(server->receiver_error), "error connecting to source");
    if (!server_answers(sim, source) || !sim_is_linked(sim, source, member))
        return;
    server->receiver_errno = 0;
    server->receiver_error[0] = '\0';
    int place = sim->mariadb ? find_place_mariadb(sim, source, member) : find_place_mysql(sim, source, member);
    if (place < 0)
        return;
    server->receiver = AGENT_THREAD_RUNNING;
    server->stream_at = place;
    server->source_run = sim->members[source].server.run;
    server->gives = server->semi_replica; /* that the source waits for it may come later */
    server->heard_ms = sim->now_ms;
    server->signature++;
    sim->members[source].server.said[member] = sim->members[source].server.heard[member] = 0;
}

/* One that its receiver leaves out: it has it, or wrote it itself (replicate_same_server_id); but a semi-sync replica
 * of MariaDB takes its own transactions, which its start has cut off, back (MDEV-21117). */
static bool is_left_out(const struct sim *sim, int member, int txn)
{
    const struct sim_disk *own = &sim->members[member].disk;
    const struct txn *what = &sim->txns.all[txn];
    if (!sim->mariadb && what->number <= MAX_OF(own->log.all.upto[what->source], own->relay.all.upto[what->source]))
        return true;
    return what->source == own->own_source && !(sim->mariadb && sim->members[member].server.semi_replica);
}

static void receive(struct sim *sim, int source, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_member *from = &sim->members[source];
    const struct txn_log *log = &from->disk.log;
    bool heard = false;
    for (int limit = 60; at->server.stream_at < log->count && limit > 0; limit--) {
        int txn = log->entries[at->server.stream_at];
        if (sim->txns.all[txn].made_ms + LATENCY_MS > sim->now_ms || at->disk.relay.count == TXNS_MAX)
            break;
        if (!is_left_out(sim, member, txn)) {
            txn_queue_add(&sim->txns, &at->disk.relay, txn);
            check_added(sim, member, txn);
        }
        at->server.stream_at++;
        heard = true;
    }
    if (heard || sim->now_ms - at->server.heard_ms >= 500) { /* the source's own beat */
        at->server.heard_ms = sim->now_ms;
        at->server.signature++;
        at->server.beats += !heard;
    }
    if (at->server.gives && from->server.said[member] < at->server.stream_at) {
        from->server.said[member] = at->server.stream_at;
        from->server.said_ms[member] = sim->now_ms + LATENCY_MS;
    }
}

static void serve(struct sim *sim, int member)
{
    struct sim_member *at = &sim->members[member];
    struct sim_server *server = &at->server;
    int source = at->disk.source;
    if (!server_answers(sim, member) || server->receiver == AGENT_THREAD_OFF || !at->disk.configured)
        return;
    const struct sim_server *theirs = &sim->members[source].server;
    if (server->receiver == AGENT_THREAD_CONNECTING) {
        connect_receiver(sim, source, member);
        return;
    }
    bool broken = theirs->run != server->source_run || !server_runs(theirs);
    bool silent = sim->now_ms - server->heard_ms > 4000; /* replica_net_timeout */
    if ((broken && sim_is_linked(sim, source, member)) || silent) {
        server->receiver = AGENT_THREAD_CONNECTING;
        server->connect_ms = sim->now_ms + sim_between(sim, member, 14, 20, 1000);
        server->gives = false;
        return;
    }
    if (!broken && theirs->frozen_until_ms <= sim->now_ms && !sim_is_cut(sim, source, member) &&
        !server_is_full(sim, member))
        receive(sim, source, member);
}

/* What a replica has said arrives although it has turned away since. */
static void hear_acknowledgements(struct sim *sim, int member)
{
    struct sim_server *server = &sim->members[member].server;
    if (!server_answers(sim, member))
        return;
    for (int i = 0; i < sim->member_count; i++) {
        if (server->heard[i] < server->said[i] && sim->now_ms >= server->said_ms[i] && !sim_is_cut(sim, i, member))
            server->heard[i] = server->said[i];
    }
}

void servers_replicate(struct sim *sim)
{
    for (int i = 0; i < sim->member_count; i++) {
        if (sim->members[i].server.phase != SERVER_RUNS)
            continue;
        serve(sim, i);
        hear_acknowledgements(sim, i);
    }
}

/* ---- data ---- */

void disk_clear(struct sim *sim, int member)
{
    struct sim_disk *disk = &sim->members[member].disk;
    UNUSED(sim);
    disk->has_data = disk->configured = disk->ddl = disk->cut = disk->self_written = false;
    disk->semi_primary = disk->opened_epoch = disk->noted_since = 0;
    txn_log_clear(&disk->log);
    txn_queue_clear(&disk->relay);
}

uint32_t server_acknowledgers(const struct sim *sim, int member)
{
    uint32_t count = 0;
    for (int i = 0; i < sim->member_count; i++) {
        const struct sim_member *other = &sim->members[i];
        count += i != member && other->disk.configured && other->disk.source == member && other->server.gives &&
            other->server.source_run == sim->members[member].server.run;
    }
    return count;
}

void server_copy(struct sim *sim, int donor, int member, int count)
{
    struct sim_disk *disk = &sim->members[member].disk;
    const struct txn_log *from = &sim->members[donor].disk.log;
    disk_clear(sim, member);
    disk->has_data = true;
    txn_log_copy(&sim->txns, from, count, &disk->log);
    make_source(sim, member);
}

void server_initialise(struct sim *sim, int member)
{
    disk_clear(sim, member);
    sim->members[member].disk.has_data = true;
    if (sim->mariadb)
        sim->members[member].disk.own_source = member;
    else
        make_source(sim, member);
}
