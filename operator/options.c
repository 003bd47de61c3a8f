/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/options.h"

#include <errno.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "operator/cluster/reconcile/cluster_turns.h"
#include "operator/kube/leader_elector.h"

typedef int (*set_fn)(struct operator_options *options, const char *value, struct error *err);

struct flag {
    const char *name;
    const char *value;     /* how the value is called in --help; NULL: none is needed */
    const char *when_bare; /* taken when no "=value" follows; NULL: the next argument is the value */
    set_fn set;
    const char *help;
};

/* ---- values --------------------------------------------------------------------------------------------------- */

/* "15s", "500ms", "1m", or plain seconds. */
static int parse_duration_ms(const char *text, int64_t *ret)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}};
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || errno || number < 1 || number > 86400000)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_eq(end, units[i].unit)) {
            *ret = number * units[i].ms;
            return 0;
        }
    }
    return -1;
}

static int want_duration(const char *value, int64_t *ret, struct error *err)
{
    if (parse_duration_ms(value, ret) < 0)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a duration like 15s or 500ms", value);
    return 0;
}

static int want_number(const char *value, double *ret, struct error *err)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !(number > 0 && number <= 1e6))
        return error_set(err, ERROR_INVALID, "\"%s\" is not a number above 0", value);
    *ret = number;
    return 0;
}

static int want_bool(const char *value, bool *ret, struct error *err)
{
    if (!str_eq(value, "true") && !str_eq(value, "false"))
        return error_set(err, ERROR_INVALID, "\"%s\" is neither true nor false", value);
    *ret = str_eq(value, "true");
    return 0;
}

/* ---- flags ---------------------------------------------------------------------------------------------------- */

#define TEXT_OF_VALUE(value) #value
#define TEXT_OF(macro) TEXT_OF_VALUE(macro) /* of its value, as a text */

static int set_kubeconfig(struct operator_options *options, const char *value, struct error *err)
{
    UNUSED(err);
    options->kubeconfig = value;
    return 0;
}

static int set_context(struct operator_options *options, const char *value, struct error *err)
{
    UNUSED(err);
    options->context = value;
    return 0;
}

static int set_leader_elect(struct operator_options *options, const char *value, struct error *err)
{
    return want_bool(value, &options->leader_elect, err);
}

static int set_leader_namespace(struct operator_options *options, const char *value, struct error *err)
{
    UNUSED(err);
    options->leader_namespace = value;
    return 0;
}

static int set_lease_duration(struct operator_options *options, const char *value, struct error *err)
{
    return want_duration(value, &options->lease_duration_ms, err);
}

static int set_renew_deadline(struct operator_options *options, const char *value, struct error *err)
{
    return want_duration(value, &options->renew_deadline_ms, err);
}

static int set_retry_period(struct operator_options *options, const char *value, struct error *err)
{
    return want_duration(value, &options->retry_period_ms, err);
}

static int set_bind_address(struct operator_options *options, const char *value, struct error *err)
{
    UNUSED(err);
    options->bind_address = value;
    return 0;
}

static int set_metrics_port(struct operator_options *options, const char *value, struct error *err)
{
    char *end;
    long port = strtol(value, &end, 10);
    if (end == value || *end || port < 0 || port > 65535)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a port from 0 to 65535", value);
    options->metrics_port = (uint16_t)port;
    return 0;
}

static int set_address_family(struct operator_options *options, const char *value, struct error *err)
{
    if (!str_eq(value, "ipv4") && !str_eq(value, "ipv6"))
        return error_set(err, ERROR_INVALID, "\"%s\" is neither ipv4 nor ipv6", value);
    options->ipv6 = str_eq(value, "ipv6");
    return 0;
}

static int set_cluster_domain(struct operator_options *options, const char *value, struct error *err)
{
    if (!cluster_domain_is_valid(value))
        return error_set(err, ERROR_INVALID, "\"%s\" is not a domain like cluster.local", value);
    snprintf(options->cluster_domain, sizeof(options->cluster_domain), "%s", value);
    return 0;
}

static int set_agent_image(struct operator_options *options, const char *value, struct error *err)
{
    UNUSED(err);
    options->agent_image = value;
    return 0;
}

static int set_max_unavailable_clusters(struct operator_options *options, const char *value, struct error *err)
{
    char *end;
    long count = strtol(value, &end, 10);
    if (end == value || *end || count < 1 || count > CLUSTER_TURNS_MAX)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a number from 1 to " TEXT_OF(CLUSTER_TURNS_MAX), value);
    options->max_unavailable_clusters = (int)count;
    return 0;
}

static int set_log_level(struct operator_options *options, const char *value, struct error *err)
{
    if (log_level_parse(value, &options->log_level) < 0)
        return error_set(err, ERROR_INVALID, "\"%s\" is none of debug, info, warn, error", value);
    return 0;
}

static int set_log_format(struct operator_options *options, const char *value, struct error *err)
{
    if (log_format_parse(value, &options->log_format) < 0)
        return error_set(err, ERROR_INVALID, "\"%s\" is neither json nor text", value);
    return 0;
}

static int set_qps(struct operator_options *options, const char *value, struct error *err)
{
    return want_number(value, &options->qps, err);
}

static int set_burst(struct operator_options *options, const char *value, struct error *err)
{
    return want_number(value, &options->burst, err);
}

static int set_watch_namespaces(struct operator_options *options, const char *value, struct error *err)
{
    UNUSED(err);
    strvec_split(&options->watch_namespaces, value, ", ");
    return 0;
}

/* May be given several times. */
static int set_enable(struct operator_options *options, const char *value, struct error *err)
{
    struct strvec kinds;
    int rc = 0;
    strvec_init(&kinds);
    strvec_split(&kinds, value, ", ");
    for (size_t i = 0; i < kinds.n && rc == 0; i++) {
        if (str_eq(kinds.v[i], "configmapsync"))
            options->config_map_sync = true;
        else if (str_eq(kinds.v[i], "app"))
            options->app = true;
        else
            rc = error_set(err, ERROR_INVALID, "\"%s\" is neither app nor configmapsync", kinds.v[i]);
    }
    strvec_release(&kinds);
    return rc;
}

static int set_sync_without_consent(struct operator_options *options, const char *value, struct error *err)
{
    return want_bool(value, &options->sync_without_consent, err);
}

static int set_version(struct operator_options *options, const char *value, struct error *err)
{
    return want_bool(value, &options->show_version, err);
}

static int set_help(struct operator_options *options, const char *value, struct error *err)
{
    return want_bool(value, &options->show_help, err);
}

static const struct flag flags[] = {
    {"kubeconfig", "FILE", NULL, set_kubeconfig,
        "how to reach the API server (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},
    {"context", "NAME", NULL, set_context, "context of the kubeconfig (default: its current-context)"},
    {"watch-namespaces", "A,B", NULL, set_watch_namespaces, "only look at these namespaces (default: all)"},
    {"address-family", "FAMILY", NULL, set_address_family,
        "ipv4 or ipv6: the first family of the pod network (default: that of $KUBERNETES_SERVICE_HOST)"},
    {"cluster-domain", "DOMAIN", NULL, set_cluster_domain,
        "of the cluster's DNS, for the names in certificates (default: that of /etc/resolv.conf, else " CLUSTER_DOMAIN_DEFAULT
        ")"},
    {"agent-image", "IMAGE", NULL, set_agent_image, "agent image for clusters whose configuration names none"},
    {"max-unavailable-clusters", "N", NULL, set_max_unavailable_clusters,
        "clusters that another --agent-image or a changed MysqlConfig reaches at a time (default: 1)"},
    {"enable", "KINDS", NULL, set_enable,
        "further kinds, whose CRDs and rights come with deploy/components: app,configmapsync (default: none)"},
    {"configmapsync-without-consent", "BOOL", "true", set_sync_without_consent,
        "copy ConfigMaps without asking their namespaces (default: false)"},
    {"leader-elect", "BOOL", "true", set_leader_elect, "work only while holding the Lease (default: true)"},
    {"leader-namespace", "NAME", NULL, set_leader_namespace,
        "namespace of the Lease (default: $POD_NAMESPACE, else the kubeconfig's)"},
    {"lease-duration", "TIME", NULL, set_lease_duration,
        "how long others wait for a silent leader (default: " TEXT_OF(LEADER_LEASE_DURATION_MS) "ms)"},
    {"renew-deadline", "TIME", NULL, set_renew_deadline,
        "a leader that cannot renew for so long ends (default: " TEXT_OF(LEADER_RENEW_DEADLINE_MS) "ms)"},
    {"retry-period", "TIME", NULL, set_retry_period,
        "how often a leader renews (default: " TEXT_OF(LEADER_RETRY_PERIOD_MS) "ms)"},
    {"bind-address", "ADDRESS", NULL, set_bind_address, "of /healthz, /readyz and /metrics (default: 0.0.0.0)"},
    {"metrics-port", "PORT", NULL, set_metrics_port, "port for these; 0: none (default: 8080)"},
    {"qps", "N", NULL, set_qps, "requests a second to the API server, in the long run (default: 2000)"},
    {"burst", "N", NULL, set_burst, "requests in one go (default: 4000)"},
    {"log-level", "LEVEL", NULL, set_log_level, "debug, info, warn or error (default: info)"},
    {"log-format", "FORMAT", NULL, set_log_format, "json or text (default: text on a terminal, else json)"},
    {"version", NULL, "true", set_version, "print the version and leave"},
    {"help", NULL, "true", set_help, "print this and leave"},
};

void operator_options_help(FILE *out)
{
    fputs(
        "Usage: kube-mysql-operator [FLAGS]\nThe Kubernetes operator of kube-mysql.\n\nFlags (--name=value or --name value):\n",
        out);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s%s", flags[i].name,
            flags[i].value ? (flags[i].when_bare ? "[=" : "=") : "", flags[i].value ? flags[i].value : "",
            flags[i].value && flags[i].when_bare ? "]" : "");
        fprintf(out, "  %-26s %s\n", left, flags[i].help);
    }
    fputs("\nTIME is a number with ms, s or m. Secrets are never taken from the command line.\n", out);
}

static const struct flag *flag_find(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (strlen(flags[i].name) == len && strncmp(flags[i].name, name, len) == 0)
            return &flags[i];
    }
    return NULL;
}

/* Takes the flag at argv[*index], and its value from there or the next argument. */
static int parse_one(struct operator_options *options, int argc, char **argv, int *index, struct error *err)
{
    const char *arg = argv[*index];
    if (!str_starts_with(arg, "--"))
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", arg);
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) - 2 : strlen(arg) - 2;
    const struct flag *flag = flag_find(arg + 2, len);
    if (!flag)
        return error_set(err, ERROR_INVALID, "unknown flag \"%s\"", arg);
    const char *value = equals ? equals + 1 : flag->when_bare;
    if (!value && *index + 1 < argc)
        value = argv[++*index];
    if (!value || !*value)
        return error_set(err, ERROR_INVALID, "--%s needs a value", flag->name);
    if (flag->set(options, value, err) < 0)
        return error_prefix(err, "--%s", flag->name);
    return 0;
}

/* What only makes sense together. */
static int options_check(const struct operator_options *options, struct error *err)
{
    if (options->renew_deadline_ms >= options->lease_duration_ms)
        return error_set(err, ERROR_INVALID, "--renew-deadline must be shorter than --lease-duration");
    if (options->retry_period_ms * 2 > options->renew_deadline_ms)
        return error_set(err, ERROR_INVALID, "--retry-period must be at most half of --renew-deadline");
    return 0;
}

static char *identity_new(void)
{
    char host[256] = "unknown";
    const char *pod = getenv("POD_NAME");
    if (str_empty(pod))
        gethostname(host, sizeof(host) - 1);
    return xasprintf("%s_%016llx", str_empty(pod) ? host : pod, (unsigned long long)random_seed());
}

int operator_options_parse(int argc, char **argv, struct operator_options *ret, struct error *err)
{
    const char *ns = getenv("POD_NAMESPACE");
    const char *service_host = getenv("KUBERNETES_SERVICE_HOST");
    struct operator_options options = {
        .leader_elect = true,
        .max_unavailable_clusters = 1,
        .ipv6 = service_host && strchr(service_host, ':'),
        .leader_namespace = str_empty(ns) ? NULL : ns,
        .lease_duration_ms = LEADER_LEASE_DURATION_MS,
        .renew_deadline_ms = LEADER_RENEW_DEADLINE_MS,
        .retry_period_ms = LEADER_RETRY_PERIOD_MS,
        .bind_address = "0.0.0.0",
        .metrics_port = 8080,
        .log_level = LOG_INFO,
        .log_format = isatty(STDERR_FILENO) ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON,
    };
    strvec_init(&options.watch_namespaces);
    cluster_domain_find("/etc/resolv.conf", options.cluster_domain);
    options.identity = identity_new();
    int rc = 0;
    for (int i = 1; i < argc && rc == 0; i++)
        rc = parse_one(&options, argc, argv, &i, err);
    if (rc == 0)
        rc = options_check(&options, err);
    if (rc < 0) {
        operator_options_release(&options);
        return -1;
    }
    *ret = options;
    return 0;
}

void operator_options_release(struct operator_options *options)
{
    strvec_release(&options->watch_namespaces);
    free(steal_ptr(options->identity));
}
