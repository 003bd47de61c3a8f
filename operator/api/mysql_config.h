/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mysql_config.h: MysqlConfig.spec, read: a template for a server version or implementation.
 *
 * A cluster's effective configuration is the named MysqlConfig with spec.config.spec over it, key by key
 * (mysql_config_merge). Strings and json_t pointers in the struct are owned by `document`, to which the struct holds a
 * reference. Release with mysql_config_spec_release; a zeroed struct is valid and empty.
 */
#ifndef KM_MYSQL_CONFIG_H
#define KM_MYSQL_CONFIG_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_api.h"
#include "operator/api/api_problems.h"

#define MYSQL_CONFIG_DEFAULT_UID 999 /* user mysql of the official mysql, mariadb images and ours */

struct mysql_config_spec {
    json_t *document;
    const char *image_mysql;          /* never NULL after mysql_config_resolve */
    const char *image_agent;          /* NULL: the operator's own default (its flag --agent-image) */
    const char *image_pull_policy;    /* Always, IfNotPresent, Never; NULL: Kubernetes decides */
    const json_t *image_pull_secrets; /* [{name}], NULL: none */
    enum agent_flavour flavour;       /* UNKNOWN: the agent finds out */
    const json_t *mycnf;              /* object, NULL: none; checked by mycnf_validate */
    int64_t run_as_user, run_as_group, fs_group;
    const json_t *resources;       /* of container mysql; NULL: none */
    const json_t *agent_resources; /* of container agent; NULL: the operator's defaults */
    const json_t *pod_template;    /* {metadata{labels,annotations}, spec}; NULL: none */
    int64_t memory_limit_bytes;    /* resources.limits.memory, 0: none */
};

/* Checks every field of an object of MysqlConfig.spec's form; adds problems under `prefix` ("spec", "spec.config.spec",
 * or "MysqlConfig NAME: spec"). NULL is an empty spec. images.mysql may be missing: only the merged spec must have
 * it. */
void mysql_config_check(const json_t *spec, const char *prefix, struct api_problems *problems);

/* A new document: `over` over `base`, key by key; pod templates by pod_template_merge. Either may be NULL. */
json_t *mysql_config_merge(const json_t *base, const json_t *over);

/* Reads a merged spec that passed mysql_config_check; takes its own reference to document. Defaults are filled in. */
void mysql_config_spec_read(json_t *document, struct mysql_config_spec *ret);
void mysql_config_spec_release(struct mysql_config_spec *config);

#endif
