/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_sender.h: makes one agent's order (agent_order.h) what the operator wants, by PUT /v1/role. Part of
 * agent_watch.
 *
 * An order is sent when the agent's last status shows another one, at most one request at a time. After a success the
 * next statuses are given ORDER_SENDER_GRACE_MS to show it; a failure is tried again with back-off from 100 ms to 2 s.
 * A refusal (409: the member has seen a larger epoch) is final for this order and this process of the agent. Nothing is
 * sent while the status stream is lost, and the order is forgotten with it: whoever speaks again, perhaps as another
 * process, is told by a fresh decision, never what held before. Likewise when an order that was in force is in force no
 * more: the agent of a primary whose server ended must not make it one again before somebody has looked at that. Asides
 * (agent_order_asides) are no part of that hash: an order that is in force is given once more to each process of the
 * agent that does not show them.
 */
#ifndef KM_ORDER_SENDER_H
#define KM_ORDER_SENDER_H

#include "common/base.h"

#include "common/agent_order.h"
#include "common/loop.h"
#include "operator/instance/agent_target.h"

#define ORDER_SENDER_GRACE_MS 1000
/* A primary closes itself when it hears nobody for a few seconds (agent_order.h: self_fence_ms). */
#define ORDER_SENDER_REPEAT_MS 1000

struct order_sender;

/* `target` must outlive the sender. `changed` runs when the first try of an order fails and when an order is
 * refused. */
struct order_sender *order_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    void (*changed)(void *arg), void *arg);
/* No callback follows; a request under way may still reach the agent. NULL is fine. */
void order_sender_free(struct order_sender *sender);
/* NULL: none. Sent at once; a request under way is waited for, so that orders do not overtake each other. */
void order_sender_want(struct order_sender *sender, const struct agent_order *order);
/* Whether an order that is in force is given again and again, as a sign of life. */
void order_sender_repeat(struct order_sender *sender, bool repeat);
/* What a status says. asides: those that it shows. clock_ms: of that status; an order tells it, so that the agent knows
 * how old our word is. */
void order_sender_heard(
    struct order_sender *sender, const char *boot_id, const char *order_hash, unsigned asides, int64_t clock_ms);
void order_sender_lost(struct order_sender *sender);
/* Why the wanted order is not delivered; "" if it is, or was not tried yet. */
const char *order_sender_error(const struct order_sender *sender);
/* Whether it was refused, and the epoch that the agent has seen (0 if it did not say). */
bool order_sender_refused(const struct order_sender *sender, uint64_t *ret_epoch);

#endif
