/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/task_sender.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/backoff.h"
#include "common/hashmap.h"
#include "common/json.h"

#define CONNECT_TIMEOUT_MS 3000
#define ANSWER_TIMEOUT_MS 10000
#define ANSWER_MAX (size_t)(4 * KM_KIB)

static const struct backoff_policy retry_policy = {.base_ms = 200, .max_ms = 5000, .jitter_percent = 30};

struct task_sender {
    struct loop *loop;
    struct http_client *http;
    const struct agent_target *target;
    const struct task_door *door;
    void (*changed)(void *arg);
    void *arg;
    char *owner;
    char *wanted; /* the task, encoded; secret; NULL: none */
    char wanted_id[BACKUP_ID_SIZE];
    uint64_t wanted_hash, sent_hash, delivered_hash; /* of the text; delivered 0: not in this life of the agent */
    char ending_id[BACKUP_ID_SIZE];                  /* to be ended; "" none */
    char shown_id[BACKUP_ID_SIZE];
    char boot_id[40];
    bool listening;
    bool refused, impossible;
    struct http_request *request;
    struct loop_timer pause; /* armed: nothing is sent before it ends */
    struct backoff backoff;
    char *failure; /* NULL: none */
};

static void send_if_due(void *arg);

/* ---- answers ---- */

/* status: of the answer, 0: there was none. */
static void take_failure(struct task_sender *sender, char *text, int status)
{
    bool final = status == 400 || status == 409 || status == AGENT_TASK_IMPOSSIBLE;
    bool is_first = !sender->failure || final;
    free(sender->failure);
    sender->failure = text;
    sender->refused = final;
    sender->impossible = status == AGENT_TASK_IMPOSSIBLE;
    loop_timer_arm(&sender->pause, backoff_next_ms(&sender->backoff, &retry_policy));
    if (is_first)
        sender->changed(sender->arg);
}

/* The agent's own words, if they are: {"error": "..."}; else the beginning of whatever it said. */
static char *answer_text(const struct http_response *response)
{
    _cleanup_(json_decrefp) json_t *answer = json_parse(response->body, response->body_len, NULL);
    const char *said = json_path_str(answer, "error", NULL);
    if (!said)
        said = json_path_str(answer, "message", response->body);
    return xasprintf("the agent answered %d: %.160s", response->status, said);
}

static void on_posted(void *arg, const struct http_response *response, const struct error *err)
{
    struct task_sender *sender = arg;
    sender->request = NULL;
    if (!sender->wanted || sender->sent_hash != sender->wanted_hash) {
        loop_timer_arm(&sender->pause, 0); /* an answer to what is no longer wanted */
    } else if (err) {
        take_failure(sender, xasprintf("the task could not be given: %s", err->message), 0);
    } else if (response->status == 200 || response->status == 202) {
        str_replace(&sender->failure, NULL);
        backoff_reset(&sender->backoff);
        sender->delivered_hash = sender->sent_hash;
        loop_timer_arm(&sender->pause, TASK_SENDER_GRACE_MS);
    } else
        take_failure(sender, answer_text(response), response->status);
}

static void on_ended(void *arg, const struct http_response *response, const struct error *err)
{
    struct task_sender *sender = arg;
    sender->request = NULL;
    bool done = !err && (response->status == 200 || response->status == 404);
    if (done)
        *sender->ending_id = '\0';
    loop_timer_arm(&sender->pause, done ? 0 : backoff_next_ms(&sender->backoff, &retry_policy));
}

/* ---- requests ---- */

static void start(struct task_sender *sender, struct http_request_options options, const char *path)
{
    options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    options.timeout_ms = ANSWER_TIMEOUT_MS;
    options.max_body = ANSWER_MAX;
    options.arg = sender;
    sender->request = agent_target_start(sender->target, sender->http, path, options);
}

static bool is_due(const struct task_sender *sender)
{
    bool delivered = sender->door->id_is_digest || sender->delivered_hash == sender->wanted_hash;
    bool shown = str_eq(sender->shown_id, sender->wanted_id) && delivered;
    return sender->wanted && !sender->refused && !shown;
}

static void send_end(struct task_sender *sender)
{
    const char *path = sender->door->end_path;
    bool names_it = path[strlen(path) - 1] == '/';
    _cleanup_(freep) char *whole = xasprintf("%s%s", path, names_it ? sender->ending_id : "");
    start(sender, (struct http_request_options){.method = "DELETE", .done = on_ended}, whole);
}

/* What ends goes first: an agent has one task of a kind at a time. */
static void send_if_due(void *arg)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    struct task_sender *sender = arg;
    if (!sender->listening || sender->request || sender->pause.armed || !agent_target_may_tell(sender->target))
        return;
    if (*sender->ending_id)
        send_end(sender);
    else if (is_due(sender)) {
        sender->sent_hash = sender->wanted_hash;
        start(sender,
            (struct http_request_options){.method = sender->door->method,
                .headers = headers,
                .body = sender->wanted,
                .body_len = strlen(sender->wanted),
                .done = on_posted},
            sender->door->path);
    }
}

/* ---- what is wanted and what is ---- */

static void start_afresh(struct task_sender *sender)
{
    loop_timer_cancel(&sender->pause);
    backoff_reset(&sender->backoff);
    str_replace(&sender->failure, NULL);
    sender->refused = sender->impossible = false;
    sender->delivered_hash = 0;
}

static void forget(struct task_sender *sender)
{
    secret_free(steal_ptr(sender->wanted));
    str_replace(&sender->owner, NULL);
    *sender->wanted_id = '\0';
    sender->wanted_hash = 0;
    start_afresh(sender);
}

void task_sender_want(struct task_sender *sender, const char *owner, const char *id, const char *text)
{
    uint64_t hash = hash64(HASH64_INIT, text, strlen(text));
    if (hash != sender->wanted_hash) {
        bool same_id = str_eq(sender->wanted_id, id);
        uint64_t delivered = same_id ? sender->delivered_hash : 0;
        forget(sender);
        sender->delivered_hash = delivered;
        sender->wanted = xstrdup(text);
        sender->owner = xstrdup(owner);
        sender->wanted_hash = hash;
        snprintf(sender->wanted_id, sizeof(sender->wanted_id), "%s", id);
    }
    send_if_due(sender);
}

void task_sender_drop(struct task_sender *sender, const char *owner)
{
    if (str_eq(sender->owner, owner))
        forget(sender);
}

void task_sender_end(struct task_sender *sender, const char *id)
{
    if (str_eq(sender->wanted_id, id))
        forget(sender);
    snprintf(sender->ending_id, sizeof(sender->ending_id), "%s", id);
    send_if_due(sender);
}

void task_sender_heard(struct task_sender *sender, const char *boot_id, const char *shown_id)
{
    if (!str_eq(sender->boot_id, boot_id))
        start_afresh(sender);
    snprintf(sender->boot_id, sizeof(sender->boot_id), "%s", boot_id);
    snprintf(sender->shown_id, sizeof(sender->shown_id), "%s", shown_id);
    sender->listening = true;
    send_if_due(sender);
}

void task_sender_lost(struct task_sender *sender)
{
    sender->listening = false;
    *sender->ending_id = '\0';
    forget(sender);
}

const char *task_sender_error(const struct task_sender *sender, const char *id)
{
    return str_eq(sender->wanted_id, id) ? str_or_empty(sender->failure) : "";
}

bool task_sender_refused(const struct task_sender *sender, const char *id)
{
    return sender->refused && str_eq(sender->wanted_id, id);
}

bool task_sender_impossible(const struct task_sender *sender, const char *id)
{
    return sender->impossible && str_eq(sender->wanted_id, id);
}

struct task_sender *task_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    const struct task_door *door, void (*changed)(void *arg), void *arg)
{
    struct task_sender *sender = xnew(struct task_sender);
    sender->loop = loop;
    sender->http = http;
    sender->target = target;
    sender->door = door;
    sender->changed = changed;
    sender->arg = arg;
    sender->backoff.random_state = random_seed();
    loop_timer_init(&sender->pause, loop, send_if_due, sender);
    return sender;
}

void task_sender_free(struct task_sender *sender)
{
    if (!sender)
        return;
    if (sender->request)
        http_request_cancel(sender->request);
    loop_timer_release(&sender->pause);
    secret_free(sender->wanted);
    free(sender->owner);
    free(sender->failure);
    free(sender);
}
