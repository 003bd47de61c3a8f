/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/check.h"

#include "e2e/simulation/agent.h"
#include "e2e/simulation/server.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/member_view.h"

/* How long a primary may take writes when its machine or its agent goes on, frozen for longer than
 * selfFenceMilliseconds. */
#define LATE_CLOSE_MS 1000

/* How long somebody's word that a primary is gone for good counts: the annotation's time and that of a failover. */
#define CONFIRMED_MS 60000

static int missing(const struct sim *sim, int member)
{
    return txn_bits_missing(&sim->acked, &sim->members[member].disk.log.bits, sim->txns.count);
}

static int count_missing(const struct sim *sim, int member)
{
    int count = 0;
    for (int i = 0; i < sim->txns.count; i++)
        count += txn_bits_has(&sim->acked, i) && !txn_bits_has(&sim->members[member].disk.log.bits, i);
    return count;
}

static void fail_lost(struct sim *sim, int member, const char *what, int txn)
{
    char gtid[64];
    txn_gtid(&sim->txns.all[txn], sim->mariadb, gtid, sizeof(gtid));
    sim_fail(sim, VIOLATION_LOST, "%s %s without %d acknowledged transactions, the first %s", sim_member_name(member),
        what, count_missing(sim, member), gtid);
}

/* Somebody with data holds all that this one does, and the transaction: then a wish must not have decided. */
static bool is_held_beyond(const struct sim *sim, int member, int txn)
{
    const struct txn_bits *bits = &sim->members[member].disk.log.bits;
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        const struct sim_disk *disk = &sim->members[i].disk;
        if (i != member && disk->has_data && txn_bits_has(&disk->log.bits, txn) &&
            txn_bits_missing(bits, &disk->log.bits, sim->txns.count) < 0)
            return true;
    }
    return false;
}

/* A cluster that was applied again asks whose data is to be kept where members hold different transactions, or where
 * that of the last primary is gone: a person has said so. */
static bool is_by_wish(const struct sim *sim, int member, int txn)
{
    bool is_wished = sim->wished_ms[member] > 0 && sim->now_ms - sim->wished_ms[member] < CONFIRMED_MS;
    return sim->recreated && is_wished && !is_held_beyond(sim, member, txn);
}

/* Somebody has said that the primary is gone for good, which may be wrong: it goes on somewhere. */
static bool is_confirmed_lost(const struct sim *sim)
{
    return sim->confirmed_lost_ms > 0 && sim->now_ms - sim->confirmed_lost_ms < CONFIRMED_MS;
}

/* What a failover under dataLoss: allow says may be lost with it. Its primary was opened under that setting, or
 * somebody has said that it is gone for good. */
static bool is_forgiven(const struct sim *sim)
{
    const struct cluster_transition *transition = &sim->api.status.roles.transition;
    bool is_allowed = sim->api.status.roles.loss_allowed || is_confirmed_lost(sim);
    return is_allowed && transition->failover && !str_empty(transition->may_be_lost);
}

/* A primary that is lost may have commits on their way, and tell of them when it comes back, before it closes
 * itself. */
static void forgive_others(struct sim *sim, int member)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++)
        sim->members[i].server.given_up |= i != member && !sim->members[i].server.read_only;
    for (int i = 0; i < sim->txns.count; i++) {
        if (!txn_bits_has(&sim->acked, i) && !txn_bits_has(&sim->members[member].disk.log.bits, i))
            txn_bits_add(&sim->forgiven, i);
    }
}

static void forgive(struct sim *sim, int member)
{
    for (int i = 0; i < sim->txns.count; i++) {
        if (txn_bits_has(&sim->acked, i) && !txn_bits_has(&sim->members[member].disk.log.bits, i))
            txn_bits_drop(&sim->acked, i);
    }
    sim_tell(sim, "%s opens without what may be lost by the status, or by a person's wish", sim_member_name(member));
}

/* A primary that is closed for want of room counts as open, so the failover to it ends before it takes writes. What
 * may be lost with that is forgiven then; whoever is opened next must have all that this one has. */
static void forgive_ended(
    struct sim *sim, const struct cluster_transition *transition, const struct cluster_failover *done)
{
    int to = sim_member_of_host(done->to);
    bool is_ended = transition->failover && done->epoch == transition->epoch && to >= 0;
    if (!is_ended || !is_forgiven(sim) || (uint64_t)done->epoch <= sim->opened_epoch)
        return;
    sim->opened_last = to;
    sim->opened_epoch = (uint64_t)done->epoch;
    forgive_others(sim, to);
    forgive(sim, to);
}

/* No operator knew that it was let go. */
static void forget_unguarded(struct sim *sim, int member)
{
    for (int i = 0; i < sim->txns.count; i++) {
        if (!txn_bits_has(&sim->unguarded, i) || txn_bits_has(&sim->members[member].disk.log.bits, i))
            continue;
        txn_bits_drop(&sim->unguarded, i);
        sim_tell(sim, "%s opens without a commit that was let go unheard", sim_member_name(member));
    }
}

void check_opened(struct sim *sim, int member)
{
    forget_unguarded(sim, member);
    int txn = missing(sim, member);
    char executed[256];
    server_executed(sim, member, executed, sizeof(executed));
    /* The status may be of the past itself. */
    uint64_t newest = MAX_OF((uint64_t)sim->api.status.roles.epoch, sim->opened_epoch);
    bool is_old = sim->members[member].disk.epoch < newest;
    sim->opened_ms = sim->now_ms;
    if (!is_old)
        sim->opened_last = member, sim->opened_epoch = sim->members[member].disk.epoch;
    bool by_word = is_confirmed_lost(sim) && sim->api.status.roles.transition.failover;
    if (is_forgiven(sim) || by_word || (txn >= 0 && is_by_wish(sim, member, txn)))
        forgive_others(sim, member);
    sim_tell(sim, "%s OPENS for writes under epoch %llu, executed %s", sim_member_name(member),
        (unsigned long long)sim->members[member].disk.epoch, executed);
    /* By an order of the past: it may open, as long as nobody acknowledges its commits. */
    if (txn < 0 || (is_old && sim->members[member].server.semi_source))
        return;
    if (is_forgiven(sim) || is_by_wish(sim, member, txn))
        forgive(sim, member);
    else
        fail_lost(sim, member, "was opened", txn);
}

/* It was frozen, or its agent was, so that selfFenceMilliseconds have not passed for it, or for who closes it. */
static bool is_closing_late(const struct sim *sim, int member)
{
    const struct sim_member *at = &sim->members[member];
    int64_t frozen_until_ms = MAX_OF(at->server.frozen_until_ms, at->agent.frozen_until_ms);
    return at->server.given_up && sim->now_ms - frozen_until_ms < LATE_CLOSE_MS;
}

/* Or somebody's word that it is gone was wrong. */
static bool goes_on_late(const struct sim *sim, int member)
{
    return is_closing_late(sim, member) || (sim->members[member].server.given_up && is_confirmed_lost(sim));
}

/* Another one was opened after it, and lacks this. */
static bool is_left_behind(const struct sim *sim, int member, int txn)
{
    int latest = sim->opened_last;
    bool is_before = sim->members[member].server.opened_epoch < sim->opened_epoch;
    return latest >= 0 && latest != member && is_before && sim->members[latest].disk.has_data &&
        !txn_bits_has(&sim->members[latest].disk.log.bits, txn);
}

/* The status is of the past, and whoever leads hears nobody who knows of a later epoch: nothing can show that the primary
 * of that status is not the last one. */
static bool is_unknown_to_all(const struct sim *sim)
{
    const struct cluster_role_status *roles = &sim->api.status.roles;
    bool any_leads = false;
    if (!sim->status_past || MAX_OF(roles->epoch, roles->heard_epoch) >= (int64_t)sim->opened_epoch)
        return false;
    for (int o = 0; o < SIM_OPERATORS; o++) {
        const struct cluster_snapshot *snapshot = &sim->operators[o].snapshot;
        any_leads |= sim->operators[o].leads;
        for (int i = 0; i < snapshot->member_count && sim->operators[o].leads; i++) {
            const struct cluster_member *member = &snapshot->members[i];
            if (member_speaks(member) && member->agent->epoch >= sim->opened_epoch)
                return false;
        }
    }
    return any_leads;
}

/* Then there are two histories, until the later one is heard and the other one's primary is closed. What either
 * acknowledges counts: nobody may be opened any more who has not both. */
static bool is_of_a_fork(struct sim *sim)
{
    if (sim->forked_epoch != sim->opened_epoch && is_unknown_to_all(sim)) {
        sim->forked_epoch = sim->opened_epoch;
        sim_tell(sim, "two histories: nobody who is heard knows of epoch %llu", (unsigned long long)sim->opened_epoch);
    }
    return sim->forked_epoch > 0 && sim->forked_epoch == sim->opened_epoch;
}

/* One that was primary before may be told late that a commit was received: the one after it has that commit. What
 * counts is the epoch in which it was opened: an order to follow or to close has raised its epoch since. */
void check_acknowledged(struct sim *sim, int member, int txn)
{
    sim_note(sim, SIM_EVENT_ACKNOWLEDGED, member, (uint64_t)txn);
    if (sim->txns.all[txn].let_go_ms > 0 && !txn_bits_has(&sim->acked, txn)) {
        if (!is_left_behind(sim, member, txn)) /* what is let go by hand after a failover is nobody's to keep */
            txn_bits_add(&sim->unguarded, txn);
        return;
    }
    if (member != sim->opened_last && (txn_bits_has(&sim->forgiven, txn) || goes_on_late(sim, member)))
        return;
    int latest = sim->opened_last, lost = latest == member ? missing(sim, member) : -1;
    char gtid[64];
    if (lost >= 0)
        fail_lost(sim, member, "acknowledges a commit", lost);
    if (is_left_behind(sim, member, txn) && !is_of_a_fork(sim)) {
        txn_gtid(&sim->txns.all[txn], sim->mariadb, gtid, sizeof(gtid));
        sim_fail(sim, VIOLATION_LOST, "%s acknowledges %s, and %s, which was opened after it, has it not",
            sim_member_name(member), gtid, sim_member_name(latest));
    }
    if (!txn_bits_has(&sim->acked, txn))
        sim->acked_count++;
    txn_bits_add(&sim->acked, txn);
}

/* Whose commits are in question: cluster_confirmed.c. */
static bool is_writer(const struct sim *sim, int member)
{
    const struct cluster_transition *transition = &sim->api.status.roles.transition;
    bool is_moving = cluster_transition_is_set(transition);
    char name[DERIVED_NAME_SIZE] = "";
    if (is_moving && !str_empty(transition->to))
        return false;
    bool is = member == sim_member_of_host(is_moving ? transition->from : sim->api.status.roles.current_primary);
    cluster_transition_before(transition, 0, name);
    for (int n = 1; !str_empty(name); n++) {
        is |= member == sim_member_of_host(name) && reigns_index(&sim->api.status.roles.reigns, name) >= 0;
        cluster_transition_before(transition, n, name);
    }
    return is;
}

/* The look was at the server that let the commit go, or at one that was opened with it. */
static bool is_of_look(const struct sim *sim, int writer, int txn, int64_t looked_ms)
{
    const struct sim_member *at = &sim->members[writer];
    int64_t let_go_ms = sim->txns.all[txn].let_go_ms;
    bool same = sim->txns.all[txn].server == writer && at->server.began_ms <= let_go_ms;
    bool opened = at->server.opened_ms > 0 && at->server.opened_ms < looked_ms;
    return let_go_ms < looked_ms && (same || opened) && txn_bits_has(&at->disk.log.bits, txn);
}

void check_heard(struct sim *sim, int writer, int64_t looked_ms)
{
    if (!is_writer(sim, writer))
        return;
    for (int i = 0; i < sim->txns.count; i++) {
        if (!txn_bits_has(&sim->unguarded, i) || !is_of_look(sim, writer, i, looked_ms))
            continue;
        txn_bits_drop(&sim->unguarded, i);
        txn_bits_add(&sim->acked, i);
        sim->acked_count++;
    }
}

/* Of one GTID, in other hands. */
void check_added(struct sim *sim, int member, int txn)
{
    const struct txn *what = &sim->txns.all[txn];
    char gtid[64];
    sim_note(sim, SIM_EVENT_ADDED, member, (uint64_t)txn);
    if (!what->has_twin)
        return;
    for (int i = 0; i < sim->txns.count; i++) {
        if (i == txn || !txn_same_gtid(&sim->txns.all[i], what))
            continue;
        for (int other = 0; other < SIM_MEMBERS_MAX; other++) {
            if (!txn_bits_has(&sim->members[other].disk.log.bits, i))
                continue;
            txn_gtid(what, true, gtid, sizeof(gtid));
            sim_fail(sim, VIOLATION_TWO_TXNS, "%s is one transaction on %s and another one on %s%s", gtid,
                sim_member_name(member), sim_member_name(other),
                txn_bits_has(&sim->acked, i) || txn_bits_has(&sim->acked, txn) ? "; one of them was acknowledged" : "");
            return;
        }
    }
}

static bool others_have(const struct sim *sim, int member, int txn)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        const struct sim_disk *disk = &sim->members[i].disk;
        if (i == member)
            continue;
        if (txn_bits_has(&disk->log.bits, txn))
            return true;
        for (int r = disk->relay.at; r < disk->relay.count; r++) {
            if (disk->relay.entries[r] == txn)
                return true;
        }
    }
    return false;
}

static void check_leaving(struct sim *sim, int member, int from, const char *what)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    for (int i = from; i < log->count; i++) {
        int txn = log->entries[i];
        if (!txn_bits_has(&sim->acked, txn) || others_have(sim, member, txn))
            continue;
        char gtid[64];
        txn_gtid(&sim->txns.all[txn], sim->mariadb, gtid, sizeof(gtid));
        sim_fail(sim, VIOLATION_SET_ASIDE, "%s of %s: %s was acknowledged, and nobody else has it", what,
            sim_member_name(member), gtid);
        return;
    }
}

void check_cut(struct sim *sim, int member, int kept)
{
    check_leaving(sim, member, kept, "the start cuts off the tail");
}

void check_replaced(struct sim *sim, int member)
{
    check_leaving(sim, member, 0, "a copy replaces the data");
}

void check_told_at_end(struct sim *sim, int member)
{
    const struct txn_log *log = &sim->members[member].disk.log;
    for (int i = log->committed; i < log->count; i++) {
        for (int c = 0; c < SIM_CLIENTS; c++) {
            struct sim_client *client = &sim->clients[c];
            if (client->member != member || client->txn != log->entries[i])
                continue;
            sim_tell(sim, "%s ends and tells a client that its waiting commit is done", sim_member_name(member));
            check_acknowledged(sim, member, client->txn);
            client->txn = client->member = -1;
        }
    }
}

void check_status(struct sim *sim, const struct cluster_status *before, const struct cluster_status *after)
{
    if (after->roles.epoch < before->roles.epoch)
        sim_fail(sim, VIOLATION_EPOCH, "the status' epoch falls from %lld to %lld", (long long)before->roles.epoch,
            (long long)after->roles.epoch);
    if (!cluster_transition_is_set(&after->roles.transition))
        forgive_ended(sim, &before->roles.transition, &after->roles.last_failover);
}

void check_step(struct sim *sim)
{
    int first = -1;
    for (int i = 0; i < sim->member_count; i++) {
        const struct sim_server *server = &sim->members[i].server;
        bool is_altered = server->semi_gave_up || (server->ordered_acks > 0 && !server->semi_source) ||
            server->semi_acks < server->ordered_acks;
        if (server->phase != SERVER_RUNS || server->read_only || is_altered || !server_can_acknowledge(sim, i) ||
            goes_on_late(sim, i))
            continue;
        if (first >= 0)
            sim_fail(sim, VIOLATION_TWO_OPEN, "%s and %s can both acknowledge commits", sim_member_name(first),
                sim_member_name(i));
        first = i;
    }
}

/* What was received lies on the disk, unless the node had no power. */
static bool is_held(const struct sim *sim, int txn)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        const struct sim_disk *disk = &sim->members[i].disk;
        if (txn_bits_has(&disk->log.bits, txn))
            return true;
        for (int r = disk->relay.at; r < disk->relay.count && disk->relay_pod; r++) {
            if (disk->relay.entries[r] == txn)
                return true;
        }
    }
    return false;
}

void check_applied_again(struct sim *sim)
{
    int gone = 0;
    sim->recreated = true;
    for (int i = 0; i < sim->txns.count; i++) {
        if (!txn_bits_has(&sim->acked, i) || is_held(sim, i))
            continue;
        txn_bits_drop(&sim->acked, i);
        gone++;
    }
    if (gone > 0)
        sim_tell(sim, "%d acknowledged transactions were on volumes that are lost, and on no other", gone);
}

/* ---- the end ---- */

bool check_somebody_has_all(const struct sim *sim)
{
    for (int i = 0; i < SIM_MEMBERS_MAX; i++) {
        const struct sim_disk *disk = &sim->members[i].disk;
        if (!disk->has_data)
            continue;
        struct txn_bits all = disk->log.bits;
        for (int r = disk->relay.at; r < disk->relay.count; r++)
            txn_bits_add(&all, disk->relay.entries[r]);
        if (txn_bits_missing(&sim->acked, &all, sim->txns.count) < 0)
            return true;
    }
    return false;
}

static int open_member(const struct sim *sim)
{
    int primary = sim_member_of_host(sim->api.status.roles.current_primary);
    const struct cluster_status *status = &sim->api.status;
    bool settled = primary >= 0 && !cluster_transition_is_set(&status->roles.transition) && status->roles.initialized;
    return settled && server_can_acknowledge(sim, primary) ? primary : -1;
}

/* But for what the primary has just written. */
static bool is_equal(const struct sim *sim, int member, int primary)
{
    const struct txn_log *a = &sim->members[member].disk.log, *b = &sim->members[primary].disk.log;
    if (!server_answers(sim, member) || sim->members[member].server.applier_errno || a->count + 80 < b->count)
        return false;
    if (txn_bits_missing(&a->bits, &b->bits, sim->txns.count) >= 0)
        return false;
    for (int i = 0; i < b->count; i++) {
        if (!txn_bits_has(&a->bits, b->entries[i]) && sim->now_ms - sim->txns.all[b->entries[i]].made_ms > 5000)
            return false;
    }
    return true;
}

static const char *last_word(const struct sim *sim)
{
    for (int i = 0; i < SIM_OPERATORS; i++) {
        if (sim->operators[i].leads)
            return sim->operators[i].said;
    }
    return "no operator leads";
}

/* For the story: what a person would look at. */
static void tell_state(struct sim *sim)
{
    const struct cluster_reigns *reigns = &sim->api.status.roles.reigns;
    char executed[256], received[256];
    for (int i = 0; i < reigns->count; i++) {
        const struct cluster_reign *reign = &reigns->list[i];
        sim_tell(sim, "reign of %s from epoch %lld on, origin %s%s%s, floor %s%s", reign->primary,
            (long long)reign->epoch, reign->origin, reign->opened ? ", seen open" : "", reign->closed ? ", closed" : "",
            str_or_empty(reign->floor), reign->floor_is_partial ? " (not all)" : "");
    }
    for (int i = 0; i < sim->member_count; i++) {
        const struct sim_disk *disk = &sim->members[i].disk;
        server_executed(sim, i, executed, sizeof(executed));
        server_received(sim, i, received, sizeof(received));
        const struct sim_agent *agent = &sim->members[i].agent;
        bool runs = server_runs(&sim->members[i].server);
        sim_tell(sim, "%s: %s%s%s%s%s, epoch %llu, opened under %llu; executed %s, received %s", sim_member_name(i),
            runs                 ? "runs"
                : !agent->alive  ? "no agent"
                : agent->in_init ? agent_seed_step_name(agent->status.seed.step)
                                 : "no server",
            disk->mark == AGENT_MARK_RESEED     ? ", marked"
                : disk->mark == AGENT_MARK_LEFT ? ", has left"
                                                : "",
            agent->in_init && agent_init_waits_for(sim, i, sim_member_of_host(agent->seed.works_on.donor_host))
                ? ", its copy waits for commits"
                : "",
            runs && sim->members[i].server.applier_errno ? ", cannot apply" : "",
            runs && !str_empty(agent->status.errant) ? ", errant" : "", (unsigned long long)disk->epoch,
            (unsigned long long)disk->opened_epoch, executed, received);
    }
}

/* Somebody wrote by hand on a member, and not all have it. */
static bool is_any_errant(const struct sim *sim)
{
    for (int i = 0; i < sim->txns.count; i++) {
        bool any = false, all = true;
        for (int m = 0; m < SIM_MEMBERS_MAX && sim->txns.all[i].kind == TXN_ERRANT; m++) {
            bool has = txn_bits_has(&sim->members[m].disk.log.bits, i);
            any |= has;
            all &= has || !sim->members[m].disk.has_data;
        }
        if (any && !all)
            return true;
    }
    return false;
}

bool check_settled(struct sim *sim)
{
    int64_t age_ms = sim->now_ms - sim->calm_ms;
    int primary = open_member(sim), wanted = sim->api.replicas;
    bool equal = primary >= 0 && sim->api.set_replicas == wanted;
    for (int i = 0; i < wanted && equal; i++)
        equal = is_equal(sim, i, primary);
    if (equal && age_ms > 3000)
        return true;
    if (primary >= 0 && age_ms >= 240000) {
        tell_state(sim);
        sim_fail(sim, VIOLATION_UNEQUAL, "240 s after the last fault %s is open, but not all members are equal to it",
            sim_member_name(primary));
        return true;
    }
    if (primary >= 0 || age_ms < 180000)
        return false;
    /* What went with a volume, who acknowledged after a status of the past, or which of two different histories
     * somebody wrote by hand once there is no status, nobody can say for certain, unless enough others prove it: a
     * person may have to. */
    bool is_certain = !sim->volume_lost && !sim->status_past && !(sim->recreated && is_any_errant(sim));
    if (check_somebody_has_all(sim) && (is_certain || sim->schedule->strict)) {
        tell_state(sim);
        sim_fail(sim, VIOLATION_STUCK,
            "180 s after the last fault nobody is open, though somebody has everything; next: %.300s", last_word(sim));
    }
    return true;
}
