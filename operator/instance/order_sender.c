/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/order_sender.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/backoff.h"
#include "common/error.h"
#include "common/json.h"

#define CONNECT_TIMEOUT_MS 1000
/* The agent answers from memory, once the epoch is on its disk. */
#define ANSWER_TIMEOUT_MS 3000
#define ANSWER_MAX (4 * KM_KIB)

static const struct backoff_policy retry_policy = {.base_ms = 100, .max_ms = 2000, .jitter_percent = 30};

struct order_sender {
    struct loop *loop;
    struct http_client *http;
    const struct agent_target *target;
    void (*changed)(void *arg);
    void *arg;
    char *wanted; /* encoded; NULL: none */
    char wanted_hash[17];
    char sent_hash[17]; /* of the request under way */
    char heard_hash[17];
    char boot_id[sizeof(((struct agent_status *)0)->boot_id)];
    int64_t heard_clock_ms; /* the agent's own clock in its last status */
    bool listening;         /* the stream spoke and is not lost */
    bool repeat;
    bool due_again; /* the order in force is to be given once more */
    unsigned wanted_asides, sent_asides, told_asides, shown_asides;
    bool told; /* an order of that hash, with told_asides */
    bool refused;
    uint64_t refused_epoch;
    struct http_request *request;
    struct loop_timer repetition;
    struct loop_timer pause; /* armed: nothing is sent before it ends */
    struct backoff backoff;
    char *failure; /* NULL: none */
};

static void on_answer(void *arg, const struct http_response *response, const struct error *err);

/* An agent of an earlier version shows nothing: what it was told once it is not told again. */
static bool asides_are_known(const struct order_sender *sender)
{
    return sender->wanted_asides == (sender->told ? sender->told_asides : sender->shown_asides);
}

static void send_if_due(void *arg)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    struct order_sender *sender = arg;
    bool is_in_force = str_eq(sender->heard_hash, sender->wanted_hash) && !sender->due_again && asides_are_known(sender);
    if (!sender->wanted || !sender->listening || is_in_force || sender->refused || sender->request ||
        sender->pause.armed || !agent_target_may_tell(sender->target))
        return;
    memcpy(sender->sent_hash, sender->wanted_hash, sizeof(sender->sent_hash));
    sender->sent_asides = sender->wanted_asides;
    sender->due_again = false;
    const struct http_request_options options = {
        .method = "PUT",
        .headers = headers,
        .body = sender->wanted,
        .body_len = strlen(sender->wanted),
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .timeout_ms = ANSWER_TIMEOUT_MS,
        .max_body = ANSWER_MAX,
        .done = on_answer,
        .arg = sender,
    };
    char path[96];
    snprintf(path, sizeof(path), "/v1/role?asOf=%lld%s%s", (long long)sender->heard_clock_ms,
        str_empty(sender->boot_id) ? "" : "&boot=", sender->boot_id);
    sender->request = agent_target_start(sender->target, sender->http, path, options);
}

static void on_repetition(void *arg)
{
    struct order_sender *sender = arg;
    if (!sender->repeat)
        return;
    loop_timer_arm(&sender->repetition, ORDER_SENDER_REPEAT_MS);
    sender->due_again = true;
    send_if_due(sender);
}

void order_sender_repeat(struct order_sender *sender, bool repeat)
{
    if (repeat && !sender->repeat)
        loop_timer_arm(&sender->repetition, 0);
    sender->repeat = repeat;
}

/* ---- answers ---- */

static void take_failure(struct order_sender *sender, char *text)
{
    bool is_first = !sender->failure;
    free(sender->failure);
    sender->failure = text;
    loop_timer_arm(&sender->pause, backoff_next_ms(&sender->backoff, &retry_policy));
    if (is_first)
        sender->changed(sender->arg);
}

static void take_refusal(struct order_sender *sender, const struct http_response *response)
{
    _cleanup_(json_decrefp) json_t *answer = json_parse(response->body, response->body_len, NULL);
    int64_t epoch = json_path_int(answer, "epoch", 0);
    sender->refused = true;
    sender->refused_epoch = epoch > 0 ? (uint64_t)epoch : 0;
    free(sender->failure);
    sender->failure = xasprintf("the order was refused: this member has seen epoch %lld", (long long)epoch);
    sender->changed(sender->arg);
}

static void take_success(struct order_sender *sender)
{
    str_replace(&sender->failure, NULL);
    backoff_reset(&sender->backoff);
    sender->told_asides = sender->sent_asides;
    sender->told = true;
    if (!str_eq(sender->heard_hash, sender->wanted_hash)) /* its status will soon show it */
        loop_timer_arm(&sender->pause, ORDER_SENDER_GRACE_MS);
}

static void on_answer(void *arg, const struct http_response *response, const struct error *err)
{
    struct order_sender *sender = arg;
    sender->request = NULL;
    if (!sender->wanted || !str_eq(sender->sent_hash, sender->wanted_hash))
        loop_timer_arm(&sender->pause, 0); /* an answer to what is no longer wanted */
    else if (err)
        take_failure(sender, xasprintf("the order could not be given: %s", err->message));
    else if (response->status == 200)
        take_success(sender);
    else if (response->status == 409)
        take_refusal(sender, response);
    else
        take_failure(sender,
            xasprintf("the order was answered %d: %.*s", response->status,
                (int)MIN_OF(strcspn(response->body, "\n"), 200), response->body));
}

/* ---- what is wanted and what is ---- */

static void start_afresh(struct order_sender *sender)
{
    loop_timer_cancel(&sender->pause);
    backoff_reset(&sender->backoff);
    str_replace(&sender->failure, NULL);
    sender->refused = false;
    sender->refused_epoch = 0;
    sender->due_again = sender->told = false;
}

/* Orders of one hash may differ in what matters only for a while: what is sent later is the newest. */
static void keep_wanted(struct order_sender *sender, const struct agent_order *order)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, AGENT_ORDER_MAX);
    agent_order_encode(order, &text);
    str_replace(&sender->wanted, text.buf);
}

void order_sender_want(struct order_sender *sender, const struct agent_order *order)
{
    char hash[sizeof(sender->wanted_hash)] = "";
    if (order) {
        agent_order_hash(order, hash);
        keep_wanted(sender, order);
    } else {
        str_replace(&sender->wanted, NULL);
    }
    bool same = strcmp(hash, sender->wanted_hash) == 0;
    unsigned asides = order ? agent_order_asides(order) : 0;
    if (same && asides == sender->wanted_asides)
        return;
    sender->wanted_asides = asides;
    memcpy(sender->wanted_hash, hash, sizeof(hash));
    if (!same)
        start_afresh(sender);
    send_if_due(sender);
}

/* A primary's agent drops its order when its server ends: whether it is to open again must be decided anew. */
static bool was_dropped(const struct order_sender *sender, const char *order_hash)
{
    return str_empty(order_hash) && !str_empty(sender->heard_hash) && str_eq(sender->heard_hash, sender->wanted_hash);
}

void order_sender_heard(
    struct order_sender *sender, const char *boot_id, const char *order_hash, unsigned asides, int64_t clock_ms)
{
    sender->heard_clock_ms = clock_ms;
    sender->shown_asides = asides;
    if (was_dropped(sender, order_hash))
        order_sender_want(sender, NULL);
    if (!str_eq(sender->boot_id, boot_id))
        start_afresh(sender);
    snprintf(sender->boot_id, sizeof(sender->boot_id), "%s", boot_id);
    snprintf(sender->heard_hash, sizeof(sender->heard_hash), "%s", order_hash);
    sender->listening = true;
    if (str_eq(order_hash, sender->wanted_hash))
        str_replace(&sender->failure, NULL);
    send_if_due(sender);
}

/* By the time it speaks again, somebody else may be primary: it is told what holds then. */
void order_sender_lost(struct order_sender *sender)
{
    sender->listening = false;
    order_sender_want(sender, NULL);
}

const char *order_sender_error(const struct order_sender *sender)
{
    return str_or_empty(sender->failure);
}

bool order_sender_refused(const struct order_sender *sender, uint64_t *ret_epoch)
{
    if (!sender->refused)
        return false;
    *ret_epoch = sender->refused_epoch;
    return true;
}

struct order_sender *order_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    void (*changed)(void *arg), void *arg)
{
    struct order_sender *sender = xnew(struct order_sender);
    sender->loop = loop;
    sender->http = http;
    sender->target = target;
    sender->changed = changed;
    sender->arg = arg;
    sender->backoff.random_state = random_seed();
    loop_timer_init(&sender->pause, loop, send_if_due, sender);
    loop_timer_init(&sender->repetition, loop, on_repetition, sender);
    return sender;
}

void order_sender_free(struct order_sender *sender)
{
    if (!sender)
        return;
    if (sender->request)
        http_request_cancel(sender->request);
    loop_timer_release(&sender->pause);
    loop_timer_release(&sender->repetition);
    free(sender->wanted);
    free(sender->failure);
    free(sender);
}
