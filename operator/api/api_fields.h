/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_fields.h: our kinds' fields as tables: type, bounds, allowed values.
 *
 * One checker reads the tables; a test holds them against the CRDs in both directions, so no field is silently ignored
 * and the operator refuses what the API server refuses (an older CRD or a server that skipped validation changes
 * nothing).
 * Paths are relative to the checked object. "[]" behind a name: every element of an array; "{}": every value of a map.
 */
#ifndef KM_API_FIELDS_H
#define KM_API_FIELDS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"

enum api_type {
    API_STRING,
    API_INTEGER,
    API_BOOLEAN,
    API_OBJECT,   /* its members are rows of the table */
    API_ARRAY,    /* its elements are the row with "[]" */
    API_MAP,      /* any keys; its values are the row with "{}", or anything when there is none */
    API_OPAQUE,   /* an object of Kubernetes itself, checked there (pod spec, volume source) */
    API_QUANTITY, /* string or number, as "10Gi" */
    API_SCALAR,   /* string, number, boolean: an option's value */
};

struct api_field {
    const char *path;
    enum api_type type;
    bool required;      /* within its parent, if that is there */
    int64_t min, max;   /* API_INTEGER: bounds; API_STRING: length; API_ARRAY, API_MAP: max elements; both 0: none */
    const char *values; /* API_STRING: the allowed ones, "Retain|Delete"; NULL: any */
    /* API_STRING: says what is wrong with a value, or NULL if nothing. May be NULL. */
    const char *(*check)(const char *value);
};

/* `fields` ends with a row whose path is NULL. `prefix` goes before paths in problems ("spec"). null members count as
 * absent. */
void api_fields_check(
    const json_t *object, const char *prefix, const struct api_field *fields, struct api_problems *problems);

extern const struct api_field mysql_config_fields[]; /* of MysqlConfig.spec, and of MysqlCluster.spec.config.spec */
extern const struct api_field mysql_cluster_fields[]; /* of MysqlCluster.spec; below config.spec see mysql_config_fields */
extern const struct api_field backup_spec_fields[]; /* the rows of mysql_cluster_fields below "backup", by themselves */
extern const struct api_field mysql_terminal_fields[];
extern const struct api_field mysql_backup_fields[];
extern const struct api_field config_map_sync_fields[];
extern const struct api_field app_fields[];

#endif
