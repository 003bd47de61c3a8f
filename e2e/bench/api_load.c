/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_load.c: sends requests to the API server as fast as it takes them, or one by one. Helper of the benchmarks; built
 * by lib.sh.
 *
 *   api_load FILE [IN_FLIGHT]     KUBECONFIG says where
 *
 * Each line of FILE is METHOD, TAB, path with query, TAB, body (JSON on one line). An apply is a PATCH. SLEEP, TAB,
 * milliseconds: a pause (with IN_FLIGHT 1). IN_FLIGHT requests (64) share one HTTP/2 connection; nothing is parsed, so
 * this is as little work as a client can do. Prints "SENT FAILED MILLISECONDS CPU_MILLISECONDS"; the first failures go
 * to standard error.
 */
#include "common/base.h"

#include <time.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_client.h"
#include "operator/kube/kube_config.h"

struct load {
    struct loop *loop;
    struct http_client *http;
    struct http_tls *tls;
    const struct kube_config *config;
    FILE *lines;
    char *line;
    size_t line_size;
    struct loop_timer pause;
    int in_flight, sent, failed;
};

static void start_next(struct load *load);

static void on_pause(void *arg)
{
    start_next(arg);
}

static void on_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct load *load = arg;
    load->in_flight--;
    bool good = !err && response->status >= 200 && response->status < 300;
    if (!good && load->failed++ < 3)
        fprintf(stderr, "api_load: %d %s\n", response->status, err ? err->message : response->body);
    start_next(load);
}

static void send_request(struct load *load, const char *method, const char *path, const char *body)
{
    _cleanup_(freep) char *url = xasprintf("%s%s", load->config->server, path);
    const char *type = str_eq(method, "PATCH")
        ? (strstr(path, "force=true") ? "Content-Type: application/apply-patch+yaml"
                                      : "Content-Type: application/merge-patch+json")
        : "Content-Type: application/json";
    const char *const headers[] = {"Accept: application/json", type, "User-Agent: kube-load", NULL};
    const struct http_request_options options = {
        .method = method,
        .url = url,
        .headers = headers,
        .bearer_token = load->config->token,
        .body = body,
        .body_len = strlen(body),
        .tls = load->tls,
        .timeout_ms = 60000,
        .done = on_done,
        .arg = load,
    };
    load->in_flight++;
    load->sent++;
    http_client_start(load->http, &options);
}

static void start_next(struct load *load)
{
    ssize_t len = getline(&load->line, &load->line_size, load->lines);
    if (len <= 0) {
        if (load->in_flight == 0)
            loop_stop(load->loop);
        return;
    }
    char *rest = load->line;
    load->line[strcspn(load->line, "\n")] = '\0';
    const char *method = strsep(&rest, "\t");
    const char *path = strsep(&rest, "\t");
    if (str_eq(method, "SLEEP"))
        loop_timer_arm(&load->pause, path ? strtol(path, NULL, 10) : 0);
    else
        send_request(load, method, path ? path : "/", rest ? rest : "");
}

static int run(struct load *load, int in_flight)
{
    int64_t start_us = clock_monotonic_us();
    for (int i = 0; i < in_flight; i++)
        start_next(load);
    loop_run(load->loop);
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("%d %d %lld %lld\n", load->sent, load->failed, (long long)(clock_monotonic_us() - start_us) / 1000,
        (long long)cpu.tv_sec * 1000 + cpu.tv_nsec / 1000000);
    return load->failed ? 1 : 0;
}

static struct http_tls *tls_from(const struct kube_config *config)
{
    const struct http_tls_options options = {
        .ca_pem = config->ca_pem, .cert_pem = config->client_cert_pem, .key_pem = config->client_key_pem};
    return http_tls_new(&options);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct kube_config config;
    struct load load = {.config = &config};
    if (argc < 2 || !(load.lines = fopen(argv[1], "re")) || kube_config_load(NULL, NULL, &config, &err) < 0) {
        fprintf(stderr, "api_load FILE [IN_FLIGHT]: %s\n", err.message);
        return 2;
    }
    load.loop = loop_new();
    load.http = http_client_new(load.loop);
    load.tls = tls_from(&config);
    loop_timer_init(&load.pause, load.loop, on_pause, &load);
    int rc = run(&load, argc > 2 ? (int)strtol(argv[2], NULL, 10) : 64);
    loop_timer_release(&load.pause);
    http_client_free(load.http);
    http_tls_unref(load.tls);
    loop_free(load.loop);
    kube_config_release(&config);
    free(load.line);
    fclose(load.lines);
    return rc;
}
