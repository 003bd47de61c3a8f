/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/roll_before.h"

/* A time that older clients put there is no part of a template. */
static char *template_text(const json_t *set)
{
    json_t *template = json_deep_copy(json_path(set, "spec.template"));
    json_object_del(json_object_get(template, "metadata"), "creationTimestamp");
    char *text = template ? json_text(template) : NULL;
    json_decref(template);
    return text;
}

static const char *annotation_of(const json_t *object, const char *name)
{
    return str_or_empty(json_string_value(json_object_get(json_path(object, "metadata.annotations"), name)));
}

json_t *desired_before(const struct cluster_snapshot *snapshot)
{
    char name[DERIVED_NAME_SIZE], now[CLOCK_RFC3339_SIZE];
    roll_before_name(snapshot, name);
    clock_format_rfc3339(snapshot->now_ms, now);
    json_t *object = desired_object(snapshot, "v1", "ConfigMap", name);
    json_put(object, "data", json_build("{s:s, s:s}", "version", cluster_data_version(snapshot), "kept", now));
    return object;
}

json_t *desired_before_fill(const json_t *draft, const json_t *set, const json_t *config_map)
{
    _cleanup_(freep) char *template = template_text(set);
    const char *mycnf = json_string_value(json_object_get(json_object_get(config_map, "data"), "my.cnf"));
    if (!template || str_empty(mycnf))
        return NULL;
    json_t *object = json_deep_copy(draft);
    json_t *data = json_object_get(object, "data");
    json_put_str(data, "template.json", template);
    json_put_str(data, "my.cnf", mycnf);
    json_put_str(data, "applied-hash", annotation_of(set, ANNOTATION_APPLIED_HASH));
    json_put_str(data, "applied-template", annotation_of(set, ANNOTATION_APPLIED_TEMPLATE));
    return object;
}
