/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/terminal/terminal_desired.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/pod_security.h"
#include "operator/api/pod_template.h"

#define TERMINAL_SECRET_DIR "/etc/kube-mysql/terminal"
#define TERMINAL_HOME "/home/terminal"
#define TERMINAL_HOST_MAX 1024

/* Copies the mounted file to the home, mode 0600, within a second after it has changed; ends at once when told to. */
static const char terminal_script[] =
    "umask 077; trap 'exit 0' TERM INT; from=" TERMINAL_SECRET_DIR "/my.cnf to=\"$HOME/.my.cnf\"; "
    "while :; do "
    "if [ ! -e \"$to\" ] || [ \"$from\" -nt \"$to\" ]; then "
    "cp \"$from\" \"$to.new\" && chmod 600 \"$to.new\" && mv \"$to.new\" \"$to\"; fi; "
    "sleep 1 & wait $!; "
    "done";

void terminal_host(const struct mysql_terminal *terminal, struct strbuf *out)
{
    struct cluster_names names;
    cluster_names_init(&names, terminal->cluster_name);
    strbuf_addf(out, "%s.%s.svc", names.service_primary, terminal->cluster_namespace);
}

/* https://dev.mysql.com/doc/refman/8.4/en/option-files.html: quoted values know \", \\ and \n, and end with the
 * line. */
static void add_quoted(struct strbuf *out, const char *value)
{
    strbuf_addc(out, '"');
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_addc(out, '\\');
        if (*value == '\n')
            strbuf_adds(out, "\\n");
        else
            strbuf_addc(out, *value);
    }
    strbuf_adds(out, "\"\n");
}

static const char ca_line[] = "ssl-ca=" TERMINAL_SECRET_DIR "/ca.crt";
static const char verify_mariadb[] = "ssl-verify-server-cert";
static const char verify_mysql[] = "ssl-mode=VERIFY_IDENTITY";

struct terminal_tls terminal_tls_for(const struct terminal_server *server)
{
    if (str_eq(server->flavour, "mariadb"))
        return (struct terminal_tls){true, verify_mariadb};
    if (str_empty(server->flavour) || str_empty(server->version))
        return (struct terminal_tls){.has_ca = true};
    return strtol(server->version, NULL, 10) >= 8 ? (struct terminal_tls){true, verify_mysql} : (struct terminal_tls){0};
}

static bool has_line(const char *text, const char *line)
{
    _cleanup_(freep) char *whole = xasprintf("\n%s\n", line);
    return strstr(text, whole);
}

struct terminal_tls terminal_tls_of(const char *my_cnf)
{
    const char *const options[] = {verify_mariadb, verify_mysql};
    struct terminal_tls tls = {.has_ca = has_line(my_cnf, ca_line)};
    for (size_t i = 0; i < ARRAY_LEN(options) && !tls.verify_option; i++)
        tls.verify_option = has_line(my_cnf, options[i]) ? options[i] : NULL;
    return tls;
}

/* The character set is in a group of its own: mysqlbinlog reads [client], and does not know the option. */
void terminal_my_cnf(const struct mysql_terminal *terminal, int port, const char *password,
    const struct terminal_tls *tls, struct strbuf *out)
{
    strbuf_adds(out, "[client]\nhost=");
    terminal_host(terminal, out);
    strbuf_addf(out, "\nport=%d\nuser=root\npassword=", port);
    add_quoted(out, password);
    if (tls->has_ca)
        strbuf_addf(out, "%s\n", ca_line);
    if (tls->verify_option)
        strbuf_addf(out, "%s\n", tls->verify_option);
    strbuf_adds(out, "[mysql]\ndefault-character-set=utf8mb4\n");
}

json_t *terminal_child_metadata(const struct terminal_view *view)
{
    json_t *metadata = json_object();
    json_put(metadata, "labels", terminal_labels(view->terminal->name));
    json_put(metadata, "ownerReferences",
        json_build("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", KM_API_GROUP_VERSION, "kind",
            kube_kind_mysql_terminal.kind, "name", view->terminal->name, "uid", view->uid, "controller", 1,
            "blockOwnerDeletion", 1));
    return metadata;
}

static json_t *terminal_container(const struct terminal_view *view)
{
    struct strbuf host;
    char port[16];
    strbuf_init(&host, TERMINAL_HOST_MAX);
    terminal_host(view->terminal, &host);
    snprintf(port, sizeof(port), "%d", view->port);
    json_t *container = json_build("{s:s, s:s, s:[s, s, s], s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}], s:s, s:b, s:b}",
        "name", CONTAINER_TERMINAL, "image", view->config->image_mysql, "command", "/bin/sh", "-c", terminal_script,
        "env", "name", "HOME", "value", TERMINAL_HOME, "name", "MYSQL_HOST", "value", host.buf, "name", "MYSQL_PORT",
        "value", port, "workingDir", TERMINAL_HOME, "stdin", 0, "tty", 0);
    strbuf_release(&host);
    json_put_str(container, "imagePullPolicy", view->config->image_pull_policy);
    json_put(container, "volumeMounts",
        json_build("[{s:s, s:s, s:b}, {s:s, s:s}, {s:s, s:s}]", "name", "client", "mountPath", TERMINAL_SECRET_DIR,
            "readOnly", 1, "name", "home", "mountPath", TERMINAL_HOME, "name", "tmp", "mountPath", "/tmp"));
    /* No startup probe: what only that lets start is called ready up to a minute late (desired_pod.c). */
    json_put(container, "readinessProbe",
        json_build(
            "{s:{s:[s, s, s]}, s:i}", "exec", "command", "test", "-s", TERMINAL_HOME "/.my.cnf", "periodSeconds", 2));
    json_put(container, "securityContext", container_security_context());
    return container;
}

static json_t *terminal_pod_spec(const struct terminal_view *view)
{
    json_t *spec = json_build("{s:b, s:b, s:i, s:o, s:[o]}", "automountServiceAccountToken", 0, "enableServiceLinks", 0,
        "terminationGracePeriodSeconds", 5, "securityContext", pod_security_context(view->config), "containers",
        terminal_container(view));
    json_put(spec, "volumes",
        json_build("[{s:s, s:{s:s, s:i}}, {s:s, s:{}}, {s:s, s:{}}]", "name", "client", "secret", "secretName",
            view->names.secret, "defaultMode", 0440, "name", "home", "emptyDir", "name", "tmp", "emptyDir"));
    if (view->config->image_pull_secrets)
        json_put(spec, "imagePullSecrets", json_deep_copy(view->config->image_pull_secrets));
    return spec;
}

json_t *terminal_pod(const struct terminal_view *view)
{
    json_t *metadata = terminal_child_metadata(view);
    json_put_str(metadata, "name", view->names.pod);
    json_put_str(metadata, "namespace", view->terminal->ns);
    json_t *pod = json_build("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata", metadata, "spec",
        terminal_pod_spec(view));
    if (view->terminal->pod_template)
        pod_template_merge(pod, view->terminal->pod_template);
    char role[32];
    snprintf(role, sizeof(role), "terminal-%016llx", (unsigned long long)json_hash(pod));
    json_put_str(json_object_get(metadata, "labels"), LABEL_ROLE, role);
    return pod;
}
