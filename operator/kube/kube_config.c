/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_config.h"

#include <ctype.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/strvec.h"
#include "common/tls.h"
#include "operator/kube/yaml_json.h"

void kube_config_release(struct kube_config *config)
{
    free(config->server);
    free(config->ca_pem);
    free(config->client_cert_pem);
    secret_free(config->client_key_pem);
    secret_free(config->token);
    free(config->token_file);
    free(config->default_namespace);
    free(config->tls_server_name);
    *config = (struct kube_config){.server = NULL};
}

/* ---- the three lists of a kubeconfig ---- */

struct parse {
    const json_t *root;
    const char *base_dir;
    struct kube_config *config;
    struct error *err;
};

/* The entry of contexts/clusters/users with this name; *ret_path becomes "contexts[1].context". */
static const json_t *find_entry(
    const struct parse *parse, const char *list, const char *member, const char *name, struct strbuf *ret_path)
{
    const json_t *array = NULL;
    if (json_want_array(parse->root, list, &array, parse->err) < 0)
        return NULL;
    size_t i;
    const json_t *entry;
    json_array_foreach((json_t *)(uintptr_t)array, i, entry) {
        if (!str_eq(json_string_value(json_object_get(entry, "name")), name))
            continue;
        strbuf_addf(ret_path, "%s[%zu].%s", list, i, member);
        const json_t *value = json_object_get(entry, member);
        if (json_is_object(value))
            return value;
        error_set(parse->err, ERROR_INVALID, "%s: missing, or not an object", ret_path->buf);
        return NULL;
    }
    error_set(parse->err, ERROR_INVALID, "%s: no entry is named \"%s\"", list, name);
    return NULL;
}

/* json_want_str whose error names the path from the top of the file; empty is as absent. */
static int want_str(const struct parse *parse, const json_t *object, const char *path, const char *key, const char **ret)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return error_set(parse->err, ERROR_INVALID, "%s.%s: must be a string", path, key);
    if (json_string_length(value) > 0)
        *ret = json_string_value(value);
    return 0;
}

static char *resolve(const struct parse *parse, const char *file)
{
    if (*file == '/' || str_empty(parse->base_dir))
        return xstrdup(file);
    return xasprintf("%s/%s", parse->base_dir, file);
}

static int read_file(const char *path, char **ret, struct error *err)
{
    struct strbuf text;
    strbuf_init(&text, FS_READ_MAX);
    if (fs_read_file(path, &text, err) < 0) {
        strbuf_release_secret(&text);
        return -1;
    }
    *ret = strbuf_detach(&text, NULL);
    return 0;
}

/* KEY-data (base64) before KEY (a file), as kubectl. Leaves *ret alone if neither is there. */
static int want_blob(const struct parse *parse, const json_t *object, const char *path, const char *key, char **ret)
{
    _cleanup_(freep) char *data_key = xasprintf("%s-data", key);
    const char *data = NULL;
    const char *file = NULL;
    if (want_str(parse, object, path, data_key, &data) < 0 || want_str(parse, object, path, key, &file) < 0)
        return -1;
    if (data) {
        size_t len;
        char *text = tls_base64_decode(data, strlen(data), &len, parse->err);
        if (!text)
            return error_prefix(parse->err, "%s.%s", path, data_key);
        *ret = text;
        return 0;
    }
    if (!file)
        return 0;
    _cleanup_(freep) char *full = resolve(parse, file);
    if (read_file(full, ret, parse->err) < 0)
        return error_prefix(parse->err, "%s.%s", path, key);
    return 0;
}

static int set_server(const struct parse *parse, const char *path, const char *server)
{
    if (!server)
        return error_set(parse->err, ERROR_INVALID, "%s.server: missing", path);
    if (!str_starts_with(server, "https://") && !str_starts_with(server, "http://"))
        return error_set(parse->err, ERROR_INVALID, "%s.server: must begin with https:// or http://", path);
    char *copy = xstrdup(server);
    for (size_t len = strlen(copy); len > 0 && copy[len - 1] == '/';)
        copy[--len] = '\0';
    parse->config->server = copy;
    return 0;
}

static int parse_cluster(const struct parse *parse, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf path;
    strbuf_init(&path, KM_KIB);
    const json_t *cluster = find_entry(parse, "clusters", "cluster", name, &path);
    if (!cluster)
        return -1;
    const char *server = NULL;
    const char *server_name = NULL;
    const char *proxy = NULL;
    if (want_str(parse, cluster, path.buf, "server", &server) < 0 || set_server(parse, path.buf, server) < 0 ||
        want_str(parse, cluster, path.buf, "tls-server-name", &server_name) < 0 ||
        want_str(parse, cluster, path.buf, "proxy-url", &proxy) < 0 ||
        want_blob(parse, cluster, path.buf, "certificate-authority", &parse->config->ca_pem) < 0)
        return -1;
    if (proxy)
        return error_set(parse->err, ERROR_INVALID, "%s.proxy-url: proxies are not supported", path.buf);
    const json_t *insecure = json_object_get(cluster, "insecure-skip-tls-verify");
    if (insecure && !json_is_boolean(insecure))
        return error_set(parse->err, ERROR_INVALID, "%s.insecure-skip-tls-verify: must be true or false", path.buf);
    parse->config->insecure_skip_verify = json_is_true(insecure);
    parse->config->tls_server_name = xstrdup(server_name);
    return 0;
}

static const struct {
    const char *key;
    const char *advice;
} refused_users[] = {
    {"exec", "exec plugins are not run; use a token, a tokenFile or a client certificate"},
    {"auth-provider", "auth-provider plugins are not run; use a token, a tokenFile or a client certificate"},
    {"username", "passwords are not supported; use a token, a tokenFile or a client certificate"},
    {"password", "passwords are not supported; use a token, a tokenFile or a client certificate"},
    {"as", "impersonation is not supported"},
    {"as-groups", "impersonation is not supported"},
    {"as-uid", "impersonation is not supported"},
    {"as-user-extra", "impersonation is not supported"},
};

static int refuse_unknown_ways(const struct parse *parse, const json_t *user, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(refused_users); i++) {
        const json_t *value = json_object_get(user, refused_users[i].key);
        if (value && !json_is_null(value))
            return error_set(
                parse->err, ERROR_INVALID, "%s.%s: %s", path, refused_users[i].key, refused_users[i].advice);
    }
    return 0;
}

static int check_pair(const struct parse *parse, const char *path)
{
    const struct kube_config *config = parse->config;
    if (!config->client_cert_pem == !config->client_key_pem)
        return 0;
    return error_set(parse->err, ERROR_INVALID, "%s: client-certificate and client-key belong together, %s is missing",
        path, config->client_key_pem ? "client-certificate" : "client-key");
}

static int parse_user(const struct parse *parse, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf path;
    strbuf_init(&path, KM_KIB);
    const json_t *user = find_entry(parse, "users", "user", name, &path);
    if (!user)
        return -1;
    const char *token = NULL;
    const char *token_file = NULL;
    struct kube_config *config = parse->config;
    if (refuse_unknown_ways(parse, user, path.buf) < 0 ||
        want_blob(parse, user, path.buf, "client-certificate", &config->client_cert_pem) < 0 ||
        want_blob(parse, user, path.buf, "client-key", &config->client_key_pem) < 0 ||
        check_pair(parse, path.buf) < 0 || want_str(parse, user, path.buf, "token", &token) < 0 ||
        want_str(parse, user, path.buf, "tokenFile", &token_file) < 0)
        return -1;
    if (token_file) /* it wins over token, as in client-go */
        config->token_file = resolve(parse, token_file);
    else
        config->token = xstrdup(token);
    return 0;
}

static int parse_context(const struct parse *parse, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf path;
    strbuf_init(&path, KM_KIB);
    if (str_empty(name))
        return error_set(parse->err, ERROR_INVALID, "current-context: missing, and no context was chosen");
    const json_t *context = find_entry(parse, "contexts", "context", name, &path);
    if (!context)
        return -1;
    const char *cluster = NULL;
    const char *user = NULL;
    const char *ns = NULL;
    if (want_str(parse, context, path.buf, "cluster", &cluster) < 0 ||
        want_str(parse, context, path.buf, "user", &user) < 0 ||
        want_str(parse, context, path.buf, "namespace", &ns) < 0)
        return -1;
    if (!cluster)
        return error_set(parse->err, ERROR_INVALID, "%s.cluster: missing", path.buf);
    parse->config->default_namespace = xstrdup(ns ? ns : "default");
    if (parse_cluster(parse, cluster) < 0 || (user && parse_user(parse, user) < 0))
        return error_prefix(parse->err, "context \"%s\"", name);
    return 0;
}

int kube_config_parse(
    const char *yaml, size_t len, const char *base_dir, const char *context, struct kube_config *ret, struct error *err)
{
    _cleanup_(json_decrefp) json_t *root = yaml_to_json(yaml, len, err);
    if (!root)
        return -1;
    if (!json_is_object(root))
        return error_set(err, ERROR_INVALID, "not a kubeconfig: the top level is not an object");
    struct error own_err = ERROR_INIT;
    struct kube_config config = {.server = NULL};
    const struct parse parse = {.root = root, .base_dir = base_dir, .config = &config, .err = err ? err : &own_err};
    const char *current = NULL;
    if (!context && want_str(&parse, root, "kubeconfig", "current-context", &current) < 0)
        return -1;
    if (parse_context(&parse, context ? context : current) < 0) {
        kube_config_release(&config);
        return -1;
    }
    *ret = config;
    return 0;
}

/* ---- where it comes from ---- */

int kube_config_load_file(const char *path, const char *context, struct kube_config *ret, struct error *err)
{
    struct strbuf text;
    strbuf_init(&text, FS_READ_MAX);
    _cleanup_(freep) char *dir = NULL;
    const char *slash = strrchr(path, '/');
    dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    int rc = fs_read_file(path, &text, err);
    if (rc == 0)
        rc = kube_config_parse(text.buf, text.len, dir, context, ret, err);
    strbuf_release_secret(&text);
    return rc < 0 ? error_prefix(err, "kubeconfig %s", path) : 0;
}

static char *in_cluster_server(struct error *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (str_empty(host) || str_empty(port)) {
        error_set(
            err, ERROR_NOT_FOUND, "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
        return NULL;
    }
    return xasprintf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
}

static void trim(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
}

int kube_config_load_in_cluster(const char *dir, struct kube_config *ret, struct error *err)
{
    dir = dir ? dir : KUBE_SERVICE_ACCOUNT_DIR;
    struct kube_config config = {.server = in_cluster_server(err)};
    if (!config.server)
        return -1;
    _cleanup_(freep) char *ca_file = xasprintf("%s/ca.crt", dir);
    _cleanup_(freep) char *namespace_file = xasprintf("%s/namespace", dir);
    config.token_file = xasprintf("%s/token", dir);
    char *token = NULL;
    if (read_file(ca_file, &config.ca_pem, err) < 0 || read_file(config.token_file, &token, err) < 0) {
        kube_config_release(&config);
        return error_prefix(err, "service account");
    }
    secret_free(token); /* only to fail early: the client reads it when it is used */
    if (read_file(namespace_file, &config.default_namespace, NULL) < 0)
        config.default_namespace = xstrdup("default");
    trim(config.default_namespace);
    *ret = config;
    return 0;
}

static int load_first_of(const char *list, const char *context, struct kube_config *ret, struct error *err)
{
    struct strvec files;
    strvec_init(&files);
    strvec_split(&files, list, ":");
    int rc = error_set(err, ERROR_NOT_FOUND, "KUBECONFIG=%s: no such file", list);
    for (size_t i = 0; i < files.n; i++) {
        if (!fs_exists(files.v[i]))
            continue;
        rc = kube_config_load_file(files.v[i], context, ret, err);
        break;
    }
    strvec_release(&files);
    return rc;
}

int kube_config_load(const char *path, const char *context, struct kube_config *ret, struct error *err)
{
    if (path)
        return kube_config_load_file(path, context, ret, err);
    const char *list = getenv("KUBECONFIG");
    if (!str_empty(list))
        return load_first_of(list, context, ret, err);
    if (!str_empty(getenv("KUBERNETES_SERVICE_HOST")))
        return kube_config_load_in_cluster(NULL, ret, err);
    const char *home = getenv("HOME");
    if (str_empty(home))
        return error_set(
            err, ERROR_NOT_FOUND, "no kubeconfig: neither KUBECONFIG nor HOME is set, and not in a cluster");
    _cleanup_(freep) char *file = xasprintf("%s/.kube/config", home);
    return kube_config_load_file(file, context, ret, err);
}
