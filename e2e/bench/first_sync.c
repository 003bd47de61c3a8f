/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_sync.c: helper of first_sync.sh. Built against the operator's libraries.
 *
 *   first_sync make N      creates N Pods in the namespace "bench" (those that are there stay)
 *   first_sync sync        one informer over all Pods: prints "MS OBJECTS RSS_KIB PEAK_KIB RSS_BEFORE_KIB"
 */
#include "common/base.h"

#include <malloc.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/log.h"
#include "operator/api/projections.h"
#include "operator/kube/informer.h"

struct bench {
    struct loop *loop;
    struct kube_client *client;
    int left;
    int failed;
    int64_t synced_us;
};

static long status_kib(const char *field)
{
    struct strbuf text;
    strbuf_init(&text, 64 * KM_KIB);
    long value = 0;
    if (fs_read_file("/proc/self/status", &text, NULL) == 0) {
        const char *at = strstr(text.buf, field);
        value = at ? strtol(at + strlen(field), NULL, 10) : 0;
    }
    strbuf_release(&text);
    return value;
}

/* ---- make ---- */

static void on_created(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    struct bench *bench = arg;
    if (err && err->kind != ERROR_EXISTS && bench->failed++ < 3)
        log_error("create", LOG_ERR(err));
    if (--bench->left == 0)
        loop_stop(bench->loop);
}

static json_t *make_env(void)
{
    json_t *env = json_array();
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof(name), "KUBE_MYSQL_SETTING_%d", i);
        json_array_append_new(
            env, json_build("{s:s,s:s}", "name", name, "value", "some value as they are in real templates"));
    }
    return env;
}

/* About 6 KB as the server stores it, like a database Pod with its init container, probes and volumes. */
static json_t *make_pod(int i)
{
    char name[32];
    snprintf(name, sizeof(name), "db-%05d", i);
    json_t *containers = json_array();
    static const char *const names[] = {"mysql", "agent", "exporter"};
    for (size_t c = 0; c < ARRAY_LEN(names); c++)
        json_array_append_new(containers,
            json_build("{s:s,s:s,s:o,s:{s:{s:s,s:s}}}", "name", names[c], "image", "registry.example/mysql:8.4.1",
                "env", make_env(), "resources", "requests", "cpu", "100m", "memory", "256Mi"));
    return json_build("{s:s,s:s,s:{s:s,s:s,s:{s:s,s:s}},s:{s:o}}", "apiVersion", "v1", "kind", "Pod", "metadata",
        "name", name, "namespace", "bench", "labels", "app.kubernetes.io/managed-by", "kube-mysql",
        "kubemysql.dev/cluster", name, "spec", "containers", containers);
}

static void make_pods(struct bench *bench, int count)
{
    const struct kube_resource pods = {.kind = &kube_kind_pod, .version = "v1"};
    bench->left = count;
    for (int i = 0; i < count; i++) {
        _cleanup_(json_decrefp) json_t *pod = make_pod(i);
        kube_create(bench->client, &pods, "bench", pod, on_created, bench);
    }
    loop_run(bench->loop);
}

/* ---- sync ---- */

static void on_sync(void *arg)
{
    struct bench *bench = arg;
    bench->synced_us = clock_monotonic_us();
    loop_stop(bench->loop);
}

static void sync_pods(struct bench *bench)
{
    const struct kube_resource pods = {.kind = &kube_kind_pod, .version = "v1"};
    long before_kib = status_kib("VmRSS:");
    int64_t start_us = clock_monotonic_us();
    struct informer *informer = informer_new(bench->loop, bench->client, &pods, &projection_pod, NULL);
    informer_on_sync(informer, on_sync, bench);
    informer_start(informer);
    loop_run(bench->loop);
    for (int i = 0; i < 20; i++) /* the watch is open, buffers of the list are gone */
        loop_run_once(bench->loop, 20);
    printf("%.1f %zu %ld %ld %ld\n", (double)(bench->synced_us - start_us) / 1e3, store_count(informer_store(informer)),
        status_kib("VmRSS:"), status_kib("VmHWM:"), before_kib);
    informer_free(informer);
}

int main(int argc, char **argv)
{
    struct bench bench = {.left = 0};
    struct kube_config config;
    struct error err = ERROR_INIT;
    const struct kube_client_options options = {.qps = 5000, .burst = 5000};
    log_setup(LOG_WARN, LOG_FORMAT_TEXT, 2);
    if (argc < 2 || kube_config_load(NULL, NULL, &config, &err) < 0) {
        fprintf(stderr, "first_sync: %s\n", argc < 2 ? "make N | sync" : err.message);
        return 2;
    }
    bench.loop = loop_new();
    struct http_client *http = http_client_new(bench.loop);
    bench.client = kube_client_new(bench.loop, http, &config, &options, &err);
    if (str_eq(argv[1], "make"))
        make_pods(&bench, argc > 2 ? (int)strtol(argv[2], NULL, 10) : 10000);
    else
        sync_pods(&bench);
    kube_client_free(bench.client);
    http_client_free(http);
    kube_config_release(&config);
    loop_free(bench.loop);
    return bench.failed ? 1 : 0;
}
