/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/roll_before.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/tls.h"

void roll_hash(const char *runtime, const char *template_hash, char out[static 17])
{
    out[0] = '\0';
    if (str_empty(runtime) || str_empty(template_hash))
        return;
    uint64_t hash = hash64(HASH64_INIT, runtime, strlen(runtime) + 1);
    hash = hash64(hash, template_hash, strlen(template_hash) + 1);
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
}

void roll_live_hash(const struct cluster_snapshot *snapshot, char out[static 17])
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    roll_hash(set ? set->applied_hash : "", set ? set->applied_template : "", out);
}

void roll_before_name(const struct cluster_snapshot *snapshot, char out[static DERIVED_NAME_SIZE])
{
    snprintf(out, DERIVED_NAME_SIZE, "%s-before", snapshot->names.stateful_set);
}

static const char *datum(const json_t *config_map, const char *key)
{
    return str_or_empty(json_string_value(json_object_get(json_object_get(config_map, "data"), key)));
}

struct roll_before *roll_before_read(const json_t *config_map)
{
    const char *text = datum(config_map, "template.json"), *mycnf = datum(config_map, "my.cnf");
    json_t *template = json_parse(text, strlen(text), NULL);
    if (!json_is_object(template) || str_empty(mycnf)) {
        json_decref(template);
        return NULL;
    }
    struct roll_before *before = xnew(struct roll_before);
    *before = (struct roll_before){.template = template, .mycnf = xstrdup(mycnf)};
    snprintf(before->runtime, sizeof(before->runtime), "%s", datum(config_map, "applied-hash"));
    snprintf(before->template_hash, sizeof(before->template_hash), "%s", datum(config_map, "applied-template"));
    snprintf(before->version, sizeof(before->version), "%s", datum(config_map, "version"));
    if (clock_parse_rfc3339(datum(config_map, "kept"), &before->kept_ms) < 0)
        before->kept_ms = 0;
    roll_hash(before->runtime, before->template_hash, before->hash);
    tls_sha256_hex(mycnf, strlen(mycnf), before->mycnf_hash);
    return before;
}

void roll_before_free(struct roll_before *before)
{
    if (!before)
        return;
    json_decref(before->template);
    free(before->mycnf);
    free(before);
}

const char *roll_before_image(const struct roll_before *before)
{
    size_t i;
    const json_t *container;
    json_array_foreach(json_path(before->template, "spec.containers"), i, container) {
        if (str_eq(json_path_str(container, "name", ""), CONTAINER_MYSQL))
            return json_path_str(container, "image", "");
    }
    return "";
}
