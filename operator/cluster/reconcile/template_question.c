/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/template_question.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"

struct question {
    struct template_asker asker;
    char *key, *uid;
    char hash[17];
};

/* The texts are the API server's: of plugin/pkg/admission/resourcequota, and of webhooks that take no part in dry runs
 * (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#side-effects). That a pod
 * of this name is there it finds out last, when everything else has been taken. */
enum template_verdict template_verdict_of(const struct error *err)
{
    if (!err || err->kind == ERROR_EXISTS)
        return TEMPLATE_TAKEN;
    if (err->kind != ERROR_INVALID && err->kind != ERROR_FORBIDDEN)
        return TEMPLATE_UNKNOWN;
    if (strstr(err->message, "does not support dry run"))
        return TEMPLATE_TAKEN;
    return strstr(err->message, "exceeded quota") ? TEMPLATE_OVER_QUOTA : TEMPLATE_REFUSED;
}

static bool take_answer(struct cluster_memory *memory, const char *hash, const struct error *err)
{
    struct template_answer answer = {.verdict = template_verdict_of(err)};
    snprintf(answer.hash, sizeof(answer.hash), "%s", hash);
    if (err)
        snprintf(answer.message, sizeof(answer.message), "%.*s", (int)sizeof(answer.message) - 1, err->message);
    bool is_news = answer.verdict != memory->template_answer.verdict ||
        !str_eq(answer.hash, memory->template_answer.hash) || !str_eq(answer.message, memory->template_answer.message);
    memory->template_answer = answer;
    return is_news && answer.verdict != TEMPLATE_UNKNOWN;
}

static void on_answer(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct question *question = arg;
    const struct template_asker asker = question->asker;
    struct cluster_memory *memory = cluster_memories_find(asker.memories, question->key);
    bool is_same = memory && str_eq(memory->uid, question->uid);
    if (is_same)
        cluster_memory_note_write(memory, err);
    if (is_same && take_answer(memory, question->hash, err))
        asker.changed(asker.arg, question->key);
    free(question->key);
    free(question->uid);
    free(question);
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
    const struct template_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
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
    struct question *question = xnew(struct question);
    *question = (struct question){
        .asker = *asker, .key = kube_key(snapshot->ns, snapshot->name), .uid = xstrdup(snapshot->uid)};
    memcpy(question->hash, hash, sizeof(hash));
    json_t *pod = desired_trial_pod(snapshot);
    kube_try_create(asker->client, asker->pods, snapshot->ns, pod, on_answer, question);
    json_decref(pod);
    return TEMPLATE_UNKNOWN_RETRY_MS;
}
