/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_world.h: what tests of operator/kube share: a loop, an API double, a client, an informer of ConfigMaps.
 */
#ifndef KM_KUBE_WORLD_H
#define KM_KUBE_WORLD_H

#include "common/base.h"

#include <jansson.h>

#include "operator/kube/informer.h"
#include "operator/tests/kube_api_double.h"

#define WORLD_NS "ns1"
#define WORLD_MAPS "/api/v1/configmaps"
#define WORLD_MAPS_IN_NS "/api/v1/namespaces/" WORLD_NS "/configmaps"

struct world {
    struct loop *loop;
    struct kube_api_double *api;
    struct http_client *http;
    struct kube_config config;
    struct kube_client *client;
    struct kube_resource maps;
    struct informer *informer; /* NULL until world_start_informer */
    int added, changed, deleted;
    bool synced;
};

/* The end of one request, copied. */
struct kube_outcome {
    int count; /* how often done ran */
    struct error err;
    json_t *object;
    char *raw;
    int status;
};

/* cmocka set-up and tear-down; *state is a struct world. */
int world_set_up(void **state);
int world_tear_down(void **state);
/* Replaces the client (and frees the informer). */
void world_new_client(struct world *world, const struct kube_client_options *options);

/* Turns the loop until check says true; false after `timeout_ms`. */
bool world_run(struct world *world, bool (*check)(const struct world *world, const void *arg), const void *arg,
    int64_t timeout_ms);
void world_run_for(struct world *world, int64_t ms);

void kube_outcome_done(void *arg, const struct kube_answer *answer, const struct error *err);
/* Waits for it; returns the error kind. */
enum error_kind world_settle(struct world *world, struct kube_outcome *outcome);
void kube_outcome_release(struct kube_outcome *outcome);

json_t *world_map(const char *name, const char *value);
/* As somebody else would. */
void world_put(struct world *world, const char *name, const char *value);
void world_remove(struct world *world, const char *name);

void world_start_informer(struct world *world, const struct informer_options *options);
/* Whether the store and the API server hold the same objects in the same versions. */
bool world_in_step(const struct world *world, const void *unused);
struct kube_object *world_stored(const struct world *world, const char *name);

#endif
