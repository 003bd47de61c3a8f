/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mysql_terminal.h: MysqlTerminal.spec, read and checked; its status.
 *
 * Same life cycle as mysql_cluster.h: pointers are owned by `document` (or borrowed from the caller: ns, name).
 */
#ifndef KM_MYSQL_TERMINAL_H
#define KM_MYSQL_TERMINAL_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"
#include "operator/api/names.h"
#include "operator/kube/kube_condition.h"

struct mysql_terminal {
    json_t *document;
    const char *ns, *name;
    const char *cluster_name;      /* never NULL after a successful parse */
    const char *cluster_namespace; /* the terminal's own by default */
    const json_t *pod_template;    /* {metadata, spec}; NULL: none */
};

int mysql_terminal_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_terminal *ret, struct api_problems *problems);
void mysql_terminal_release(struct mysql_terminal *terminal);

/* ---- status ---- */
struct terminal_status {
    int64_t observed_generation;
    char pod[DERIVED_NAME_SIZE];    /* "" until it exists */
    char secret[DERIVED_NAME_SIZE]; /* "" until it exists */
    char service[256];              /* host that it connects to */
    bool ready;
    struct kube_conditions conditions; /* CONDITION_ACCEPTED, CONDITION_AVAILABLE of cluster_status.h */
};
json_t *terminal_status_encode(const struct terminal_status *status);
/* Absent or malformed members get zero values. NULL is fine. */
void terminal_status_decode(const json_t *json, struct terminal_status *ret);
bool terminal_status_same(const struct terminal_status *a, const struct terminal_status *b);

#endif
