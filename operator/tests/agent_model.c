/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/agent_model.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/gtid.h"
#include "common/json.h"
#include "operator/tests/agent_rules.h"
#include "operator/tests/operator_world.h"

#define WRITE_EVERY_MS 10
#define SEED_RETRY_MS 50

void agent_model_fail(struct agent_doubles *doubles, const char *fmt, ...)
{
    va_list ap;
    if (*doubles->failure) /* the first one stands */
        return;
    va_start(ap, fmt);
    vsnprintf(doubles->failure, sizeof(doubles->failure), fmt, ap);
    va_end(ap);
}

/* ---- looking around ---- */

const json_t *agent_model_cluster(const struct agent_doubles *doubles)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CLUSTERS "%s", doubles->cluster);
    return kube_api_double_get(doubles->api, path);
}

const json_t *agent_model_object(const struct agent_doubles *doubles, const char *plural, const char *suffix)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CORE "%s/%s%s", plural, doubles->cluster, suffix);
    return kube_api_double_get(doubles->api, path);
}

/* "shop-mysql-2.shop-mysql.ns1.svc" → 2; -1: no member's name. */
static int ordinal_of(const struct agent_doubles *doubles, const char *host)
{
    char prefix[sizeof(doubles->cluster) + 8];
    snprintf(prefix, sizeof(prefix), "%s-mysql-", doubles->cluster);
    return str_starts_with(host, prefix) ? (int)strtol(host + strlen(prefix), NULL, 10) : -1;
}

bool agent_model_server_runs(const struct agent_double *agent)
{
    return agent->is_up && agent->status.phase == AGENT_PHASE_RUNNING && !agent->hangs;
}

static bool awaits_source(const struct agent_double *agent)
{
    const struct agent_double *source = agent->following < 0 ? NULL : &agent->all->members[agent->following];
    return source && agent->order.await_source && !(source->opened && source->epoch >= agent->order.epoch);
}

/* The server that it should receive from, if that one is there. */
static const struct agent_double *source_of(const struct agent_double *agent)
{
    const struct agent_double *source = agent->following < 0 ? NULL : &agent->all->members[agent->following];
    if (awaits_source(agent))
        return NULL;
    bool linked = source && source != agent && !source->is_cut && !agent->is_cut;
    if (linked && source->line != agent->line)
        agent_model_fail(agent->all, "%s, whose history is %llu, follows %s, whose is %llu", agent->name,
            (unsigned long long)agent->line, source->name, (unsigned long long)source->line);
    return linked && agent_model_server_runs(source) ? source : NULL;
}

static bool needs_purged(const struct agent_double *agent, const struct agent_double *source)
{
    return source->purged > agent->received;
}

bool agent_model_receives(const struct agent_double *agent)
{
    const struct agent_double *source = source_of(agent);
    return agent_model_server_runs(agent) && source && agent->errant == 0 && !needs_purged(agent, source);
}

static void position(const struct agent_double *agent, uint64_t count, char *out, size_t size)
{
    uint64_t last = count + agent->errant;
    if (last == 0)
        out[0] = '\0';
    else
        snprintf(out, size, "0-%d-%llu", (agent->errant ? agent->ordinal : agent->all->writers[count - 1]) + 1,
            (unsigned long long)last);
}

/* What nobody acknowledged, and the new primary has not, was never: others that have it hold errant transactions. */
static void decide_history(const struct agent_double *agent)
{
    struct agent_doubles *doubles = agent->all;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        struct agent_double *other = &doubles->members[i];
        if (other->line != agent->line)
            continue;
        if (other->executed > agent->executed) {
            other->errant += (unsigned)(other->executed - agent->executed);
            other->executed = agent->executed;
        }
        other->received = MIN_OF(other->received, MAX_OF(other->executed, agent->executed));
    }
    doubles->history = agent->executed;
    doubles->acknowledged = MIN_OF(doubles->acknowledged, doubles->history);
    doubles->writer = agent->ordinal;
    doubles->writer_epoch = agent->order.epoch;
}

/* ---- seeding ---- */

#define RESTORED_TRANSACTIONS 40

static void seed_say(struct agent_double *agent, enum agent_seed_step step, const char *message)
{
    agent->status.seed.step = step;
    snprintf(agent->status.seed.message, sizeof(agent->status.seed.message), "%s", message);
}

static void seed_failed(struct agent_double *agent, int64_t now_ms, const char *message)
{
    seed_say(agent, AGENT_SEED_STEP_FAILED, message);
    agent->due_ms = now_ms + SEED_RETRY_MS;
}

/* The donor that the order names, if it can give. */
static const struct agent_double *donor_of(const struct agent_double *agent)
{
    int ordinal = ordinal_of(agent->all, agent->order.donor_host);
    const struct agent_double *donor =
        ordinal >= 0 && ordinal < AGENT_DOUBLES_MAX ? &agent->all->members[ordinal] : NULL;
    bool linked = donor && donor != agent && !donor->silent && !donor->is_cut && !agent->is_cut;
    return linked && agent_model_server_runs(donor) ? donor : NULL;
}

static void begin_seed(struct agent_double *agent, int64_t now_ms)
{
    enum agent_seed seed = agent->has_order ? agent->order.seed : AGENT_SEED_NONE;
    if (seed == AGENT_SEED_NONE) {
        seed_say(agent, AGENT_SEED_STEP_WAITING, "waiting for the operator");
        return;
    }
    bool beside = seed == AGENT_SEED_RESTORE_BESIDE;
    if (beside && agent->beside_number == agent->order.restore_number) {
        seed_say(agent, AGENT_SEED_STEP_WAITING, "waiting for the word to take it");
        return;
    }
    if ((seed == AGENT_SEED_RESTORE || beside) && !str_eq(agent->status.seed.task, agent->order.restore_id)) {
        seed_say(agent, AGENT_SEED_STEP_WAITING, "waiting to be told where it is stored");
        return;
    }
    agent->status.seed.attempts++;
    bool not_there =
        agent->data_number != agent->order.restore_number && agent->beside_number != agent->order.restore_number;
    if (seed == AGENT_SEED_TAKE_RESTORED && not_there)
        seed_failed(agent, now_ms, "no restored copy lies beside the data");
    else if ((seed == AGENT_SEED_RESTORE && agent->has_data) ||
        ((seed == AGENT_SEED_RESTORE || beside) && agent->restore_fails)) {
        snprintf(agent->status.seed.reason, sizeof(agent->status.seed.reason), "%s", str_or_empty(agent->restore_fails));
        seed_failed(agent, now_ms, "data-000003 is damaged");
    } else if (seed == AGENT_SEED_KEEP && !agent->has_data)
        seed_failed(agent, now_ms, "ordered to keep the data, but the volume is empty");
    else if (seed == AGENT_SEED_INITIALISE && agent->has_data)
        seed_failed(agent, now_ms, "ordered to make a new database, but the volume holds one");
    else if (seed == AGENT_SEED_CLONE && agent->has_data && !agent->order.replace)
        seed_failed(agent, now_ms, "ordered to clone, but the volume holds a database");
    else {
        bool clone = seed == AGENT_SEED_CLONE;
        seed_say(agent, clone ? AGENT_SEED_STEP_COPYING : AGENT_SEED_STEP_INITIALISING, "");
        snprintf(agent->status.seed.donor, sizeof(agent->status.seed.donor), "%s", agent->order.donor_host);
        agent->due_ms = now_ms + (clone ? agent->clone_ms : agent->order_ms);
    }
}

static bool end_copy(struct agent_double *agent, const struct agent_double *donor, int64_t now_ms)
{
    if (!donor || !donor->has_data || donor->clone_fails) {
        seed_failed(agent, now_ms, "the stream broke off");
        return false;
    }
    agent_rules_check_copy(agent, donor);
    agent->executed = agent->received = donor->executed;
    agent->purged = donor->executed;
    agent->errant = donor->errant;
    agent->line = donor->line;
    agent->data_number = 0;
    return true;
}

static void end_taking(struct agent_double *agent)
{
    struct agent_doubles *doubles = agent->all;
    agent_rules_check_taking(agent);
    if (agent->data_number == agent->order.restore_number)
        return;
    agent->has_before = agent->has_data;
    agent->data_number = agent->line = agent->order.restore_number;
    agent->beside_number = 0;
    agent->errant = 0;
    doubles->line = agent->line;
    doubles->history = doubles->acknowledged = RESTORED_TRANSACTIONS;
    agent->executed = agent->received = agent->purged = doubles->history;
}

/* True when the volume is as ordered. */
static bool end_seed(struct agent_double *agent, int64_t now_ms)
{
    if (agent->order.seed == AGENT_SEED_CLONE && !end_copy(agent, donor_of(agent), now_ms))
        return false;
    if (agent->order.seed == AGENT_SEED_INITIALISE) {
        agent_rules_check_initialise(agent);
        agent->executed = agent->received = agent->purged = agent->all->history = 0;
        agent->errant = 0;
    }
    if (agent->order.seed == AGENT_SEED_RESTORE) {
        agent_rules_check_restore(agent);
        agent->all->history = MAX_OF(agent->all->history, RESTORED_TRANSACTIONS);
        agent->executed = agent->received = agent->purged = agent->all->history;
        memcpy(agent->restored, agent->order.restore_id, sizeof(agent->restored));
    }
    if (agent->order.seed == AGENT_SEED_RESTORE_BESIDE) {
        agent_rules_check_restore(agent);
        agent->beside_number = agent->order.restore_number;
        seed_say(agent, AGENT_SEED_STEP_WAITING, "waiting for the word to take it");
        return false;
    }
    if (agent->order.seed == AGENT_SEED_TAKE_RESTORED)
        end_taking(agent);
    agent->beside_number = 0;
    agent->has_data = true;
    agent->mark = AGENT_MARK_NONE;
    seed_say(agent, AGENT_SEED_STEP_DONE, "");
    agent->status.order_done = true;
    return true;
}

static bool seed_turn(struct agent_double *agent, int64_t now_ms)
{
    enum agent_seed_step step = agent->status.seed.step;
    if (step == AGENT_SEED_STEP_COPYING && !donor_of(agent))
        seed_failed(agent, now_ms, "the donor went away");
    if (now_ms < agent->due_ms || agent->order_is_stuck)
        return false;
    if (step == AGENT_SEED_STEP_COPYING || step == AGENT_SEED_STEP_INITIALISING)
        return end_seed(agent, now_ms);
    begin_seed(agent, now_ms);
    return false;
}

/* ---- roles ---- */

static bool contains(const struct agent_double *agent, const char *wanted)
{
    char held[64];
    position(agent, agent->executed, held, sizeof(held));
    _cleanup_(gtid_set_freep) struct gtid_set *a = gtid_set_parse(GTID_MARIADB, held, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *b = gtid_set_parse(GTID_MARIADB, wanted, NULL);
    enum gtid_relation relation = a && b ? gtid_set_compare(a, b) : GTID_DIVERGED;
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

/* Only from a server that is dead, by its agent's hands. */
static bool salvage(struct agent_double *agent)
{
    int ordinal = ordinal_of(agent->all, agent->order.salvage_host);
    const struct agent_double *dead = ordinal < 0 ? NULL : &agent->all->members[ordinal];
    if (!dead)
        return true;
    if (!dead->is_up || dead->silent || dead->is_cut || dead->status.phase != AGENT_PHASE_DOWN)
        return false;
    if (dead->executed > agent->executed) {
        agent->executed = agent->received = dead->executed;
        position(agent, agent->executed, agent->status.salvaged, sizeof(agent->status.salvaged));
    }
    return true;
}

static void open_server(struct agent_double *agent, int64_t now_ms)
{
    if (!contains(agent, agent->order.wait_for) || !salvage(agent))
        return;
    agent->open_as = agent->order;
    if (agent->order.epoch >= agent->all->writer_epoch) {
        agent_rules_check_opening(agent);
        decide_history(agent);
    } /* else it can commit nothing: write_one holds that */
    agent->opened = true;
    agent->following = -1;
    agent->heard_ms = now_ms;
    agent->status.order_done = true;
}

/* A commit that waited when its connection was ended is done, though nobody was told so. */
static void close_server(struct agent_double *agent)
{
    struct agent_doubles *doubles = agent->all;
    if (agent->opened && agent->blocked && doubles->history < HISTORY_MAX) {
        if (doubles->writer == agent->ordinal && agent->executed == doubles->history) {
            doubles->writers[doubles->history++] = (uint8_t)agent->ordinal;
            agent->executed = agent->received = doubles->history;
        } else
            agent->errant++;
    }
    if (agent->opened)
        agent->closed_ms = clock_monotonic_ms();
    agent->opened = agent->blocked = false;
}

static void follow_source(struct agent_double *agent, int64_t now_ms)
{
    int source = agent->order.role == AGENT_ROLE_REPLICA ? ordinal_of(agent->all, agent->order.source_host) : -1;
    bool held = agent->order.role == AGENT_ROLE_REPLICA && source < 0;
    close_server(agent);
    if (source != agent->following && !held && !agent->order.await_source)
        agent->received = agent->executed;
    if (source != agent->following)
        agent->seen = false;
    agent->following = source;
    agent->connected_ms = now_ms;
    agent->status.order_done = true;
}

static bool role_is_stuck(const struct agent_double *agent)
{
    return agent->order_is_stuck || (agent->stuck_epoch > 0 && agent->order.epoch >= agent->stuck_epoch);
}

static void role_turn(struct agent_double *agent, int64_t now_ms)
{
    if (!agent->has_order || agent->status.order_done || now_ms < agent->due_ms || role_is_stuck(agent) ||
        !agent_model_server_runs(agent))
        return;
    if (agent->order.role != AGENT_ROLE_PRIMARY)
        follow_source(agent, now_ms);
    else if (agent->opened) {
        agent->open_as = agent->order;
        agent->status.order_done = true;
    } else
        open_server(agent, now_ms);
}

/* ---- isolation ---- */

/* Others ask the primary's agent. */
static unsigned others_heard(const struct agent_double *primary)
{
    unsigned count = 0;
    for (int i = 0; i < AGENT_DOUBLES_MAX && !primary->is_cut; i++) {
        const struct agent_double *other = &primary->all->members[i];
        count += other->is_up && !other->is_cut && other->following == primary->ordinal;
    }
    return count;
}

static void guard_isolation(struct agent_double *agent, int64_t now_ms)
{
    const struct agent_order *order = &agent->order;
    if (!agent->has_order || order->role != AGENT_ROLE_PRIMARY || order->self_fence_ms == 0 ||
        !agent_model_server_runs(agent))
        return;
    if (!agent->isolated && others_heard(agent) >= MAX_OF(1U, order->self_fence_members))
        agent->heard_ms = now_ms;
    if (agent->isolated || now_ms - agent->heard_ms < (int64_t)order->self_fence_ms)
        return;
    agent->isolated = true;
    close_server(agent);
}

/* ---- the process ---- */

static void begin_process(struct agent_double *agent, enum agent_phase phase)
{
    agent->status = (struct agent_status){.phase = phase,
        .flavour = AGENT_FLAVOUR_MARIADB,
        .version = "10.11.6-MariaDB",
        .server_id = (uint32_t)agent->ordinal + 1,
        .read_only = true,
        .volume_bytes = 1000 * KM_MIB,
        .volume_free_bytes = 900 * KM_MIB};
    const char *mycnf =
        json_path_str(agent_model_object(agent->all, "configmaps", "-mysql-config"), "data[\"my.cnf\"]", "");
    tls_sha256_hex(mycnf, strlen(mycnf), agent->status.mycnf_hash);
    snprintf(agent->status.instance, sizeof(agent->status.instance), "%s", agent->name);
    agent->lives++;
    snprintf(agent->status.boot_id, sizeof(agent->status.boot_id), "%d-%d", agent->ordinal, (int)agent->lives);
    agent->has_order = false;
    agent->opened = false;
    agent->blocked = false;
    agent->isolated = agent->seen = false;
    agent->following = -1;
    agent->due_ms = 0;
}

void agent_model_begin(struct agent_double *agent)
{
    begin_process(agent, AGENT_PHASE_SEEDING);
    seed_say(agent, AGENT_SEED_STEP_WAITING, "waiting for the operator");
}

void agent_model_run(struct agent_double *agent)
{
    begin_process(agent, agent->start_ms > 0 ? AGENT_PHASE_STARTING : AGENT_PHASE_RUNNING);
    agent->started_ms = clock_monotonic_ms() + agent->start_ms;
}

/* Relay logs do not outlive the server: what was not executed is fetched again. */
void agent_model_end(struct agent_double *agent)
{
    close_server(agent);
    agent->following = -1;
    agent->received = agent->executed;
    agent->hangs = false;
}

void agent_model_crash(struct agent_double *agent)
{
    agent_model_end(agent);
    agent->status.phase = AGENT_PHASE_DOWN;
    agent->seen = agent->isolated = false;
    agent->status.order_done = false;
    if (!agent->has_order || agent->order.role != AGENT_ROLE_PRIMARY)
        return;
    agent->has_order = false;
    agent->order = (struct agent_order){0};
    agent->status.role = AGENT_ROLE_NONE;
    agent->status.order_hash[0] = '\0';
}

void agent_model_recover(struct agent_double *agent)
{
    agent->status.phase = AGENT_PHASE_RUNNING;
    agent->due_ms = clock_monotonic_ms() + agent->order_ms;
}

static bool same_seed(const struct agent_order *a, const struct agent_order *b)
{
    return a->seed == b->seed && a->replace == b->replace && a->restore_number == b->restore_number &&
        str_eq(a->donor_host, b->donor_host);
}

bool agent_model_order(struct agent_double *agent, const struct agent_order *order)
{
    char hash[17];
    if (order->epoch < agent->epoch)
        return false;
    agent_rules_check_order(agent, order);
    agent_rules_check_acks(agent, order);
    agent->epoch = order->epoch;
    bool seeds = agent->status.phase == AGENT_PHASE_SEEDING && order->seed != AGENT_SEED_NONE;
    agent->heard_ms = clock_monotonic_ms();
    if (agent->isolated)
        agent->status.order_done = agent->isolated = false;
    if (order->mark == AGENT_MARK_RESEED && order->set_aside)
        agent->set_aside = agent->errant;
    if (order->mark != AGENT_MARK_NONE && !seeds)
        agent->mark = order->mark;
    agent->has_before &= !(order->drop_before && agent->status.phase == AGENT_PHASE_RUNNING);
    agent_order_hash(order, hash);
    if (agent->has_order && str_eq(hash, agent->status.order_hash))
        return true;
    bool goes_on = agent->has_order && same_seed(&agent->order, order);
    agent->order = *order;
    agent->has_order = true;
    memcpy(agent->status.order_hash, hash, sizeof(hash));
    agent->status.role = order->role;
    agent->status.order_done = false;
    if (agent->status.phase != AGENT_PHASE_SEEDING)
        agent->due_ms = clock_monotonic_ms() + agent->order_ms;
    else if (agent->status.seed.step != AGENT_SEED_STEP_DONE && !goes_on)
        begin_seed(agent, clock_monotonic_ms());
    return true;
}

bool agent_model_turn(struct agent_double *agent, int64_t now_ms)
{
    if (agent->status.phase == AGENT_PHASE_STARTING && now_ms >= agent->started_ms)
        agent_model_recover(agent);
    if (agent->status.phase != AGENT_PHASE_SEEDING)
        role_turn(agent, now_ms);
    else if (agent->status.seed.step == AGENT_SEED_STEP_DONE)
        return true;
    else
        seed_turn(agent, now_ms);
    return false;
}

/* ---- transactions ---- */

static void acknowledge(const struct agent_double *primary)
{
    struct agent_doubles *doubles = primary->all;
    unsigned needed = primary->open_as.semi_sync ? MAX_OF(1U, primary->open_as.acks) : 0;
    for (int pass = 0; pass < 2 && needed > 0; pass++) {
        for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
            struct agent_double *other = &doubles->members[i];
            if (other->following != primary->ordinal || !other->order.semi_sync || !agent_model_receives(other) ||
                other->is_slow != (pass == 1))
                continue;
            other->received = primary->executed;
            needed -= needed > 0;
        }
    }
    const char *loss = json_path_str(agent_model_cluster(doubles), "spec.failover.dataLoss", "");
    if (primary->open_as.semi_sync || !str_eq(loss, "allow"))
        doubles->acknowledged = doubles->history;
}

static void write_one(struct agent_double *primary, int64_t now_ms)
{
    struct agent_doubles *doubles = primary->all;
    bool can = agent_rules_can_commit(primary);
    bool superseded = doubles->writer != primary->ordinal || primary->open_as.epoch < doubles->writer_epoch;
    if (superseded && can)
        agent_model_fail(doubles, "I1: %s commits although %s was opened after it", primary->name,
            doubles->members[doubles->writer].name);
    if (!can && !primary->blocked)
        primary->blocked_ms = now_ms;
    primary->blocked = !can;
    if (!can || superseded || doubles->history == HISTORY_MAX)
        return;
    doubles->writers[doubles->history++] = (uint8_t)primary->ordinal;
    primary->executed = primary->received = doubles->history;
    acknowledge(primary);
}

static void note_connection(struct agent_double *agent, int64_t now_ms)
{
    if (!source_of(agent))
        return;
    agent->seen = true;
    agent->connected_ms = now_ms;
}

static void follow(struct agent_double *agent)
{
    bool replicates = agent->has_order && agent->order.role != AGENT_ROLE_NONE;
    if (agent_model_receives(agent) && !agent->is_slow)
        agent->received = MAX_OF(agent->received, source_of(agent)->executed);
    if (!agent->applier_is_stuck && (agent->following >= 0 || replicates))
        agent->executed = agent->received;
}

void agent_model_flow(struct agent_doubles *doubles, int64_t now_ms)
{
    bool write = now_ms - doubles->written_ms >= WRITE_EVERY_MS;
    if (write)
        doubles->written_ms = now_ms;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        struct agent_double *agent = &doubles->members[i];
        if (!agent_model_server_runs(agent))
            continue;
        note_connection(agent, now_ms);
        guard_isolation(agent, now_ms);
        if (agent->opened && write)
            write_one(agent, now_ms);
        else if (!agent->opened)
            follow(agent);
    }
}

/* ---- status ---- */

/* A connection that ends is known at once, a source that says nothing after silence_ms. */
static bool source_is_lost(const struct agent_double *agent)
{
    int64_t limit_ms = agent->order.silence_ms ? agent->order.silence_ms : 2000;
    const struct agent_double *source = &agent->all->members[agent->following];
    if (source_of(agent) || awaits_source(agent))
        return false;
    bool ended = !source->is_up || source->status.phase != AGENT_PHASE_RUNNING;
    return (ended && !source->is_cut && !agent->is_cut && agent->seen) ||
        clock_monotonic_ms() - agent->connected_ms >= limit_ms;
}

/* What it would need is not there any more, or it has what the source has not. */
static bool receiver_is_refused(const struct agent_double *agent, const struct agent_double *source)
{
    return agent->errant > 0 || needs_purged(agent, source);
}

static bool receiver_runs(const struct agent_double *agent)
{
    const struct agent_double *source = agent->following >= 0 ? source_of(agent) : NULL;
    return source && !receiver_is_refused(agent, source);
}

static void fill_receiver(const struct agent_double *agent, struct agent_status *ret)
{
    const struct agent_double *source = source_of(agent);
    snprintf(ret->replication.source_host, sizeof(ret->replication.source_host), "%s", agent->order.source_host);
    ret->replication.receiver = source ? AGENT_THREAD_RUNNING : AGENT_THREAD_CONNECTING;
    if (awaits_source(agent))
        ret->replication.receiver = AGENT_THREAD_OFF;
    ret->replication.applier = AGENT_THREAD_RUNNING;
    ret->replication.lag_known = source != NULL;
    ret->replication.lag_ms = agent->lag_ms;
    ret->replication.applied_epoch = source && source->opened ? source->order.epoch : 0;
    ret->replication.source_seen = agent->seen;
    ret->replication.source_lost = source_is_lost(agent);
    if (!source || !receiver_is_refused(agent, source))
        return;
    ret->replication.receiver = AGENT_THREAD_OFF;
    ret->replication.receiver_errno = 1236;
    snprintf(ret->replication.receiver_error, sizeof(ret->replication.receiver_error), "%s",
        agent->errant ? "the replica has more than the source" : "binary logs were purged");
    if (agent->errant) {
        agent_status_add_problem(ret, AGENT_PROBLEM_ERRANT_TRANSACTIONS, "planted by the test");
        position(agent, agent->executed, ret->errant, sizeof(ret->errant));
    }
    if (needs_purged(agent, source))
        agent_status_add_problem(ret, AGENT_PROBLEM_BINLOGS_PURGED, "planted by the test");
}

static const char *taken_position(const struct agent_double *agent, uint64_t count)
{
    char text[64];
    position(agent, count, text, sizeof(text));
    return position_take(agent->all->positions, text);
}

bool agent_model_is_ready(const struct agent_double *agent)
{
    bool follows = agent->status.role == AGENT_ROLE_REPLICA && receiver_runs(agent);
    return agent->status.phase == AGENT_PHASE_RUNNING && (agent->opened || follows);
}

void agent_model_status(const struct agent_double *agent, struct agent_status *ret)
{
    bool runs = agent->status.phase == AGENT_PHASE_RUNNING;
    *ret = agent->status;
    if (runs && agent->hangs)
        ret->phase = AGENT_PHASE_HUNG;
    ret->problem_count = 0;
    ret->backup = agent->backup;
    ret->epoch = agent->epoch;
    ret->mark = agent->mark;
    ret->restored_number = agent->data_number;
    ret->beside_number = agent->beside_number;
    ret->has_before = agent->has_before;
    ret->volume_protocol = agent->is_outdated ? 0 : AGENT_VOLUME_PROTOCOL;
    ret->data = agent->has_data ? AGENT_DATA_DATABASE : AGENT_DATA_EMPTY;
    ret->writable = agent->opened;
    ret->read_only = !agent->opened;
    ret->long_transactions = agent->long_transactions;
    snprintf(ret->long_transaction, sizeof(ret->long_transaction), "%s",
        agent->long_transactions ? "thread 17 of app@10.1.2.3, 42 s: UPDATE t" : "");
    ret->semi_sync = agent->has_order && agent->order.semi_sync;
    ret->semi_sync_replicas = agent->opened ? agent_rules_acknowledgers(agent) : 0;
    ret->waiting_commits = agent->blocked;
    ret->writes_blocked_ms = agent->opened && agent->blocked ? clock_monotonic_ms() - agent->blocked_ms : 0;
    ret->stalled_ms = agent->opened ? agent->stalled_ms : 0;
    ret->isolated = agent->isolated;
    if (agent->volume_is_full)
        agent_status_add_problem(ret, AGENT_PROBLEM_VOLUME_FULL, "planted by the test");
    if (agent->set_aside > 0)
        snprintf(ret->set_aside.sets[0], sizeof(ret->set_aside.sets[0]), "planted: %u", agent->set_aside);
    ret->now_ms = clock_realtime_ms();
    if (!runs)
        return;
    ret->gtid_executed = taken_position(agent, agent->executed);
    agent_archive_status(agent, ret);
    ret->replication.caught_up = true; /* the model drops nothing that was acknowledged */
    ret->gtid_received = taken_position(agent, agent->received);
    if (agent->following >= 0)
        fill_receiver(agent, ret);
    ret->ready = agent_model_is_ready(agent);
    snprintf(ret->ready_reason, sizeof(ret->ready_reason), "%s", ret->ready ? "" : "it is not told what to be yet");
}
