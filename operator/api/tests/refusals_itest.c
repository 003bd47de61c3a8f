/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of bad objects (refusals.h), judged by a real API server with the CRDs of crds/ (KM_TEST_KUBECONFIG, see
 * build-aux/run-integration.sh): by server-side dry runs, all at once. The refusal has to name the field, and where a
 * CEL rule refuses, to say its message.
 */
#include "common/base.h"

#include "operator/api/tests/refusals.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/http_client.h"
#include "common/json.h"
#include "operator/kube/kube_config.h"

#define WAIT_MS 60000
#define NAMESPACE "refusals-itest"
#define MANAGER "fieldManager=refusals-itest&force=true"
#define CASES_MAX 4000

struct server {
    struct loop *loop;
    struct http_client *http;
    struct http_tls *tls;
    struct kube_config config;
    size_t in_flight;
    int wrong;
};

struct request {
    struct server *server;
    struct refusal refusal; /* object and old are not kept */
    bool refused;
    int status;
    json_t *answer;
};

/* ---- requests ---- */

static void on_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct request *request = arg;
    struct error parse_err = ERROR_INIT;
    request->server->in_flight--;
    if (err)
        print_message("%s\n", err->message);
    request->status = response->status;
    request->answer = json_parse(response->body, response->body_len, &parse_err);
}

static void send_text(struct request *request, const char *method, const char *path, const char *type, const char *body)
{
    struct server *server = request->server;
    char url[512], content_type[96];
    snprintf(url, sizeof(url), "%s%s", server->config.server, path);
    snprintf(content_type, sizeof(content_type), "Content-Type: %s", type);
    const char *const headers[] = {"Accept: application/json", content_type, NULL};
    server->in_flight++;
    http_client_start(server->http,
        &(struct http_request_options){
            .method = method,
            .url = url,
            .headers = headers,
            .tls = server->tls,
            .bearer_token = server->config.token,
            .body = body,
            .body_len = str_empty(body) ? 0 : strlen(body),
            .timeout_ms = WAIT_MS,
            .done = on_done,
            .arg = request,
        });
}

static void send_json(struct request *request, const char *method, const char *path, const json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);
    bool patch = strcmp(method, "PATCH") == 0;
    send_text(request, method, path, patch ? "application/json-patch+json" : "application/json", text);
    free(text);
}

static void wait_all(struct server *server)
{
    int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS;
    while (server->in_flight > 0 && clock_monotonic_ms() < deadline_ms)
        loop_run_once(server->loop, 50);
    assert_int_equal(server->in_flight, 0);
}

/* One request, waited for; its HTTP status. */
static int ask(struct server *server, const char *method, const char *path, const char *type, const char *body)
{
    struct request request = {.server = server};
    send_text(&request, method, path, type, body);
    wait_all(server);
    json_decref(request.answer);
    return request.status;
}

/* ---- set-up ---- */

static const char *plural_of(const char *kind)
{
    static const char *const kinds[][2] = {{"MysqlCluster", "mysqlclusters"}, {"MysqlConfig", "mysqlconfigs"},
        {"MysqlTerminal", "mysqlterminals"}, {"MysqlBackup", "mysqlbackups"}, {"ConfigMapSync", "configmapsyncs"},
        {"App", "apps"}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i][0], kind) == 0)
            return kinds[i][1];
    }
    fail_msg("unknown kind %s", kind);
    return NULL;
}

static void install(struct server *server, const char *plural)
{
    char path[256], file[64];
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, KM_MIB);
    if (str_starts_with(plural, "mysql"))
        snprintf(file, sizeof(file), "crds/%s.yaml", plural);
    else /* opt-in: configmapsyncs of deploy/components/configmapsync */
        snprintf(file, sizeof(file), "deploy/components/%.*s/crd.yaml", (int)strlen(plural) - 1, plural);
    if (fs_read_file(file, &text, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(path, sizeof(path), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s.kubemysql.dev?" MANAGER,
        plural);
    int status = ask(server, "PATCH", path, "application/apply-patch+yaml", text.buf);
    if (status / 100 != 2)
        fail_msg("%s is answered %d", file, status);
    snprintf(path, sizeof(path), "/apis/kubemysql.dev/v1alpha1/%s?limit=1", plural);
    for (int i = 0; i < 200 && ask(server, "GET", path, "application/json", NULL) != 200; i++)
        loop_run_once(server->loop, 50);
}

static int set_up(void **state)
{
    static struct server server;
    struct error err = ERROR_INIT;
    *state = &server;
    server.loop = loop_new();
    server.http = http_client_new(server.loop);
    if (kube_config_load(getenv("KM_TEST_KUBECONFIG"), NULL, &server.config, &err) < 0)
        fail_msg("%s", err.message);
    server.tls = http_tls_new(&(struct http_tls_options){.ca_pem = server.config.ca_pem,
        .cert_pem = server.config.client_cert_pem,
        .key_pem = server.config.client_key_pem,
        .server_name = server.config.tls_server_name});
    static const char *const kinds[] = {
        "MysqlCluster", "MysqlConfig", "MysqlTerminal", "MysqlBackup", "ConfigMapSync", "App"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        install(&server, plural_of(kinds[i]));
    ask(&server, "POST", "/api/v1/namespaces", "application/json",
        "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"" NAMESPACE "\"}}");
    return 0;
}

static int tear_down(void **state)
{
    struct server *server = *state;
    ask(server, "DELETE", "/api/v1/namespaces/" NAMESPACE, "application/json", NULL);
    http_client_free(server->http);
    http_tls_unref(server->tls);
    kube_config_release(&server->config);
    loop_free(server->loop);
    return 0;
}

/* ---- what the API server says ---- */

static void path_of(char *out, size_t size, const char *kind, const char *name)
{
    const char *ns = strcmp(kind, "MysqlConfig") == 0 ? "" : "namespaces/" NAMESPACE "/";
    snprintf(out, size, "/apis/kubemysql.dev/v1alpha1/%s%s%s%s", ns, plural_of(kind), *name ? "/" : "", name);
}

struct batch {
    struct server *server;
    struct request *requests;
    size_t count;
    bool olds; /* first round: only what an update begins with */
};

static void send_case(void *arg, const struct refusal *refusal)
{
    struct batch *batch = arg;
    char path[256], name[64] = "";
    if (batch->olds && !refusal->old)
        return;
    assert_true(batch->count < CASES_MAX);
    struct request *request = &batch->requests[batch->count++];
    *request = (struct request){.server = batch->server, .refusal = *refusal};
    if (refusal->old)
        snprintf(name, sizeof(name), "old-%s-%zu", refusal->bad ? "bad" : "good", refusal->number);
    path_of(path, sizeof(path), refusal->kind, batch->olds ? "" : name);
    if (batch->olds) {
        json_put_str(json_object_get(refusal->old, "metadata"), "name", name);
        send_json(request, "POST", path, refusal->old);
        return;
    }
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "?dryRun=All&fieldValidation=Strict");
    if (!refusal->old)
        return send_json(request, "POST", path, refusal->object);
    _cleanup_(json_decrefp) json_t *patch = json_build(
        "[{s:s, s:s, s:O}]", "op", "replace", "path", "/spec", "value", json_object_get(refusal->object, "spec"));
    send_json(request, "PATCH", path, patch);
}

static bool names_field(const struct request *request)
{
    size_t i;
    const json_t *cause;
    const char *rule = json_path_str(request->refusal.row, "rule", "");
    json_array_foreach(json_path(request->answer, "details.causes"), i, cause) {
        if (str_eq(json_path_str(cause, "field", NULL), request->refusal.field) &&
            strstr(json_path_str(cause, "message", ""), rule))
            return true;
    }
    return false;
}

static void judge(struct request *request)
{
    const struct refusal *refusal = &request->refusal;
    bool good = refusal->by_server ? request->status == 422 && names_field(request) : request->status / 100 == 2;
    if (good)
        return;
    char *value = json_dumps(refusal->value, JSON_ENCODE_ANY);
    print_message("%s %s: %.100s is answered %d: %.400s\n", refusal->kind, refusal->field, value, request->status,
        json_path_str(request->answer, "message", ""));
    free(value);
    request->server->wrong++;
}

static void round_of(struct server *server, const json_t *table, bool olds)
{
    struct batch batch = {.server = server, .requests = xnew_array(struct request, CASES_MAX), .olds = olds};
    size_t refused = refusals_each(table, send_case, &batch);
    wait_all(server);
    for (size_t i = 0; i < batch.count; i++) {
        if (olds)
            assert_int_equal(batch.requests[i].status, 201);
        else
            judge(&batch.requests[i]);
        json_decref(batch.requests[i].answer);
    }
    if (!olds)
        print_message("%zu bad objects and updates, %zu good ones\n", refused, batch.count - refused);
    free(batch.requests);
}

static void server_judges_as_the_table_says(void **state)
{
    struct server *server = *state;
    json_t *table = refusals_load();
    assert_non_null(table);
    round_of(server, table, true);
    round_of(server, table, false);
    assert_int_equal(server->wrong, 0);
    json_decref(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(server_judges_as_the_table_says)};
    if (!getenv("KM_TEST_KUBECONFIG")) {
        print_message("skipped: KM_TEST_KUBECONFIG is not set\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
