#include "common/base.h"

#include "operator/tests/agent_model.h"

#include "common/clock.h"
#include "common/gtid.h"
#include "common/json.h"
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

/* "shop-mysql-2.shop-mysql.ns1.svc" → 2; -1: no member's name. */
static int ordinal_of(const char *host)
{
    static const char prefix[] = WORLD_CLUSTER "-mysql-";
    return str_starts_with(host, prefix) ? (int)strtol(host + strlen(prefix), NULL, 10) : -1;
}

static bool server_runs(const struct agent_double *agent)
{
    return agent->is_up && agent->status.phase == AGENT_PHASE_RUNNING;
}

/* The server that it should receive from, if that one is there. */
static const struct agent_double *source_of(const struct agent_double *agent)
{
    const struct agent_double *source = agent->following < 0 ? NULL : &agent->all->members[agent->following];
    return source && source != agent && server_runs(source) ? source : NULL;
}

static bool needs_purged(const struct agent_double *agent, const struct agent_double *source)
{
    return source->purged > agent->received;
}

static bool receives(const struct agent_double *agent)
{
    const struct agent_double *source = source_of(agent);
    return server_runs(agent) && source && agent->errant == 0 && !needs_purged(agent, source);
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

static const json_t *cluster_status(const struct agent_doubles *doubles)
{
    return json_path(kube_api_double_get(doubles->api, PATH_CLUSTER), "status");
}

/* ---- rules ---- */

static void check_order(const struct agent_double *agent, const struct agent_order *order)
{
    const json_t *status = cluster_status(agent->all);
    int64_t epoch = json_path_int(status, "epoch", 0);
    const char *primary = json_path_str(status, "currentPrimary", "");
    const char *named = order->role == AGENT_ROLE_PRIMARY ? agent->name : "";
    char source[64];
    snprintf(source, sizeof(source), "%.*s", (int)strcspn(order->source_host, "."), order->source_host);
    if (order->role == AGENT_ROLE_REPLICA)
        named = source;
    if ((int64_t)order->epoch > epoch)
        agent_model_fail(agent->all, "I2: %s got an order of epoch %llu before the status said more than %lld",
            agent->name, (unsigned long long)order->epoch, (long long)epoch);
    if ((int64_t)order->epoch == epoch && *named && !str_eq(named, primary))
        agent_model_fail(agent->all, "I2: %s was told that %s is primary of epoch %lld, the status says %s",
            agent->name, named, (long long)epoch, primary);
}

static void check_opening(const struct agent_double *agent)
{
    const struct agent_doubles *doubles = agent->all;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        const struct agent_double *other = &doubles->members[i];
        if (other != agent && other->opened)
            agent_model_fail(agent->all, "I1: %s (epoch %llu) is opened while %s (epoch %llu) takes writes",
                agent->name, (unsigned long long)agent->epoch, other->name, (unsigned long long)other->epoch);
    }
    if (agent->executed != doubles->history)
        agent_model_fail(agent->all, "%s is opened with %llu of %llu transactions", agent->name,
            (unsigned long long)agent->executed, (unsigned long long)doubles->history);
}

static void check_initialise(const struct agent_double *agent)
{
    const struct agent_doubles *doubles = agent->all;
    if (json_path_bool(cluster_status(doubles), "initialized", false))
        agent_model_fail(agent->all, "I8: %s initialises in a cluster that was initialised before", agent->name);
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        if (&doubles->members[i] != agent && doubles->members[i].has_data)
            agent_model_fail(
                agent->all, "I8: %s initialises although %s has data", agent->name, doubles->members[i].name);
    }
}

static void check_copy(const struct agent_double *agent, const struct agent_double *donor)
{
    if (!agent->has_data)
        return;
    if (agent->errant > 0)
        agent_model_fail(agent->all, "I7: the errant transactions of %s are thrown away", agent->name);
    if (agent->executed > donor->executed)
        agent_model_fail(agent->all, "%s, which has %llu transactions, is replaced by %llu of %s", agent->name,
            (unsigned long long)agent->executed, (unsigned long long)donor->executed, donor->name);
}

/* ---- seeding ---- */

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
    int ordinal = ordinal_of(agent->order.donor_host);
    const struct agent_double *donor =
        ordinal >= 0 && ordinal < AGENT_DOUBLES_MAX ? &agent->all->members[ordinal] : NULL;
    return donor && donor != agent && server_runs(donor) && !donor->silent ? donor : NULL;
}

static void begin_seed(struct agent_double *agent, int64_t now_ms)
{
    enum agent_seed seed = agent->has_order ? agent->order.seed : AGENT_SEED_NONE;
    if (seed == AGENT_SEED_NONE) {
        seed_say(agent, AGENT_SEED_STEP_WAITING, "waiting for the operator");
        return;
    }
    agent->status.seed.attempts++;
    if (seed == AGENT_SEED_KEEP && !agent->has_data)
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
    check_copy(agent, donor);
    agent->executed = agent->received = donor->executed;
    agent->purged = donor->executed;
    agent->errant = donor->errant;
    return true;
}

/* True when the volume is as ordered. */
static bool end_seed(struct agent_double *agent, int64_t now_ms)
{
    if (agent->order.seed == AGENT_SEED_CLONE && !end_copy(agent, donor_of(agent), now_ms))
        return false;
    if (agent->order.seed == AGENT_SEED_INITIALISE) {
        check_initialise(agent);
        agent->executed = agent->received = agent->purged = agent->all->history = 0;
        agent->errant = 0;
    }
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

static void role_turn(struct agent_double *agent, int64_t now_ms)
{
    if (!agent->has_order || agent->status.order_done || now_ms < agent->due_ms || agent->order_is_stuck)
        return;
    if (agent->order.role == AGENT_ROLE_PRIMARY && !agent->opened) {
        if (!contains(agent, agent->order.wait_for))
            return;
        check_opening(agent);
        agent->opened = true;
        agent->following = -1;
    } else if (agent->order.role != AGENT_ROLE_PRIMARY) {
        agent->opened = false;
        agent->following = agent->order.role == AGENT_ROLE_REPLICA ? ordinal_of(agent->order.source_host) : -1;
    }
    agent->status.order_done = true;
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
        json_path_str(kube_api_double_get(agent->all->api, PATH_CORE "configmaps/" WORLD_CLUSTER "-mysql-config"),
            "data[\"my.cnf\"]", "");
    tls_sha256_hex(mycnf, strlen(mycnf), agent->status.mycnf_hash);
    snprintf(agent->status.instance, sizeof(agent->status.instance), "%s", agent->name);
    agent->lives++;
    snprintf(agent->status.boot_id, sizeof(agent->status.boot_id), "%d-%d", agent->ordinal, (int)agent->lives);
    agent->has_order = false;
    agent->opened = false;
    agent->blocked = false;
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
    begin_process(agent, AGENT_PHASE_RUNNING);
}

/* Relay logs do not outlive the server: what was not executed is fetched again. */
void agent_model_end(struct agent_double *agent)
{
    agent->opened = false;
    agent->following = -1;
    agent->received = agent->executed;
}

static bool same_seed(const struct agent_order *a, const struct agent_order *b)
{
    return a->seed == b->seed && a->replace == b->replace && str_eq(a->donor_host, b->donor_host);
}

bool agent_model_order(struct agent_double *agent, const struct agent_order *order)
{
    char hash[17];
    if (order->epoch < agent->epoch)
        return false;
    check_order(agent, order);
    agent->epoch = order->epoch;
    bool seeds = agent->status.phase == AGENT_PHASE_SEEDING && order->seed != AGENT_SEED_NONE;
    if (order->mark != AGENT_MARK_NONE && !seeds)
        agent->mark = order->mark;
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
    if (agent->status.phase != AGENT_PHASE_SEEDING)
        role_turn(agent, now_ms);
    else if (agent->status.seed.step == AGENT_SEED_STEP_DONE)
        return true;
    else
        seed_turn(agent, now_ms);
    return false;
}

/* ---- transactions ---- */

static unsigned acknowledgers(const struct agent_double *primary)
{
    unsigned count = 0;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        const struct agent_double *other = &primary->all->members[i];
        count += other->following == primary->ordinal && other->order.semi_sync && receives(other);
    }
    return count;
}

static void write_one(struct agent_double *primary)
{
    struct agent_doubles *doubles = primary->all;
    primary->blocked = primary->order.semi_sync && acknowledgers(primary) < MAX_OF(1U, primary->order.acks);
    if (primary->blocked || primary->executed != doubles->history || doubles->history == HISTORY_MAX)
        return;
    doubles->writers[doubles->history++] = (uint8_t)primary->ordinal;
    primary->executed = primary->received = doubles->history;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        struct agent_double *other = &doubles->members[i];
        if (primary->order.semi_sync && other->following == primary->ordinal && receives(other))
            other->received = primary->executed;
    }
}

static void follow(struct agent_double *agent)
{
    if (receives(agent))
        agent->received = MAX_OF(agent->received, source_of(agent)->executed);
    if (!agent->applier_is_stuck && agent->following >= 0)
        agent->executed = agent->received;
}

void agent_model_flow(struct agent_doubles *doubles, int64_t now_ms)
{
    bool write = now_ms - doubles->written_ms >= WRITE_EVERY_MS;
    if (write)
        doubles->written_ms = now_ms;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        struct agent_double *agent = &doubles->members[i];
        if (agent->opened && write)
            write_one(agent);
        else if (!agent->opened && server_runs(agent))
            follow(agent);
    }
}

/* ---- status ---- */

static void fill_receiver(const struct agent_double *agent, struct agent_status *ret)
{
    const struct agent_double *source = source_of(agent);
    snprintf(ret->replication.source_host, sizeof(ret->replication.source_host), "%s", agent->order.source_host);
    ret->replication.receiver = source ? AGENT_THREAD_RUNNING : AGENT_THREAD_CONNECTING;
    ret->replication.applier = AGENT_THREAD_RUNNING;
    ret->replication.lag_known = source != NULL;
    ret->replication.lag_ms = agent->lag_ms;
    if (!source || (agent->errant == 0 && !needs_purged(agent, source)))
        return;
    ret->replication.receiver = AGENT_THREAD_OFF;
    ret->replication.receiver_errno = 1236;
    snprintf(ret->replication.receiver_error, sizeof(ret->replication.receiver_error), "%s",
        agent->errant ? "the replica has more than the source" : "binary logs were purged");
    if (agent->errant) {
        agent_status_add_problem(ret, "ErrantTransactions", "planted by the test");
        position(agent, agent->executed, ret->errant, sizeof(ret->errant));
    }
    if (needs_purged(agent, source))
        agent_status_add_problem(ret, "BinlogsPurged", "planted by the test");
}

void agent_model_status(const struct agent_double *agent, struct agent_status *ret)
{
    bool runs = agent->status.phase == AGENT_PHASE_RUNNING;
    *ret = agent->status;
    ret->problem_count = 0;
    ret->epoch = agent->epoch;
    ret->mark = agent->mark;
    ret->data = agent->has_data ? AGENT_DATA_DATABASE : AGENT_DATA_EMPTY;
    ret->writable = agent->opened;
    ret->read_only = !agent->opened;
    ret->long_transactions = agent->long_transactions;
    snprintf(ret->long_transaction, sizeof(ret->long_transaction), "%s",
        agent->long_transactions ? "thread 17 of app@10.1.2.3, 42 s: UPDATE t" : "");
    ret->semi_sync = agent->has_order && agent->order.semi_sync;
    ret->semi_sync_replicas = agent->opened ? acknowledgers(agent) : 0;
    ret->waiting_commits = agent->blocked;
    ret->now_ms = clock_realtime_ms();
    if (!runs)
        return;
    position(agent, agent->executed, ret->gtid_executed, sizeof(ret->gtid_executed));
    position(agent, agent->received, ret->gtid_received, sizeof(ret->gtid_received));
    if (agent->following >= 0)
        fill_receiver(agent, ret);
    bool follows = ret->replication.receiver == AGENT_THREAD_RUNNING && ret->role == AGENT_ROLE_REPLICA;
    ret->ready = agent->opened || follows;
    snprintf(ret->ready_reason, sizeof(ret->ready_reason), "%s", ret->ready ? "" : "it is not told what to be yet");
}
