/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_client_private.h: between kube_client.c (queue, retries, streams) and kube_verbs.c (what a request looks like).
 */
#ifndef KM_KUBE_CLIENT_PRIVATE_H
#define KM_KUBE_CLIENT_PRIVATE_H

#include "common/base.h"

#include "operator/kube/kube_client.h"

/* One request as a value. kube_submit takes path and body over. */
struct kube_call {
    const char *verb;         /* "get", "apply", ...: label of metrics, static */
    const char *resource;     /* plural, or "" : label of metrics, static */
    const char *http_method;  /* static */
    const char *content_type; /* static, NULL: no body */
    char *path;               /* with the query */
    char *body;               /* may hold secrets; NULL: none */
    bool repeatable;          /* doing it twice is as doing it once */
    void (*free_arg)(void *); /* for args that live as long as the request, however it ends; NULL: none */
};

struct kube_request *kube_submit(struct kube_client *client, const struct kube_call *call, kube_done_fn done, void *arg);

/* Whether an attempt that ended like this may be made again. Pure; limits on the number of attempts are the caller's.
 * response->status is 0 when there was no answer, then err says why. */
bool kube_may_repeat(bool repeatable, const struct http_response *response, const struct error *err);

#endif
