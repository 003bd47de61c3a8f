/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/pod_question.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/pod_refusal.h"

/* The pod is asked for after the claim. */
struct about {
    uint64_t serial;
    char *ns, *name, *uid; /* of the cluster */
    json_t *pod;           /* NULL: it is what was asked for */
};

static void about_free(void *arg)
{
    struct about *about = arg;
    json_decref(about->pod);
    free(about->ns);
    free(about->name);
    free(about->uid);
    free(about);
}

static bool take_answer(
    const struct api_asker *asker, struct cluster_memory *memory, const void *arg, const struct error *err);

/* pod: NULL, it is the object itself. */
static void ask(const struct api_asker *asker, const struct about *of, const struct kube_resource *resource,
    const json_t *object, const json_t *pod)
{
    struct about *about = xnew(struct about);
    *about = (struct about){.serial = of->serial,
        .ns = xstrdup(of->ns),
        .name = xstrdup(of->name),
        .uid = xstrdup(of->uid),
        .pod = json_incref((json_t *)(uintptr_t)pod)};
    const struct api_question question = {
        .resource = resource, .object = object, .answer = take_answer, .about = about, .free_about = about_free};
    api_ask(asker, of->ns, of->name, of->uid, &question);
}

/* An answer that tells nothing, as of a server that is overloaded, leaves what was known. One that is not about the
 * claim (our rights, a webhook that takes no part in dry runs) says nothing against the pod. */
static bool take_answer(
    const struct api_asker *asker, struct cluster_memory *memory, const void *arg, const struct error *err)
{
    const struct about *about = arg;
    struct pod_question_memory *known = &memory->pod_question;
    enum pod_answer answer = pod_answer_of(err);
    bool is_refused = answer == POD_ANSWER_REFUSED || answer == POD_ANSWER_OVER_QUOTA;
    const char *words = is_refused ? err->message : NULL;
    if (!known->is_asked || known->serial != about->serial) /* another pod is missing by now */
        return false;
    if (about->pod && (answer == POD_ANSWER_TAKEN || answer == POD_ANSWER_OF_OTHERS)) {
        ask(asker, about, asker->pods, about->pod, NULL);
        return false;
    }
    known->is_asked = false;
    known->is_answered |= is_refused || answer == POD_ANSWER_TAKEN;
    if ((!is_refused && answer != POD_ANSWER_TAKEN) || str_eq(known->refusal, words))
        return false;
    free(known->refusal);
    known->refusal = words ? xstrdup(words) : NULL;
    known->stays = answer == POD_ANSWER_REFUSED;
    return true;
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

int64_t pod_ask(const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
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
    const struct about about = {.serial = known->serial,
        .ns = (char *)(uintptr_t)snapshot->ns,
        .name = (char *)(uintptr_t)snapshot->name,
        .uid = (char *)(uintptr_t)snapshot->uid};
    _cleanup_(json_decrefp) json_t *pod = desired_member_pod(snapshot, member);
    _cleanup_(json_decrefp) json_t *claim = member->claim ? NULL : desired_member_claim(snapshot, member);
    if (claim)
        ask(asker, &about, asker->claims, claim, pod);
    else
        ask(asker, &about, asker->pods, pod, NULL);
    return POD_ASK_AGAIN_MS;
}
