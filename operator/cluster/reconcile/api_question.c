/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/api_question.h"

#include "common/alloc.h"

struct asked {
    struct list_node node; /* of cluster_memories.questions */
    struct api_asker asker;
    char *key, *uid;
    bool is_reading;
    api_answer_fn answer;
    void *about;
    void (*free_about)(void *about);
};

static void asked_free(struct asked *asked)
{
    list_remove(&asked->node);
    if (asked->about)
        asked->free_about(asked->about);
    free(asked->key);
    free(asked->uid);
    free(asked);
}

static void on_answer(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct asked *asked = arg;
    struct cluster_memory *memory = cluster_memories_find(asked->asker.memories, asked->key);
    bool is_same = memory && str_eq(memory->uid, asked->uid);
    if (is_same && !asked->is_reading)
        cluster_memory_note_write(memory, err);
    if (is_same && asked->answer(&asked->asker, memory, asked->about, err))
        asked->asker.changed(asked->asker.arg, asked->key);
    asked_free(asked);
}

void api_ask(const struct api_asker *asker, const char *ns, const char *name, const char *uid,
    const struct api_question *question)
{
    struct asked *asked = xnew(struct asked);
    *asked = (struct asked){.asker = *asker,
        .key = kube_key(ns, name),
        .uid = xstrdup(uid),
        .is_reading = !question->object,
        .answer = question->answer,
        .about = question->about,
        .free_about = question->free_about};
    list_push_back(&asker->memories->questions, &asked->node);
    if (question->object)
        kube_try_create(asker->client, question->resource, ns, question->object, on_answer, asked);
    else
        kube_get(asker->client, question->resource, NULL, question->read, on_answer, asked);
}

void api_questions_forget(struct cluster_memories *memories)
{
    struct list_node *node;
    while ((node = list_next(&memories->questions)) != &memories->questions)
        asked_free(container_of(node, struct asked, node));
}
