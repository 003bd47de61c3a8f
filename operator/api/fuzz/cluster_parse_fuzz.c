/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the spec of each kind, as a status, and as an object that the caches project: no crash, no leak; what is
 * accepted renders. */
#include "common/base.h"

#include "common/json.h"
#include "operator/api/cluster_status.h"
#include "operator/api/memory_fit.h"
#include "operator/api/mycnf.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/mysql_terminal.h"
#include "operator/api/projections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_spec(json_t *spec)
{
    struct api_problems problems = {0};
    struct mysql_cluster cluster;
    struct mysql_terminal terminal;
    struct mysql_config_spec config = {0};
    if (mysql_cluster_parse("ns", "name", spec, &cluster, &problems) == 0 &&
        mysql_cluster_resolve(&cluster, NULL, &config, &problems) == 0 &&
        memory_fit_check(&cluster, NULL, &config, NULL, &problems) == 0) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, MYCNF_TEXT_MAX);
        const struct mycnf_terms terms = {config.memory_limit_bytes, cluster.require_tls, cluster.binlog_max_bytes};
        mycnf_render(config.mycnf, &terms, &text);
        if (strstr(text.buf, "\ndatadir"))
            abort();
    }
    mysql_config_spec_release(&config);
    mysql_cluster_release(&cluster);
    mysql_terminal_parse("ns", "name", spec, &terminal, &problems);
    mysql_terminal_release(&terminal);
}

static void fuzz_status(const json_t *json)
{
    static struct cluster_status status, again;
    cluster_status_decode(json, &status);
    json_t *encoded = cluster_status_encode(&status);
    cluster_status_decode(encoded, &again);
    if (!cluster_status_same(&status, &again))
        abort();
    json_decref(encoded);
    cluster_status_release(&status);
    cluster_status_release(&again);
}

static void fuzz_projections(const uint8_t *data, size_t size)
{
    static const struct kube_projection *const projections[] = {
        &projection_mysql_cluster, &projection_pod, &projection_pvc, &projection_stateful_set};
    struct error err = ERROR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(projections); i++)
        free(projections[i]->project((struct json_slice){(const char *)data, size}, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_parse((const char *)data, size, NULL);
    if (json) {
        fuzz_spec(json);
        fuzz_status(json);
        json_decref(json);
    }
    fuzz_projections(data, size);
    return 0;
}
