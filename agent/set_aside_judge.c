/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/set_aside_judge.h"

#include "agent/agent_decide.h"
#include "agent/holds_door.h"
#include "agent/set_aside.h"
#include "common/agent_identity.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/worker.h"

#define CONNECT_TIMEOUT_MS 2000
#define ANSWER_TIMEOUT_MS 60000
#define URL_MAX (size_t)(2 * KM_KIB)

struct set_aside_judge {
    struct loop *loop;
    const struct agent_paths *paths;
    struct instance_state *state;
    void (*changed)(void *arg);
    void *arg;
    struct worker *worker;
    struct http_client *http;
    struct http_request *request;
    struct http_tls *tls;
    bool busy, closing;
    int64_t retry_ms;
    /* What was judged under that epoch; the oldest entry is dropped first. */
    char judged[AGENT_SET_ASIDES_MAX][AGENT_SET_ASIDE_SIZE];
    int judged_count;
    uint64_t epoch;
    char failed[AGENT_SET_ASIDE_SIZE]; /* of which nothing could be found out last: another one goes before it */
    /* The question that goes on; from submit to done the thread's. */
    struct {
        char folder[AGENT_SET_ASIDE_SIZE];
        uint64_t epoch;
        enum set_aside_witness witness;
        enum agent_flavour flavour;
        char *executed; /* of this server, where it is the witness */
        struct strbuf gtids;
        bool all;
        struct error error;
    } asked;
};

static void folder_of(const char *text, char ret[static AGENT_SET_ASIDE_SIZE])
{
    snprintf(ret, AGENT_SET_ASIDE_SIZE, "%.*s", (int)strcspn(text, ":"), text);
}

enum set_aside_witness set_aside_witness_of(const struct instance_state *state)
{
    const struct role_state *role = &state->role;
    const struct replication_facts *facts = &state->replication;
    if (!role->has_order || !facts->seen)
        return SET_ASIDE_NOBODY;
    if (agent_is_primary(state))
        return facts->read_only ? SET_ASIDE_NOBODY : SET_ASIDE_SELF;
    bool follows = role->order.role == AGENT_ROLE_REPLICA && *role->order.source_host && !role->order.await_source &&
        role->order.source_agent_port > 0 && facts->receiver == AGENT_THREAD_RUNNING && str_empty(state->source.errant);
    return follows ? SET_ASIDE_SOURCE : SET_ASIDE_NOBODY;
}

/* ---- the end of a question ---- */

static void finish(struct set_aside_judge *judge)
{
    free(steal_ptr(judge->asked.executed));
    strbuf_release(&judge->asked.gtids);
    judge->busy = false;
}

static void try_again(struct set_aside_judge *judge, const struct error *err)
{
    log_info("what was set aside cannot be judged yet", LOG_STR("folder", judge->asked.folder), LOG_ERR(err));
    judge->retry_ms = clock_monotonic_ms() + SET_ASIDE_JUDGE_RETRY_MS;
    memcpy(judge->failed, judge->asked.folder, sizeof(judge->failed));
    finish(judge);
}

static void note_judged(struct set_aside_judge *judge)
{
    if (judge->epoch != judge->asked.epoch)
        judge->judged_count = 0;
    judge->epoch = judge->asked.epoch;
    if (judge->judged_count == AGENT_SET_ASIDES_MAX)
        memmove(judge->judged[0], judge->judged[1], (size_t)--judge->judged_count * sizeof(judge->judged[0]));
    memcpy(judge->judged[judge->judged_count++], judge->asked.folder, sizeof(judge->judged[0]));
}

static void take_back(struct set_aside_judge *judge)
{
    struct error err = ERROR_INIT;
    if (set_aside_take_back(judge->paths, judge->asked.folder, judge->asked.epoch, &err) < 0) {
        try_again(judge, &err);
        return;
    }
    log_info("the primary has all that was set aside: the entry is taken back, the files stay",
        LOG_STR("folder", judge->asked.folder));
    set_aside_list(judge->paths, &judge->state->healing.set_aside);
    finish(judge);
    judge->changed(judge->arg);
}

static void decide(struct set_aside_judge *judge)
{
    note_judged(judge);
    if (judge->asked.all) {
        take_back(judge);
        return;
    }
    log_info("the primary has not all that was set aside", LOG_STR("folder", judge->asked.folder));
    finish(judge);
}

/* ---- the source's word ---- */

static void on_answer(void *arg, const struct http_response *response, const struct error *failure)
{
    struct set_aside_judge *judge = arg;
    struct error err = ERROR_INIT;
    judge->request = NULL;
    if (failure)
        err = *failure;
    else if (response->status != 200)
        error_set_code(&err, ERROR_UNAVAILABLE, response->status, "the primary's agent answers %d", response->status);
    _cleanup_(json_decrefp) json_t *json =
        err.kind == ERROR_NONE ? json_parse(response->body, strlen(response->body), &err) : NULL;
    if (err.kind != ERROR_NONE) {
        try_again(judge, &err);
        return;
    }
    judge->asked.all = json_is_true(json_object_get(json, "all"));
    decide(judge);
}

static void ask_source(struct set_aside_judge *judge)
{
    const struct agent_order *order = &judge->state->role.order;
    char pod[AGENT_POD_NAME_SIZE];
    _cleanup_(strbuf_release) struct strbuf url;
    strbuf_init(&url, URL_MAX);
    strbuf_addf(&url, "https://%s:%u/v1/binlogs/holds", order->source_host, order->source_agent_port);
    agent_identity_of_host(order->source_host, pod);
    agent_identity_add(&url, pod, NULL);
    const struct http_request_options request = {
        .method = "POST",
        .url = url.buf,
        .body = judge->asked.gtids.buf,
        .body_len = judge->asked.gtids.len,
        .tls = judge->tls,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .timeout_ms = ANSWER_TIMEOUT_MS,
        .done = on_answer,
        .arg = judge,
    };
    judge->request = http_client_start(judge->http, &request);
}

/* ---- what it is about ---- */

static void run_read(void *arg)
{
    struct set_aside_judge *judge = arg;
    error_clear(&judge->asked.error);
    int rc = set_aside_gtids(
        judge->paths, judge->asked.folder, judge->asked.flavour, &judge->asked.gtids, &judge->asked.error);
    if (rc == 0 && judge->asked.witness == SET_ASIDE_SELF)
        rc = holds_find(judge->paths->data_dir, judge->asked.flavour, judge->asked.executed, judge->asked.gtids.buf,
            &judge->asked.all, &judge->asked.error);
    (void)(rc == 0);
}

static void on_read(void *arg)
{
    struct set_aside_judge *judge = arg;
    const struct error *err = &judge->asked.error;
    bool changed = set_aside_witness_of(judge->state) != judge->asked.witness;
    if (judge->closing || changed) {
        finish(judge);
    } else if (err->kind == ERROR_INVALID) { /* not a whole list */
        log_info("what was set aside cannot be judged", LOG_STR("folder", judge->asked.folder), LOG_ERR(err));
        note_judged(judge);
        finish(judge);
    } else if (err->kind != ERROR_NONE) {
        try_again(judge, err);
    } else if (judge->asked.witness == SET_ASIDE_SELF) {
        decide(judge);
    } else {
        ask_source(judge);
    }
}

static bool is_judged(const struct set_aside_judge *judge, const char *folder)
{
    bool found = false;
    for (int i = 0; i < judge->judged_count && judge->epoch == judge->state->role.order.epoch; i++)
        found |= str_eq(judge->judged[i], folder);
    return found;
}

/* The newest that is not judged under this epoch; "" and false: all are. */
static bool find_next(const struct set_aside_judge *judge, char ret[static AGENT_SET_ASIDE_SIZE])
{
    ret[0] = '\0';
    for (int i = 0; i < AGENT_SET_ASIDES_MAX; i++) {
        char folder[AGENT_SET_ASIDE_SIZE];
        folder_of(judge->state->healing.set_aside.sets[i], folder);
        if (str_empty(folder) || is_judged(judge, folder) || (ret[0] && !str_eq(ret, judge->failed)))
            continue;
        memcpy(ret, folder, sizeof(folder));
    }
    return ret[0] != '\0';
}

static void begin(struct set_aside_judge *judge, enum set_aside_witness witness, const char *folder)
{
    const struct instance_state *state = judge->state;
    struct worker_job job = {.run = run_read, .done = on_read, .arg = judge};
    snprintf(judge->asked.folder, sizeof(judge->asked.folder), "%s", folder);
    judge->asked.epoch = state->role.order.epoch;
    judge->asked.witness = witness;
    judge->asked.flavour = state->observed.version.flavour;
    judge->asked.executed = xstrdup(str_or_empty(state->replication.gtid_executed));
    judge->asked.all = false;
    strbuf_init(&judge->asked.gtids, SET_ASIDE_JUDGED_MAX);
    error_set(&judge->asked.error, ERROR_CANCELLED, "the agent ends");
    judge->busy = true;
    if (worker_submit(judge->worker, &job) < 0)
        abort(); /* one at a time */
}

void set_aside_judge_turn(struct set_aside_judge *judge)
{
    char folder[AGENT_SET_ASIDE_SIZE];
    if (judge->busy || clock_monotonic_ms() < judge->retry_ms || !find_next(judge, folder))
        return;
    enum set_aside_witness witness = set_aside_witness_of(judge->state);
    if (witness == SET_ASIDE_NOBODY || (witness == SET_ASIDE_SOURCE && !judge->tls))
        return;
    begin(judge, witness, folder);
}

/* ---- life ---- */

struct set_aside_judge *set_aside_judge_new(struct loop *loop, const struct agent_paths *paths,
    struct instance_state *state, void (*changed)(void *arg), void *arg)
{
    struct set_aside_judge *judge = xnew(struct set_aside_judge);
    judge->loop = loop;
    judge->paths = paths;
    judge->state = state;
    judge->changed = changed;
    judge->arg = arg;
    judge->worker = worker_new(loop, "judge");
    judge->http = http_client_new(loop);
    return judge;
}

void set_aside_judge_free(struct set_aside_judge *judge)
{
    if (!judge)
        return;
    judge->closing = true;
    worker_free(judge->worker);
    if (judge->request)
        finish(judge);
    http_client_free(judge->http);
    http_tls_unref(judge->tls);
    free(judge);
}

void set_aside_judge_set_tls(struct set_aside_judge *judge, struct http_tls *tls)
{
    http_tls_unref(judge->tls);
    judge->tls = http_tls_ref(tls);
}
