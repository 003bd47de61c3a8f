/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf_sender.h: has one agent take up a changed my.cnf while its server runs (POST /v1/mycnf/apply), or say whether
 * that server could (POST /v1/mycnf/preview). Part of agent_watch.
 *
 * The agent sets what the server can change at run time and answers {"applied":[...],"needsRestart":[...]}, names of
 * variables. It is asked once for each text and process of the agent, one request at a time, and only while its stream
 * speaks of a running server. A failure is tried again with back-off; after MYCNF_SENDER_TRIES of them, as after 404
 * (an agent that does not know how), the verdict is that only a restart helps.
 *
 * The text is kept until the verdict is final and no longer: who wants it applied hands it over whenever the verdict is
 * MYCNF_UNKNOWN.
 */
#ifndef KM_MYCNF_SENDER_H
#define KM_MYCNF_SENDER_H

#include "common/base.h"

#include "common/agent_api.h"
#include "common/loop.h"
#include "operator/instance/agent_target.h"

#define MYCNF_SENDER_TRIES 3
#define MYCNF_VERDICT_TEXT_SIZE 192

enum mycnf_verdict {
    MYCNF_UNKNOWN, /* not asked for, or asked of an earlier process of the agent */
    MYCNF_PENDING, /* on its way, or not sent yet */
    MYCNF_APPLIED, /* all of it; the agent's status shows it from then on */
    MYCNF_NEEDS_RESTART,
    MYCNF_FAILED, /* the latest try; the next one follows */
};

struct mycnf_sender;

#define MYCNF_SENDER_APPLY "/v1/mycnf/apply"
#define MYCNF_SENDER_PREVIEW "/v1/mycnf/preview"

/* path: one of the two; static. `target` must outlive the sender. `changed` runs when the verdict becomes APPLIED,
 * NEEDS_RESTART or FAILED. */
struct mycnf_sender *mycnf_sender_new(struct loop *loop, struct http_client *http, const struct agent_target *target,
    const char *path, void (*changed)(void *arg), void *arg);
/* No callback follows; a request under way may still reach the agent. NULL is fine. */
void mycnf_sender_free(struct mycnf_sender *sender);
/* `hash` is the text's, as agent_status.mycnf_hash. Both are copied. Costs nothing while there is a verdict on it, or
 * one is on its way. */
void mycnf_sender_want(struct mycnf_sender *sender, const char *hash, const char *text);
/* What a status says. */
void mycnf_sender_heard(struct mycnf_sender *sender, const struct agent_status *status);
void mycnf_sender_lost(struct mycnf_sender *sender);
/* On the text with this hash. *ret_text: of NEEDS_RESTART a sentence without its end ("my.cnf changes
 * innodb_log_file_size, which needs a restart"), of FAILED why, else "". Belongs to the sender, until its next news. */
enum mycnf_verdict mycnf_sender_verdict(const struct mycnf_sender *sender, const char *hash, const char **ret_text);

#endif
