/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/operator_world.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/tests/clock_util.h"
#include "operator/api/api_kinds.h"
#include "operator/api/names.h"
#include "operator/api/projections.h"
#include "operator/app/app_controller.h"
#include "operator/backup/archive_controller.h"
#include "operator/backup/backup_controller.h"
#include "operator/backup/schedule_controller.h"
#include "operator/cluster/reconcile/cluster_controller.h"
#include "operator/configmapsync/sync_controller.h"
#include "operator/instance/agent_fleet.h"
#include "operator/kube/kube_config.h"
#include "operator/terminal/terminal_controller.h"

#define TICK_MS 3
#define STEP_MAX_MS 20000

/* ---- the operator ---- */

static struct informer *informer_for(struct manager *manager, const struct kube_kind *kind,
    const struct kube_projection *projection, const char *selector)
{
    const struct informer_options options = {.label_selector = selector};
    return manager_informer(manager, manager_use_kind(manager, kind), projection, &options);
}

static void free_fleet(void *arg)
{
    agent_fleet_free(arg);
}

static int64_t schedule_now(void *arg)
{
    const struct operator_world *world = arg;
    return world->schedule_base_ms + world->schedule_ahead_ms;
}

static int set_up(void *arg, struct manager *manager, struct error *err)
{
    UNUSED(err);
    struct operator_world *world = arg;
    struct informer *clusters = informer_for(manager, &kube_kind_mysql_cluster, &projection_mysql_cluster, NULL);
    struct informer *terminals = informer_for(manager, &kube_kind_mysql_terminal, &projection_mysql_terminal, NULL);
    struct informer *pods = informer_for(manager, &kube_kind_pod, &projection_pod, SELECTOR_MANAGED);
    struct agent_fleet *fleet = agent_fleet_new(manager_loop(manager), manager_http(manager), NULL, NULL);
    manager_defer(manager, free_fleet, fleet);
    struct informer *backups = informer_for(manager, &kube_kind_mysql_backup, &projection_mysql_backup, NULL);
    const struct cluster_controller_options cluster_options = {
        .agent_image = world->agent_image,
        .version = world->version,
        .turns = world->turns,
        .secrets_fresh_ms = world->secrets_fresh_ms,
        .clusters = clusters,
        .configs = informer_for(manager, &kube_kind_mysql_config, &projection_mysql_config, NULL),
        .terminals = terminals,
        .pods = pods,
        .backups = backups,
        .fleet = fleet,
    };
    const struct terminal_controller_options terminal_options = {
        .blocked_recheck_ms = world->terminal_recheck_ms, .clusters = clusters, .terminals = terminals, .pods = pods};
    const struct backup_controller_options backup_options = {
        .agent_image = world->agent_image,
        .secrets_fresh_ms = world->secrets_fresh_ms,
        .blocked_recheck_ms = world->backup_recheck_ms,
        .backups = backups,
        .clusters = clusters,
        .pods = pods,
        .fleet = fleet,
    };
    const struct schedule_controller_options schedule_options = {
        .clusters = clusters, .backups = backups, .now_ms = schedule_now, .now_arg = world, .recheck_ms = 20};
    const struct archive_controller_options archive_options = {
        .agent_image = world->agent_image,
        .secrets_fresh_ms = world->secrets_fresh_ms,
        .recheck_ms = 20,
        .sweep_ms = world->sweep_ms,
        .backups = backups,
        .clusters = clusters,
        .pods = pods,
        .fleet = fleet,
    };
    cluster_controller_setup(manager, &cluster_options);
    backup_controller_setup(manager, &backup_options);
    schedule_controller_setup(manager, &schedule_options);
    archive_controller_setup(manager, &archive_options);
    terminal_controller_setup(manager, &terminal_options);
    if (world->app)
        app_controller_setup(manager, &(struct app_controller_options){.blocked_recheck_ms = 50});
    if (world->config_map_sync)
        sync_controller_setup(manager,
            &(struct sync_controller_options){
                .without_consent = world->sync_without_consent, .own_namespace = "op", .blocked_recheck_ms = 50});
    return 0;
}

/* ---- the script ---- */

static void note_failure(struct operator_world *world, const char *text)
{
    if (!*world->failure && *text)
        snprintf(world->failure, sizeof(world->failure), "%s", text);
}

static void fail_step(struct operator_world *world)
{
    char text[sizeof(world->failure)];
    snprintf(text, sizeof(text),
        "step %d does not get through; missing %s; Progressing %s; state %s; next action: %.200s", world->step,
        str_or_empty(world_missing_child(world)), world_condition(world, "Progressing"),
        world_str(world, PATH_CLUSTER, "status.state"), world_str(world, PATH_CLUSTER, "status.nextAction"));
    note_failure(world, text);
    _cleanup_(freep) char *cluster = json_dumps(kube_api_double_get(world->api, PATH_CLUSTER), JSON_INDENT(1));
    fprintf(stderr, "%s\n", str_or_empty(cluster));
}

static void on_tick(void *arg)
{
    struct operator_world *world = arg;
    int64_t now_ms = clock_monotonic_ms();
    agent_doubles_tick(world->agents);
    kubernetes_double_tick(&world->kubernetes);
    for (int i = 0; i < world->other_count; i++) {
        agent_doubles_tick(world->others[i].agents);
        kubernetes_double_tick(&world->others[i].kubernetes);
        note_failure(world, agent_doubles_failure(world->others[i].agents));
    }
    while (world->steps[world->step] && !*world->failure && world->steps[world->step](world)) {
        world->step++;
        world->step_until_ms = now_ms + STEP_MAX_MS;
        world->quiet_since_ms = 0;
    }
    note_failure(world, agent_doubles_failure(world->agents));
    if (world->steps[world->step] && now_ms > world->step_until_ms)
        fail_step(world);
    bool is_over = !world->steps[world->step] || *world->failure;
    if (is_over && !world->is_dead)
        raise(SIGTERM);
    else /* one that died with the last step has a successor, which must be ended, too */
        loop_timer_arm(&world->timer, TICK_MS);
}

static void refuse_orders(struct operator_world *world, bool refuse)
{
    agent_doubles_refuse(world->agents, refuse);
    for (int i = 0; i < world->other_count; i++)
        agent_doubles_refuse(world->others[i].agents, refuse);
}

/* What a process that is no more cannot do: its requests have no effect any more. */
void world_kill_operator(struct operator_world *world)
{
    static const struct kube_api_fault nothing = {.kind = KUBE_API_FAULT_STATUS, .status = 403, .times = -1};
    if (world->is_dead)
        return;
    world->is_dead = true;
    kube_api_double_fault(world->api, &nothing);
    refuse_orders(world, true);
    raise(SIGTERM);
}

static void on_act(void *arg)
{
    struct operator_world *world = arg;
    world->acts++;
    if (world->after_act)
        world->after_act(world);
    if (world->step < world->kill_after_step)
        world->acts_before = world->acts;
    else if (world->kill_after > 0 && world->acts == world->acts_before + world->kill_after)
        world_kill_operator(world);
    else if (world->copies && !world_copy_is(world->copies) && world_copy_make(world->copies, world->loop))
        world_kill_operator(world);
}

/* ---- life ---- */

struct operator_world *operator_world_new(void)
{
    struct operator_world *world = xnew(struct operator_world);
    log_setup(getenv("V") ? LOG_DEBUG : LOG_ERROR, LOG_FORMAT_TEXT, 2);
    clock_stand_still();
    world->schedule_base_ms = clock_realtime_ms();
    world->loop = loop_new();
    world->api = kube_api_double_new(world->loop);
    world->agents = agent_doubles_new(world->loop, world->api, WORLD_CLUSTER);
    world->agent_image = "agent:1";
    world->kubernetes = (struct kubernetes_double){.api = world->api, .agents = world->agents};
    kube_api_double_on_write(world->api, on_act, world);
    agent_doubles_on_order(world->agents, on_act, world);
    loop_timer_init(&world->timer, world->loop, on_tick, world);
    return world;
}

void operator_world_free(struct operator_world *world)
{
    loop_timer_release(&world->timer);
    agent_doubles_free(world->agents);
    kubernetes_double_release(&world->kubernetes);
    for (int i = 0; i < world->other_count; i++) {
        agent_doubles_free(world->others[i].agents);
        kubernetes_double_release(&world->others[i].kubernetes);
    }
    kube_api_double_free(world->api);
    loop_run_once(world->loop, 0); /* libevent ends connections that were closed in the next turn */
    loop_free(world->loop);
    free(world);
}

struct world_other *world_add_other(struct operator_world *world, const char *name)
{
    assert_true(world->other_count < WORLD_OTHERS_MAX);
    struct world_other *other = &world->others[world->other_count++];
    other->agents = agent_doubles_new(world->loop, world->api, name);
    other->kubernetes = (struct kubernetes_double){.api = world->api, .agents = other->agents};
    agent_doubles_on_order(other->agents, on_act, world);
    return other;
}

static void run_operator(struct operator_world *world)
{
    struct kube_config config;
    struct error err = ERROR_INIT;
    kube_api_double_config(world->api, &config);
    const struct manager_options options = {
        .config = &config,
        .field_manager = "kube-mysql",
        .user_agent = "test",
        .component = "kube-mysql-operator",
        .leader_identity = "test",
        .bind_address = "127.0.0.1",
    };
    world->manager = manager_new(world->loop, &options, &err);
    if (!world->manager)
        fail_msg("%s", err.message);
    manager_use_kind(world->manager, &kube_kind_mysql_config);
    cluster_controller_use_kinds(world->manager);
    terminal_controller_use_kinds(world->manager);
    backup_controller_use_kinds(world->manager);
    archive_controller_use_kinds(world->manager);
    if (world->app)
        app_controller_use_kinds(world->manager);
    if (world->config_map_sync)
        sync_controller_use_kinds(world->manager);
    int rc = manager_run(world->manager, set_up, world);
    manager_free(steal_ptr(world->manager));
    kube_config_release(&config);
    if (rc != 0)
        note_failure(world, "the operator did not end well");
}

void operator_world_run(struct operator_world *world, const world_step_fn *steps)
{
    world->steps = steps;
    world->step_until_ms = clock_monotonic_ms() + STEP_MAX_MS;
    loop_timer_arm(&world->timer, TICK_MS);
    do {
        if (world->is_dead)
            kube_api_double_clear_faults(world->api);
        refuse_orders(world, false);
        world->is_dead = false;
        run_operator(world);
    } while (world->is_dead && !*world->failure);
    if (!*world->failure)
        return;
    world_copy_end(world->copies, world->failure);
    fail_msg("%s", world->failure);
}

/* ---- objects ---- */

json_t *world_json(const char *text)
{
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *copy = xstrdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_parse(copy, strlen(copy), &err);
    if (!json) {
        fprintf(stderr, "%s: %s\n", err.message, copy);
        abort();
    }
    return json;
}

void world_put_json(struct operator_world *world, const char *path, const char *text)
{
    _cleanup_(json_decrefp) json_t *object = world_json(text);
    kube_api_double_put(world->api, path, object);
}

void world_edit_json(struct operator_world *world, const char *path, const char *text)
{
    _cleanup_(json_decrefp) json_t *changes = world_json(text);
    kube_api_double_edit(world->api, path, changes);
}

void world_put_cluster(struct operator_world *world, const char *more)
{
    _cleanup_(freep) char *text = xasprintf(
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlCluster', 'metadata': {'name': 'shop', 'namespace': 'ns1'},"
        "'spec': {'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}},"
        "'storage': {'resources': {'requests': {'storage': '1Gi'}}}%s%s}}",
        *more ? ", " : "", more);
    world_put_json(world, PATH_CLUSTER, text);
}

const char *world_str(const struct operator_world *world, const char *path, const char *member)
{
    return json_path_str(kube_api_double_get(world->api, path), member, "");
}

int64_t world_int(const struct operator_world *world, const char *path, const char *member)
{
    return json_path_int(kube_api_double_get(world->api, path), member, 0);
}

const char *world_condition(struct operator_world *world, const char *type)
{
    return world_condition_of(world, PATH_CLUSTER, type);
}

const char *world_condition_of(struct operator_world *world, const char *path, const char *type)
{
    size_t i;
    const json_t *condition;
    json_array_foreach(json_path(kube_api_double_get(world->api, path), "status.conditions"), i, condition) {
        if (!str_eq(json_path_str(condition, "type", ""), type))
            continue;
        snprintf(world->text, sizeof(world->text), "%s/%s", json_path_str(condition, "status", ""),
            json_path_str(condition, "reason", ""));
        return world->text;
    }
    return "";
}

const char *world_missing_child(const struct operator_world *world)
{
    static const char *const paths[] = {PATH_CORE "serviceaccounts/shop-mysql", PATH_CORE "configmaps/shop-mysql-config",
        PATH_CORE "configmaps/shop-mysql-ca-bundle", PATH_CORE "services/shop-mysql",
        PATH_CORE "services/shop-mysql-primary", PATH_CORE "services/shop-mysql-replicas",
        PATH_CORE "secrets/shop-mysql-accounts", PATH_CORE "secrets/shop-mysql-ca", PATH_CORE "secrets/shop-mysql-tls",
        PATH_SLICE, PATH_BUDGET, PATH_STATEFUL_SET};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (!kube_api_double_get(world->api, paths[i]))
            return paths[i];
    return NULL;
}

struct agent_double *world_agent(const struct operator_world *world, int ordinal)
{
    return agent_doubles_get(world->agents, ordinal);
}

const char *world_pod_str(const struct operator_world *world, int ordinal, const char *member)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CORE "pods/shop-mysql-%d", ordinal);
    return world_str(world, path, member);
}

/* Commits wait for acknowledgements, and that is known. */
static bool is_confirmed(struct operator_world *world)
{
    const json_t *status = json_object_get(kube_api_double_get(world->api, PATH_CLUSTER), "status");
    return json_path_bool(status, "semiSync", false) == json_path_bool(status, "confirmed.semiSync", false) &&
        (!json_path_bool(status, "semiSync", false) ||
            json_path_int(status, "acks", 0) == json_path_int(status, "confirmed.acks", 0));
}

/* They follow the status, and may be late. */
static bool labels_are_right(struct operator_world *world, int64_t replicas)
{
    const char *primary = world_str(world, PATH_CLUSTER, "status.currentPrimary");
    for (int i = 0; i < (int)replicas; i++) {
        bool is_primary = str_eq(world_pod_str(world, i, "metadata.name"), primary);
        const char *wanted = is_primary ? LABEL_ROLE_PRIMARY : LABEL_ROLE_REPLICA;
        if (!str_eq(world_pod_str(world, i, "metadata.labels[\"" LABEL_ROLE "\"]"), wanted))
            return false;
    }
    return true;
}

bool world_is_settled(struct operator_world *world)
{
    int64_t replicas = json_path_int(kube_api_double_get(world->api, PATH_CLUSTER), "spec.replicas", 1);
    return str_eq(world_condition(world, "Available"), replicas > 0 ? "True/PrimaryReady" : "False/Hibernated") &&
        str_eq(world_condition(world, "Ready"), replicas > 0 ? "True/TakesWrites" : "True/Hibernated") &&
        str_eq(world_condition(world, "Progressing"), "False/Settled") &&
        str_starts_with(world_condition(world, "Reconciling"), "False/") &&
        (replicas < 2 || str_eq(world_condition(world, "Replicated"), "True/AllFollow")) && is_confirmed(world) &&
        world_int(world, PATH_CLUSTER, "status.readyReplicas") == replicas && labels_are_right(world, replicas) &&
        world_int(world, PATH_STATEFUL_SET, "spec.replicas") == replicas &&
        world_int(world, PATH_CLUSTER, "status.observedGeneration") ==
        world_int(world, PATH_CLUSTER, "metadata.generation") &&
        !*world_str(world, PATH_CLUSTER, "status.transition.to");
}

static void blank(char *text, const char *prefix, size_t len)
{
    for (char *at = text; (at = strstr(at, prefix));) {
        at += strlen(prefix);
        for (size_t i = 0; at[i] && (len ? i < len : strchr("0123456789.", at[i]) != NULL); i++)
            at[i] = 'x';
    }
}

/* Addresses and uids are given in the order in which things are made. */
char *world_children(const struct operator_world *world)
{
    struct strbuf out;
    strbuf_init(&out, 16 * KM_MIB);
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    for (char *line = dump, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        bool is_random = str_starts_with(line, "/api/v1/secrets") ||
            memmem(line, (size_t)(next - line), "BEGIN CERTIFICATE", sizeof("BEGIN CERTIFICATE") - 1);
        bool skip = is_random || strstr(line, "/events") == line + strcspn(line, " ") - 7 ||
            str_starts_with(line, "/apis/kubemysql.dev/v1alpha1/mysqlclusters");
        if (!skip)
            strbuf_add(&out, line, (size_t)(next - line));
    }
    blank(out.buf, "-4000-8000-", 12);
    blank(out.buf, "\"127.", 0);
    blank(out.buf, "\"kept\":\"", sizeof("2026-01-02T03:04:05Z") - 1);
    return strbuf_detach(&out, NULL);
}

bool world_check_passes(struct operator_world *world)
{
    static const char path[] = "/api/v1/namespaces/ns1/pods/shop-mysql-check";
    if (!kube_api_double_get(world->api, path))
        return false;
    world_edit_json(world, path, "{'status': {'phase': 'Succeeded'}}");
    return true;
}

bool world_is_quiet(struct operator_world *world, int64_t ms)
{
    size_t events = kube_api_double_requests(world->api, "POST", "/apis/events.k8s.io") +
        kube_api_double_requests(world->api, NULL, PATH_CORE "events");
    size_t writes = kube_api_double_writes(world->api) - events;
    int64_t now_ms = clock_monotonic_ms();
    if (writes != world->writes || world->quiet_since_ms == 0) {
        world->writes = writes;
        world->quiet_since_ms = now_ms;
    }
    return now_ms - world->quiet_since_ms >= ms;
}
