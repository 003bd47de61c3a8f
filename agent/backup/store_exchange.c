/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_exchange.h"

#include <unistd.h>

#include "agent/backup/store_answer.h"
#include "common/alloc.h"
#include "common/log.h"

#define JSON_TYPE "application/json"

/* ---- jobs ---- */

static void on_run(void *arg)
{
    struct store_exchange *exchange = arg;

    exchange->ran = true;
    exchange->work(exchange);
}

static void on_done(void *arg)
{
    struct store_exchange *exchange = arg;

    /* The store goes: what was to free something is done nevertheless, the rest is not begun any more. */
    if (!exchange->ran && exchange->failing)
        exchange->work(exchange);
    else if (!exchange->ran)
        store_fault_set(&exchange->fault, STORE_INTERNAL, "the store ends");
    if (exchange->end_code != STORE_OK && exchange->fault.code == STORE_OK)
        store_fault_set(&exchange->fault, exchange->end_code, "%s", exchange->end_why);
    exchange->busy = false;
    exchange->then(exchange);
}

static struct worker *pick_lane(const struct store_exchanges *all)
{
    struct worker *best = NULL;

    for (size_t i = 0; i < STORE_LANES; i++) {
        struct worker *lane = all->lanes[i];
        if (lane && (!best || worker_pending(lane) < worker_pending(best)))
            best = lane;
    }
    return best;
}

void store_exchange_run(struct store_exchange *exchange, void (*work)(struct store_exchange *exchange),
    void (*then)(struct store_exchange *exchange))
{
    struct worker *lane = pick_lane(exchange->all);
    const struct worker_job job = {.run = on_run, .done = on_done, .arg = exchange};

    exchange->work = work;
    exchange->then = then;
    exchange->busy = true;
    exchange->ran = false;
    if (!lane || worker_submit(lane, &job) < 0)
        on_done(exchange);
}

/* ---- life ---- */

struct store_exchange *store_exchange_new(
    struct store_exchanges *all, struct http_exchange *http, const struct store_request *request)
{
    struct store_exchange *exchange = xnew(struct store_exchange);

    exchange->all = all;
    exchange->folder = all->folder;
    exchange->http = http;
    exchange->is_head = str_eq(http_exchange_method(http), "HEAD");
    exchange->request = *request;
    exchange->draft = (struct store_draft)STORE_DRAFT_INIT;
    exchange->object.fd = -1;
    strbuf_init(&exchange->answer, STORE_ANSWER_MAX);
    list_push_back(&all->list, &exchange->node);
    all->count++;
    return exchange;
}

void store_exchange_free(struct store_exchange *exchange)
{
    list_remove(&exchange->node);
    exchange->all->count--;
    store_draft_close(&exchange->draft);
    free(exchange->filling.data);
    free(exchange->writing.data);
    if (exchange->object.fd >= 0)
        close(exchange->object.fd);
    strbuf_release(&exchange->answer);
    free(exchange);
}

/* ---- answers ---- */

void store_refuse(struct http_exchange *http, const struct store_fault *fault)
{
    _cleanup_(strbuf_release) struct strbuf text;
    int status = store_code_status(fault->code);

    strbuf_init(&text, STORE_ANSWER_MAX);
    store_answer_fault(fault, &text);
    if (status == 503)
        http_exchange_add_header(http, "Retry-After", "1");
    http_reply(http, status, JSON_TYPE, text.buf, text.len);
}

void store_exchange_refuse(struct store_exchange *exchange)
{
    const struct store_fault *fault = &exchange->fault;
    const enum store_code code = fault->code;

    if (code == STORE_INTERNAL || code == STORE_INSUFFICIENT_STORAGE || code == STORE_UPLOAD_BROKEN)
        log_warn("a request failed", LOG_STR("object", exchange->request.name), LOG_STR("reason", fault->message));
    store_refuse(exchange->http, fault);
    store_exchange_free(exchange);
}

void store_exchange_answer(struct store_exchange *exchange)
{
    const struct strbuf *answer = &exchange->answer;

    if (exchange->fault.code != STORE_OK) {
        store_exchange_refuse(exchange);
        return;
    }
    if (answer->overflowed) {
        store_fault_set(&exchange->fault, STORE_INTERNAL, "the answer is too long");
        store_exchange_refuse(exchange);
        return;
    }
    http_reply(
        exchange->http, answer->len > 0 ? 200 : 204, answer->len > 0 ? JSON_TYPE : NULL, answer->buf, answer->len);
    store_exchange_free(exchange);
}
