/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/template_question.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/pod_refusal.h"

/* What says nothing of the pod holds nobody up. */
enum template_verdict template_verdict_of(const struct error *err)
{
    static const enum template_verdict verdicts[] = {
        [POD_ANSWER_UNKNOWN] = TEMPLATE_UNKNOWN,
        [POD_ANSWER_TAKEN] = TEMPLATE_TAKEN,
        [POD_ANSWER_REFUSED] = TEMPLATE_REFUSED,
        [POD_ANSWER_OVER_QUOTA] = TEMPLATE_OVER_QUOTA,
        [POD_ANSWER_OF_OTHERS] = TEMPLATE_TAKEN,
    };
    return verdicts[pod_answer_of(err)];
}

static bool take_answer(
    const struct api_asker *asker, struct cluster_memory *memory, const void *about, const struct error *err)
{
    struct template_answer answer = {.verdict = template_verdict_of(err)};
    UNUSED(asker);
    snprintf(answer.hash, sizeof(answer.hash), "%s", (const char *)about);
    if (err)
        snprintf(answer.message, sizeof(answer.message), "%.*s", (int)sizeof(answer.message) - 1, err->message);
    bool is_news = answer.verdict != memory->template_answer.verdict ||
        !str_eq(answer.hash, memory->template_answer.hash) || !str_eq(answer.message, memory->template_answer.message);
    memory->template_answer = answer;
    return is_news && answer.verdict != TEMPLATE_UNKNOWN;
}

/* Without its ServiceAccount a pod is refused, and that one comes with the cluster's first objects. */
static bool may_ask(const struct cluster_snapshot *snapshot)
{
    return snapshot->usable && snapshot->children[CHILD_SERVICE_ACCOUNT];
}

/* 0: it is due; -1: it has been answered. */
static int64_t rest_ms(const struct cluster_memory *memory, const char *hash)
{
    const struct template_answer *known = &memory->template_answer;
    bool is_known = str_eq(known->hash, hash);
    if (is_known && known->verdict == TEMPLATE_TAKEN)
        return -1;
    if (!is_known || !memory->template_asked_ms)
        return 0;
    int64_t pause_ms = known->verdict == TEMPLATE_UNKNOWN ? TEMPLATE_UNKNOWN_RETRY_MS : TEMPLATE_REFUSED_RETRY_MS;
    return MAX_OF(0, memory->template_asked_ms + pause_ms - clock_monotonic_ms());
}

int64_t template_ask(
    const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    char hash[17];
    if (!may_ask(snapshot))
        return 0;
    desired_template_hash(snapshot, hash);
    int64_t rest = rest_ms(memory, hash);
    if (rest != 0)
        return MAX_OF(0, rest);
    memory->template_asked_ms = clock_monotonic_ms();
    if (!str_eq(memory->template_answer.hash, hash)) { /* asked, and not answered yet */
        memory->template_answer = (struct template_answer){.verdict = TEMPLATE_UNKNOWN};
        memcpy(memory->template_answer.hash, hash, sizeof(hash));
    }
    _cleanup_(json_decrefp) json_t *pod = desired_trial_pod(snapshot);
    const struct api_question question = {.resource = asker->pods,
        .object = pod,
        .answer = take_answer,
        .about = xmemdup(hash, sizeof(hash)),
        .free_about = free};
    api_ask(asker, snapshot->ns, snapshot->name, snapshot->uid, &question);
    return TEMPLATE_UNKNOWN_RETRY_MS;
}
