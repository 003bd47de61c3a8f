/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/pod_question.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/pod_refusal.h"

struct question {
    struct pod_asker asker;
    char *key, *uid, *ns;
    uint64_t serial;
    json_t *pod; /* asked for after the claim; NULL: it was asked for */
};

static void question_free(struct question *question)
{
    json_decref(question->pod);
    free(question->key);
    free(question->uid);
    free(question->ns);
    free(question);
}

/* NULL: the cluster is another one, or another pod is missing by now. */
static struct pod_question_memory *find_memory(const struct question *question)
{
    struct cluster_memory *memory = cluster_memories_find(question->asker.memories, question->key);
    bool is_same = memory && str_eq(memory->uid, question->uid) && memory->pod_question.is_asked &&
        memory->pod_question.serial == question->serial;
    return is_same ? &memory->pod_question : NULL;
}

/* An answer that tells nothing, as of a server that is overloaded, leaves what was known. */
static void take_answer(const struct question *question, struct pod_question_memory *memory, const struct error *err)
{
    bool is_refused = pod_refusal_is(err);
    const char *words = is_refused ? err->message : NULL;
    memory->is_asked = false;
    bool tells = !err || err->kind == ERROR_EXISTS || is_refused; /* the second: it was made meanwhile */
    if (!tells || str_eq(memory->refusal, words))
        return;
    free(memory->refusal);
    memory->refusal = words ? xstrdup(words) : NULL;
    question->asker.changed(question->asker.arg, question->key);
}

static void on_answer(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct question *question = arg;
    struct pod_question_memory *memory = find_memory(question);
    _cleanup_(json_decrefp) json_t *pod = steal_ptr(question->pod);
    if (memory && pod && (!err || err->kind == ERROR_EXISTS)) {
        kube_try_create(question->asker.client, question->asker.pods, question->ns, pod, on_answer, question);
        return;
    }
    if (memory)
        take_answer(question, memory, err);
    question_free(question);
}

int64_t pod_question_due_ms(struct pod_question_memory *question, const struct cluster_member *suspect, int64_t now_ms)
{
    uint64_t serial = question->serial;
    if (!suspect || (question->since_ms && question->ordinal != suspect->ordinal)) {
        free(question->refusal);
        *question = (struct pod_question_memory){.serial = serial + question->is_asked};
    }
    if (!suspect)
        return -1;
    if (!question->since_ms) {
        question->since_ms = now_ms;
        question->ordinal = suspect->ordinal;
    }
    int64_t due_ms = question->asked_ms ? question->asked_ms + POD_ASK_AGAIN_MS : question->since_ms + POD_ASK_AFTER_MS;
    return MAX_OF(0, due_ms - now_ms);
}

int64_t pod_ask(const struct pod_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    int64_t now_ms = clock_monotonic_ms();
    struct pod_question_memory *known = &memory->pod_question;
    const struct cluster_member *member = pod_refusal_suspect(snapshot);
    int64_t due_ms = pod_question_due_ms(known, member, now_ms);
    if (due_ms != 0)
        return MAX_OF(0, due_ms);
    known->asked_ms = now_ms;
    if (known->is_asked)
        return POD_ASK_AGAIN_MS;
    known->is_asked = true;
    known->serial++;
    struct question *question = xnew(struct question);
    *question = (struct question){.asker = *asker,
        .key = kube_key(snapshot->ns, snapshot->name),
        .uid = xstrdup(snapshot->uid),
        .ns = xstrdup(snapshot->ns),
        .serial = known->serial};
    _cleanup_(json_decrefp) json_t *pod = desired_member_pod(snapshot, member);
    _cleanup_(json_decrefp) json_t *claim = member->claim ? NULL : desired_member_claim(snapshot, member);
    if (claim)
        question->pod = json_incref(pod);
    kube_try_create(
        asker->client, claim ? asker->claims : asker->pods, snapshot->ns, claim ? claim : pod, on_answer, question);
    return POD_ASK_AGAIN_MS;
}
