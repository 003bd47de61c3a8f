/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/app_projections.h"

#include "common/json.h"
#include "operator/api/object_pieces.h"

static struct kube_object *project_app(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct pieces pieces = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    pieces_add_string(&pieces, offsetof(struct app_object, ns), meta.ns, KUBE_LABEL_MAX);
    pieces_add_string(&pieces, offsetof(struct app_object, uid), meta.uid, KUBE_NAME_MAX);
    pieces_add_object(&pieces, offsetof(struct app_object, spec), json_slice_member(object, "spec"));
    pieces_add_object(&pieces, offsetof(struct app_object, status), json_slice_member(object, "status"));
    struct app_object *ret = pieces_build(&pieces, sizeof(*ret), &meta);
    ret->name = pieces_name(&ret->object);
    ret->object.digest = kube_object_digest(object);
    return &ret->object;
}

static struct kube_object *project_deployment(struct json_slice object, struct error *err)
{
    struct kube_meta meta;
    struct pieces pieces = {.count = 0};
    if (kube_meta_scan(object, &meta, err) < 0)
        return NULL;
    pieces_add_object(&pieces, offsetof(struct deployment_object, status), json_slice_member(object, "status"));
    struct deployment_object *ret = pieces_build(&pieces, sizeof(*ret), &meta);
    ret->object.digest = kube_object_digest(object);
    return &ret->object;
}

bool deployment_gave_up(const json_t *progressing)
{
    return str_eq(json_path_str(progressing, "reason", NULL), DEPLOYMENT_GAVE_UP);
}

json_t *app_projection_parse(const char *text)
{
    return *text ? json_parse(text, strlen(text), NULL) : NULL;
}

const struct kube_projection projection_app = {.project = project_app};
const struct kube_projection projection_deployment = {.project = project_deployment};
