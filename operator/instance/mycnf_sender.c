/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/mycnf_sender.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/error.h"
#include "common/json.h"
#include "common/json_fields.h"

#define CONNECT_TIMEOUT_MS 1000
/* The agent's other work on the server comes first. */
#define ANSWER_TIMEOUT_MS 30000
#define ANSWER_MAX (64 * KM_KIB)
/* Names in a verdict; the others are counted. */
#define NAMES_MAX 100

static const struct backoff_policy retry_policy = {.base_ms = 1000, .max_ms = 10000, .jitter_percent = 30};

struct mycnf_sender {
    struct loop *loop;
    struct http_client *http;
    const struct agent_target *target;
    const char *path;
    void (*changed)(void *arg);
    void *arg;
    char *text;     /* to be sent; NULL: nothing is */
    char hash[65];  /* of what was wanted last, "" nothing */
    char asked[65]; /* of the request under way */
    char boot_id[sizeof(((struct agent_status *)0)->boot_id)];
    bool listening; /* the stream spoke, of a running server, and is not lost */
    bool shown;     /* the status has shown `hash` */
    enum mycnf_verdict verdict;
    char words[MYCNF_VERDICT_TEXT_SIZE];
    struct http_request *request;
    struct loop_timer pause; /* armed: nothing is sent before it ends */
    struct backoff backoff;
};

static void on_answer(void *arg, const struct http_response *response, const struct error *err);

static void send_if_due(void *arg)
{
    static const char *const headers[] = {"Content-Type: text/plain", NULL};
    struct mycnf_sender *sender = arg;
    if (!sender->text || !sender->listening || sender->request || sender->pause.armed ||
        !agent_target_may_tell(sender->target))
        return;
    memcpy(sender->asked, sender->hash, sizeof(sender->asked));
    const struct http_request_options options = {
        .method = "POST",
        .headers = headers,
        .body = sender->text,
        .body_len = strlen(sender->text),
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .timeout_ms = ANSWER_TIMEOUT_MS,
        .max_body = ANSWER_MAX,
        .done = on_answer,
        .arg = sender,
    };
    sender->request = agent_target_start(sender->target, sender->http, sender->path, options);
}

/* ---- answers ---- */

static void judge(struct mycnf_sender *sender, enum mycnf_verdict verdict)
{
    sender->verdict = verdict;
    if (verdict != MYCNF_FAILED)
        str_replace(&sender->text, NULL);
    sender->changed(sender->arg);
}

static void KM_PRINTF(2, 3) say(struct mycnf_sender *sender, const char *fmt, ...)
{
    char text[2 * MYCNF_VERDICT_TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_copy_text(sender->words, sizeof(sender->words), text);
}

static void take_failure(struct mycnf_sender *sender, const char *why)
{
    uint32_t pause_ms = backoff_next_ms(&sender->backoff, &retry_policy);
    if (sender->backoff.attempts < MYCNF_SENDER_TRIES) {
        say(sender, "%s", why);
        loop_timer_arm(&sender->pause, pause_ms);
        judge(sender, MYCNF_FAILED);
        return;
    }
    say(sender, "my.cnf has changed and could not be taken up at run time: %s", why);
    judge(sender, MYCNF_NEEDS_RESTART);
}

/* Returns how many were listed. */
static size_t list_names(const json_t *names, char *out, size_t size)
{
    size_t i, listed = 0, len = 0;
    json_t *name;
    *out = '\0';
    json_array_foreach(names, i, name) {
        const char *text = str_or_empty(json_string_value(name));
        if (str_empty(text) || len + strlen(text) + 2 > size)
            continue;
        len += (size_t)snprintf(out + len, size - len, "%s%s", listed > 0 ? ", " : "", text);
        listed++;
    }
    return listed;
}

/* Which variables want a restart. */
static void take_rest(struct mycnf_sender *sender, const json_t *names)
{
    char list[NAMES_MAX];
    size_t count = json_array_size(names), listed = list_names(names, list, sizeof(list));
    if (listed == 0)
        say(sender, "my.cnf has changed, which needs a restart");
    else if (listed < count)
        say(sender, "my.cnf changes %s and %zu more, which need a restart", list, count - listed);
    else
        say(sender, "my.cnf changes %s, which need%s a restart", list, count > 1 ? "" : "s");
    judge(sender, MYCNF_NEEDS_RESTART);
}

static void take_answer(struct mycnf_sender *sender, const struct http_response *response)
{
    _cleanup_(json_decrefp) json_t *answer = json_parse(response->body, response->body_len, NULL);
    const json_t *rest = json_object_get(answer, "needsRestart");
    if (!json_is_array(rest))
        take_failure(sender, "the agent's answer makes no sense");
    else if (json_array_size(rest) > 0)
        take_rest(sender, rest);
    else {
        say(sender, "%s", "");
        judge(sender, MYCNF_APPLIED);
    }
}

static void on_answer(void *arg, const struct http_response *response, const struct error *err)
{
    struct mycnf_sender *sender = arg;
    char why[160];
    sender->request = NULL;
    if (!sender->text || !str_eq(sender->asked, sender->hash))
        loop_timer_arm(&sender->pause, 0); /* an answer to what is no longer wanted */
    else if (err)
        take_failure(sender, err->message);
    else if (response->status == 200)
        take_answer(sender, response);
    else if (response->status == 404) {
        say(sender, "my.cnf has changed, and its agent cannot apply that at run time");
        judge(sender, MYCNF_NEEDS_RESTART);
    } else {
        snprintf(why, sizeof(why), "its agent answered %d: %.*s", response->status, (int)strcspn(response->body, "\n"),
            response->body);
        take_failure(sender, why);
    }
}

/* ---- what is wanted and what is ---- */

static void start_afresh(struct mycnf_sender *sender)
{
    loop_timer_cancel(&sender->pause);
    backoff_reset(&sender->backoff);
    str_replace(&sender->text, NULL);
    sender->words[0] = '\0';
    sender->verdict = MYCNF_UNKNOWN;
    sender->shown = false;
}

void mycnf_sender_want(struct mycnf_sender *sender, const char *hash, const char *text)
{
    if (str_eq(hash, sender->hash) && sender->verdict != MYCNF_UNKNOWN)
        return;
    start_afresh(sender);
    snprintf(sender->hash, sizeof(sender->hash), "%s", hash);
    str_replace(&sender->text, text);
    sender->verdict = MYCNF_PENDING;
    send_if_due(sender);
}

/* What the last process, or the last life of the server, has answered counts no more. */
static void forget(struct mycnf_sender *sender)
{
    if (sender->request)
        http_request_cancel(steal_ptr(sender->request));
    start_afresh(sender);
}

void mycnf_sender_heard(struct mycnf_sender *sender, const struct agent_status *status)
{
    bool is_in_force = str_eq(sender->hash, status->mycnf_hash);
    if (!str_eq(sender->boot_id, status->boot_id) || (sender->shown && !is_in_force))
        forget(sender);
    snprintf(sender->boot_id, sizeof(sender->boot_id), "%s", status->boot_id);
    sender->shown = is_in_force;
    sender->listening = status->phase == AGENT_PHASE_RUNNING;
    if (is_in_force && sender->text) /* the answer got lost, or there is nothing to be asked */
        judge(sender, MYCNF_APPLIED);
    send_if_due(sender);
}

void mycnf_sender_lost(struct mycnf_sender *sender)
{
    sender->listening = false;
}

enum mycnf_verdict mycnf_sender_verdict(const struct mycnf_sender *sender, const char *hash, const char **ret_text)
{
    bool known = str_eq(hash, sender->hash);
    *ret_text = known ? sender->words : "";
    return known ? sender->verdict : MYCNF_UNKNOWN;
}

struct mycnf_sender *mycnf_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    const char *path, void (*changed)(void *arg), void *arg)
{
    struct mycnf_sender *sender = xnew(struct mycnf_sender);
    sender->loop = loop;
    sender->http = http;
    sender->target = target;
    sender->path = path;
    sender->changed = changed;
    sender->arg = arg;
    sender->backoff.random_state = random_seed();
    loop_timer_init(&sender->pause, loop, send_if_due, sender);
    return sender;
}

void mycnf_sender_free(struct mycnf_sender *sender)
{
    if (!sender)
        return;
    if (sender->request)
        http_request_cancel(sender->request);
    loop_timer_release(&sender->pause);
    free(sender->text);
    free(sender);
}
