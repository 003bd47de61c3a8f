/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/agent_double.h"

#include <unistd.h>

#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/tests/agent_model.h"
#include "operator/tests/operator_world.h"

#define PATH_BACKUPS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/"
#define LINE_EVERY_MS 200
#define ADDRESS_TRIES 1000
/* An agent outlives its server, so that its last word is heard. */
#define LINGER_MS 100

struct stream {
    struct list_node node;
    struct agent_double *agent;
    struct http_exchange *exchange;
};

/* ---- streams ---- */

static void stream_send(const struct stream *stream)
{
    _cleanup_(strbuf_release) struct strbuf line;
    struct agent_status status;
    agent_model_status(stream->agent, &status);
    strbuf_init(&line, AGENT_STATUS_MAX);
    agent_status_encode(&status, &line);
    strbuf_addc(&line, '\n');
    http_stream_write(stream->exchange, line.buf, line.len); /* who does not read misses lines */
}

static void on_stream_closed(void *arg)
{
    struct stream *stream = arg;
    list_remove(&stream->node);
    stream->agent->stream_count--;
    free(stream);
}

static bool is_operator(struct http_exchange *exchange, const struct agent_double *agent)
{
    if (str_eq(http_exchange_peer_name(exchange), AGENT_OPERATOR_COMMON_NAME))
        return true;
    agent_model_fail(agent->all, "%s was asked by \"%s\"", agent->name, http_exchange_peer_name(exchange));
    http_replyf(exchange, 403, "no");
    return false;
}

static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct agent_double *agent = arg;
    if (!is_operator(exchange, agent))
        return;
    struct stream *stream = xnew(struct stream);
    stream->agent = agent;
    stream->exchange = exchange;
    list_push_back(&agent->streams, &stream->node);
    agent->stream_count++;
    http_stream_start(exchange, 200, "application/json", on_stream_closed, stream);
    stream_send(stream);
}

/* Positions move all the time: like a probe, they are told now and then. The final one of a fenced member comes with
 * the news of the fence. A status is large, so it is not copied for that: it has no positions afterwards. */
static uint64_t digest_of(struct agent_status *status)
{
    const int64_t moves[] = {status->replication.lag_ms, status->waiting_commits};
    status->gtid_executed = status->gtid_received = "";
    return hash64(agent_status_digest(status), moves, sizeof(moves));
}

static void publish(struct agent_double *agent, int64_t now_ms)
{
    struct agent_status status;
    agent_model_status(agent, &status);
    uint64_t digest = digest_of(&status);
    if (digest == agent->told && now_ms - agent->told_ms < LINE_EVERY_MS)
        return;
    agent->status.sequence++;
    agent->told = digest;
    agent->told_ms = now_ms;
    struct list_node *node, *next;
    list_for_each_safe(node, next, &agent->streams)
        stream_send(container_of(node, struct stream, node));
}

/* ---- backups ---- */

static void backup_forget(struct agent_double *agent)
{
    backup_task_release(&agent->backup_task);
    agent->backup = (struct backup_report){.state = BACKUP_STATE_NONE};
}

/* The status goes first: whoever comes next must know whom to ask. */
static void check_task(struct agent_double *agent, const struct backup_task *task)
{
    const char *name = task->id + strcspn(task->id, "-") + 1;
    _cleanup_(freep) char *path = xasprintf(PATH_BACKUPS "%.*s", (int)(strrchr(task->id, '-') - name), name);
    const json_t *backup = kube_api_double_get(agent->all->api, path);
    if (!str_eq(json_path_str(backup, "status.id", NULL), task->id) ||
        !str_eq(json_path_str(backup, "status.donor", NULL), agent->name))
        agent_model_fail(agent->all, "%s got task %s, which the status does not name", agent->name, task->id);
}

static void take_task(struct agent_double *agent, struct backup_task *task)
{
    struct agent_doubles *doubles = agent->all;
    check_task(agent, task);
    backup_forget(agent);
    agent->backup_task = *task;
    agent->backup = (struct backup_report){.state = BACKUP_STATE_RUNNING, .started_ms = clock_realtime_ms()};
    snprintf(agent->backup.id, sizeof(agent->backup.id), "%s", task->id);
    doubles->backups++;
    if (doubles->taken)
        doubles->taken(doubles->taken_arg, agent);
}

static void handle_backup(struct http_exchange *exchange, void *arg)
{
    struct agent_double *agent = arg;
    struct backup_task task;
    struct error err = ERROR_INIT;
    size_t len = 0;
    if (!is_operator(exchange, agent))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (agent->all->refuses || agent->backup_answer > 0)
        http_replyf(exchange, agent->all->refuses ? 503 : agent->backup_answer, "of the test");
    else if (backup_task_decode(body, len, &task, &err) < 0) {
        agent_model_fail(agent->all, "%s got no task: %s", agent->name, err.message);
        http_replyf(exchange, 400, "%s", err.message);
    } else if (str_eq(agent->backup.id, task.id)) {
        backup_store_take_keys(&agent->backup_task.store, &task.store);
        backup_task_release(&task);
        http_replyf(exchange, 202, "taken");
    } else if (agent->backup.state == BACKUP_STATE_RUNNING) {
        backup_task_release(&task);
        http_replyf(exchange, 409, "another one runs");
    } else {
        take_task(agent, &task);
        http_replyf(exchange, 202, "taken");
    }
    if (agent->all->ordered)
        agent->all->ordered(agent->all->ordered_arg);
}

static void handle_backup_end(struct http_exchange *exchange, void *arg)
{
    struct agent_double *agent = arg;
    if (!is_operator(exchange, agent))
        return;
    if (agent->all->refuses) {
        http_replyf(exchange, 503, "of the test");
        return;
    }
    const char *id = http_exchange_path(exchange) + strlen("/v1/backups/");
    if (str_eq(agent->backup.id, id) && agent->backup.state == BACKUP_STATE_RUNNING) {
        agent->backup.state = BACKUP_STATE_FAILED;
        snprintf(agent->backup.error_reason, sizeof(agent->backup.error_reason), "Cancelled");
        agent->all->ended++;
    }
    http_replyf(exchange, 200, "ended");
}

/* ---- orders ---- */

static void reply_epoch(struct http_exchange *exchange, int code, uint64_t epoch)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "{\"epoch\":%llu}", (unsigned long long)epoch);
    http_reply(exchange, code, "application/json", text, (size_t)len);
}

static void handle_role(struct http_exchange *exchange, void *arg)
{
    struct agent_double *agent = arg;
    struct agent_doubles *doubles = agent->all;
    struct agent_order order;
    struct error err = ERROR_INIT;
    size_t len = 0;
    if (!is_operator(exchange, agent))
        return;
    if (doubles->refuses) {
        http_replyf(exchange, 503, "it has no effect any more");
        return;
    }
    const char *body = http_exchange_body(exchange, &len);
    doubles->orders++;
    if (agent_order_decode(body, len, doubles->positions, &order, &err) < 0) {
        agent_model_fail(doubles, "%s got no order: %s", agent->name, err.message);
        http_replyf(exchange, 400, "%s", err.message);
    } else {
        bool taken = agent_model_order(agent, &order);
        agent->nobody_stays = taken && order.nobody_stays;
        if (getenv("V"))
            fprintf(stderr, "%s: %.*s: %d\n", agent->name, (int)len, body, taken ? 200 : 409);
        reply_epoch(exchange, taken ? 200 : 409, agent->epoch);
    }
    if (doubles->ordered)
        doubles->ordered(doubles->ordered_arg);
}

static void handle_mycnf(struct http_exchange *exchange, void *arg)
{
    struct agent_double *agent = arg;
    size_t len = 0;
    if (!is_operator(exchange, agent))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (!agent->mycnf_needs_restart)
        tls_sha256_hex(body, len, agent->status.mycnf_hash);
    static const char taken[] = "{\"applied\":[\"max_connections\"],\"needsRestart\":[]}";
    static const char refused[] = "{\"applied\":[],\"needsRestart\":[\"max_connections\"]}";
    const char *answer = agent->mycnf_needs_restart ? refused : taken;
    http_reply(exchange, 200, "application/json", answer, strlen(answer));
}

static void handle_restore(struct http_exchange *exchange, void *arg)
{
    struct agent_double *agent = arg;
    struct backup_task task;
    struct error err = ERROR_INIT;
    size_t len = 0;
    if (!is_operator(exchange, agent))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (backup_task_decode(body, len, &task, &err) < 0) {
        agent_model_fail(agent->all, "%s got no task: %s", agent->name, err.message);
        http_replyf(exchange, 400, "%s", err.message);
        return;
    }
    snprintf(agent->status.seed.task, sizeof(agent->status.seed.task), "%s", task.id);
    snprintf(agent->task_store, sizeof(agent->task_store), "%s", str_or_empty(task.store.connect_to));
    snprintf(agent->task_key, sizeof(agent->task_key), "%s", str_or_empty(task.store.access_key));
    snprintf(agent->task_binlogs, sizeof(agent->task_binlogs), "%s", str_or_empty(task.binlogs_folder));
    snprintf(agent->task_until_gtid, sizeof(agent->task_until_gtid), "%s", str_or_empty(task.until_gtid));
    agent->task_until_ms = task.until_ms;
    backup_task_release(&task);
    http_reply(exchange, 202, "application/json", "{}", 2);
}

static void handle_archive(struct http_exchange *exchange, void *arg)
{
    if (is_operator(exchange, arg))
        agent_archive_put(exchange, arg);
}

static void handle_archive_end(struct http_exchange *exchange, void *arg)
{
    if (is_operator(exchange, arg))
        agent_archive_delete(exchange, arg);
}

static const struct http_route routes[] = {
    {"PUT", "/v1/archive", handle_archive},
    {"DELETE", "/v1/archive", handle_archive_end},
    {"PUT", "/v1/restore", handle_restore},
    {"POST", "/v1/mycnf/apply", handle_mycnf},
    {"GET", "/v1/status", handle_status},
    {"PUT", "/v1/role", handle_role},
    {"POST", "/v1/backups", handle_backup},
    {"DELETE", "/v1/backups/*", handle_backup_end},
    {.method = NULL},
};

/* ---- the door ---- */

static struct tls_server *load_tls(const json_t *secret)
{
    static const char *const keys[] = {"data[\"tls.key\"]", "data[\"tls.crt\"]", "data[\"ca.crt\"]"};
    char *texts[3] = {NULL};
    bool complete = true;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *encoded = json_path_str(secret, keys[i], "");
        texts[i] = tls_base64_decode(encoded, strlen(encoded), NULL, NULL);
        complete &= texts[i] && *texts[i];
    }
    const struct tls_keypair pair = {texts[0], texts[1]};
    struct tls_server *tls = complete ? tls_server_new(&pair, texts[2], NULL) : NULL;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        free(texts[i]);
    return tls;
}

/* Pods that are started with the same Secret share what was read from it. NULL: it is not complete yet. */
static struct tls_server *find_tls(struct agent_doubles *doubles)
{
    const json_t *secret = agent_model_object(doubles, "secrets", "-mysql-tls");
    const char *version = json_path_str(secret, "metadata.resourceVersion", "");
    for (size_t i = 0; i < doubles->identity_count; i++)
        if (str_eq(doubles->identities[i].version, version))
            return doubles->identities[i].tls;
    struct tls_server *tls = load_tls(secret);
    if (!tls)
        return NULL;
    if (doubles->identity_count == AGENT_IDENTITIES_MAX) {
        fprintf(stderr, "agent_double: too many certificates\n");
        abort();
    }
    typeof(doubles->identities[0]) *identity = &doubles->identities[doubles->identity_count++];
    snprintf(identity->version, sizeof(identity->version), "%s", version);
    identity->tls = tls;
    return tls;
}

static void open_door(struct agent_double *agent)
{
    struct error err = ERROR_INIT;
    agent->server = http_server_new(agent->all->loop, agent->tls, routes, agent);
    if (http_server_listen(agent->server, agent->address, AGENT_PORT_TLS, NULL, &err) == 0)
        return;
    agent_model_fail(agent->all, "%s", err.message);
}

static void close_door(struct agent_double *agent)
{
    http_server_free(steal_ptr(agent->server));
}

/* Every pod has an address that no other one had before, and that no other test's pod has now. */
static void take_address(struct agent_double *agent)
{
    struct agent_doubles *doubles = agent->all;
    unsigned base = doubles->address_base;
    for (int i = 0; i < ADDRESS_TRIES; i++) {
        unsigned number = ++doubles->addresses;
        struct http_server *probe = http_server_new(doubles->loop, NULL, routes, agent);
        snprintf(agent->address, sizeof(agent->address), "127.%u.%u.%u", 64 + (base + number / 250) % 128,
            base / 128 % 256, 1 + number % 250);
        bool is_free = http_server_listen(probe, agent->address, AGENT_PORT_TLS, NULL, NULL) == 0;
        http_server_free(probe);
        if (is_free)
            return;
    }
    agent_model_fail(doubles, "no address is free for %s", agent->name);
}

/* ---- pods ---- */

bool agent_double_start(struct agent_double *agent)
{
    agent->tls = find_tls(agent->all);
    if (!agent->tls)
        return false;
    take_address(agent);
    agent->is_up = true;
    agent_model_begin(agent);
    if (!agent->silent && !agent->is_cut)
        open_door(agent);
    return true;
}

void agent_double_stop(struct agent_double *agent)
{
    if (!agent->is_up)
        return;
    close_door(agent);
    backup_forget(agent);
    agent_archive_forget(agent);
    agent->tls = NULL;
    agent_model_end(agent);
    agent->is_up = false;
}

void agent_double_wipe(struct agent_double *agent)
{
    agent_double_stop(agent);
    agent->has_data = false;
    agent->executed = agent->received = agent->purged = agent->epoch = 0;
    agent->errant = agent->set_aside = 0;
    agent->line = agent->data_number = agent->beside_number = 0;
    agent->has_before = false;
    agent->mark = AGENT_MARK_NONE;
}

void agent_double_crash(struct agent_double *agent)
{
    if (agent->is_up && agent->status.phase != AGENT_PHASE_SEEDING)
        agent_model_crash(agent);
}

void agent_double_recover(struct agent_double *agent)
{
    if (agent->is_up && agent->status.phase == AGENT_PHASE_DOWN)
        agent_model_recover(agent);
}

bool agent_double_is_past_init(const struct agent_double *agent)
{
    return agent->is_up && agent->status.phase != AGENT_PHASE_SEEDING;
}

bool agent_double_is_ready(const struct agent_double *agent)
{
    return agent->is_up && agent_model_is_ready(agent);
}

bool agent_double_is_open(const struct agent_double *agent)
{
    return agent->opened;
}

bool agent_double_may_stop(const struct agent_double *agent)
{
    int64_t replicas = json_path_int(agent_model_cluster(agent->all), "spec.replicas", 1);
    bool lingers = clock_monotonic_ms() - agent->closed_ms < LINGER_MS;
    return replicas < 2 || (!agent->opened && !lingers) || agent->stream_count == 0 || agent->nobody_stays;
}

/* ---- all of them ---- */

struct agent_doubles *agent_doubles_new(struct loop *loop, struct kube_api_double *api, const char *cluster)
{
    struct agent_doubles *doubles = xnew(struct agent_doubles);
    doubles->positions = position_pool_new((size_t)(64 * KM_MIB));
    doubles->loop = loop;
    doubles->api = api;
    doubles->writer = -1;
    snprintf(doubles->cluster, sizeof(doubles->cluster), "%s", cluster);
    /* Once: a copy of the world goes on with it. */
    doubles->address_base = (unsigned)getpid() + (unsigned)hash64(HASH64_INIT, cluster, strlen(cluster));
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        struct agent_double *agent = &doubles->members[i];
        *agent = (struct agent_double){.all = doubles, .ordinal = i, .following = -1, .clone_ms = 20, .order_ms = 5};
        snprintf(agent->name, sizeof(agent->name), "%s-mysql-%d", cluster, i);
        list_init(&agent->streams);
    }
    return doubles;
}

void agent_doubles_free(struct agent_doubles *doubles)
{
    if (!doubles)
        return;
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++)
        agent_double_stop(&doubles->members[i]);
    for (size_t i = 0; i < doubles->identity_count; i++)
        tls_server_free(doubles->identities[i].tls);
    position_pool_unref(doubles->positions);
    free(doubles);
}

static void tick(struct agent_double *agent, int64_t now_ms)
{
    if (!agent->is_up)
        return;
    if (agent_model_turn(agent, now_ms)) { /* `init` has ended, the pod's other containers begin */
        close_door(agent);
        agent_archive_forget(agent);
        agent_model_run(agent);
    }
    bool shut = agent->silent || agent->is_cut;
    if (shut && agent->server)
        close_door(agent);
    else if (!shut && !agent->server)
        open_door(agent);
    publish(agent, now_ms);
}

void agent_doubles_tick(struct agent_doubles *doubles)
{
    int64_t now_ms = clock_monotonic_ms();
    agent_model_flow(doubles, now_ms);
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++)
        tick(&doubles->members[i], now_ms);
}

struct agent_double *agent_doubles_get(struct agent_doubles *doubles, int ordinal)
{
    return &doubles->members[ordinal];
}

const char *agent_doubles_failure(const struct agent_doubles *doubles)
{
    return doubles->failure;
}

const char *agent_doubles_cluster(const struct agent_doubles *doubles)
{
    return doubles->cluster;
}

uint64_t agent_doubles_history(const struct agent_doubles *doubles)
{
    return doubles->history;
}

uint64_t agent_doubles_acknowledged(const struct agent_doubles *doubles)
{
    return doubles->acknowledged;
}

size_t agent_doubles_orders(const struct agent_doubles *doubles)
{
    return doubles->orders;
}

void agent_doubles_on_backup(struct agent_doubles *doubles, void (*fn)(void *arg, struct agent_double *agent), void *arg)
{
    doubles->taken = fn;
    doubles->taken_arg = arg;
}

size_t agent_doubles_backups(const struct agent_doubles *doubles)
{
    return doubles->backups;
}

size_t agent_doubles_ended(const struct agent_doubles *doubles)
{
    return doubles->ended;
}

void agent_doubles_refuse(struct agent_doubles *doubles, bool refuse)
{
    doubles->refuses = refuse;
}

void agent_doubles_on_order(struct agent_doubles *doubles, void (*fn)(void *arg), void *arg)
{
    doubles->ordered = fn;
    doubles->ordered_arg = arg;
}
