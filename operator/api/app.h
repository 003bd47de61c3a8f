/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h: App.spec, read and checked. Pure.
 *
 * Same life cycle as mysql_cluster.h: pointers are owned by `document` (or borrowed from the caller: ns, name).
 */
#ifndef KM_APP_H
#define KM_APP_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/api_problems.h"

#define APP_REPLICAS_MAX 10000
#define APP_NAME_MAX 63 /* a Service's: an RFC 1035 label */

struct app {
    json_t *document;
    const char *ns, *name;
    int64_t replicas;
    const char *image;                                         /* never NULL after a successful parse */
    const json_t *resources, *security_context, *envs, *ports; /* NULL: none */
};

int app_parse(const char *ns, const char *name, json_t *spec, struct app *ret, struct api_problems *problems);
void app_release(struct app *app);

#endif
