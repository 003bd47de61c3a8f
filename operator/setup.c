/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/setup.h"

#include "common/alloc.h"
#include "common/version.h"
#include "operator/api/api_kinds.h"
#include "operator/api/names.h"
#include "operator/api/projections.h"
#include "operator/app/app_controller.h"
#include "operator/backup/archive_controller.h"
#include "operator/backup/backup_controller.h"
#include "operator/backup/drill_controller.h"
#include "operator/backup/schedule_controller.h"
#include "operator/cluster/reconcile/cluster_controller.h"
#include "operator/configmapsync/sync_controller.h"
#include "operator/instance/agent_fleet.h"
#include "operator/options.h"
#include "operator/terminal/terminal_controller.h"

void operator_use_kinds(struct manager *manager, const struct operator_options *options)
{
    if (options->app)
        app_controller_use_kinds(manager);
    if (options->config_map_sync)
        sync_controller_use_kinds(manager);
    manager_use_kind(manager, &kube_kind_mysql_config);
    cluster_controller_use_kinds(manager);
    terminal_controller_use_kinds(manager);
    backup_controller_use_kinds(manager);
    schedule_controller_use_kinds(manager);
    archive_controller_use_kinds(manager);
    drill_controller_use_kinds(manager);
}

static struct informer *informer_for(struct manager *manager, const struct kube_kind *kind,
    const struct kube_projection *projection, const char *label_selector)
{
    const struct informer_options options = {.label_selector = label_selector};
    return manager_informer(manager, manager_use_kind(manager, kind), projection, &options);
}

static void free_fleet(void *arg)
{
    agent_fleet_free(arg);
}

/* What several controllers look at. */
struct shared {
    struct informer *clusters, *configs, *terminals, *backups, *pods;
    struct agent_fleet *fleet;
};

static void share(struct manager *manager, struct shared *ret)
{
    ret->clusters = informer_for(manager, &kube_kind_mysql_cluster, &projection_mysql_cluster, NULL);
    ret->configs = informer_for(manager, &kube_kind_mysql_config, &projection_mysql_config, NULL);
    ret->terminals = informer_for(manager, &kube_kind_mysql_terminal, &projection_mysql_terminal, NULL);
    ret->backups = informer_for(manager, &kube_kind_mysql_backup, &projection_mysql_backup, NULL);
    ret->pods = informer_for(manager, &kube_kind_pod, &projection_pod, SELECTOR_MANAGED);
    ret->fleet = agent_fleet_new(manager_loop(manager), manager_http(manager), NULL, NULL);
    manager_defer(manager, free_fleet, ret->fleet);
}

/* As semantic versions carry a build: "0.2.0+b4fa498c0ffe". */
static const char *version_of_build(struct manager *manager)
{
    char *version = xasprintf("%s%s%s", KM_VERSION, *build_commit ? "+" : "", build_commit);
    manager_defer(manager, free, version);
    return version;
}

static void set_up_clusters(struct manager *manager, const struct operator_options *options, const struct shared *shared)
{
    const struct cluster_controller_options cluster_options = {
        .agent_image = options->agent_image,
        .turns = options->max_unavailable_clusters,
        .version = version_of_build(manager),
        .watch_namespaces = &options->watch_namespaces,
        .ipv6 = options->ipv6,
        .cluster_domain = options->cluster_domain,
        .clusters = shared->clusters,
        .configs = shared->configs,
        .terminals = shared->terminals,
        .pods = shared->pods,
        .backups = shared->backups,
        .fleet = shared->fleet,
    };
    const struct terminal_controller_options terminal_options = {
        .watch_namespaces = &options->watch_namespaces,
        .clusters = shared->clusters,
        .terminals = shared->terminals,
        .pods = shared->pods,
    };
    cluster_controller_setup(manager, &cluster_options);
    terminal_controller_setup(manager, &terminal_options);
}

static void set_up_backups(struct manager *manager, const struct operator_options *options, const struct shared *shared)
{
    const struct backup_controller_options backup_options = {
        .agent_image = options->agent_image,
        .watch_namespaces = &options->watch_namespaces,
        .backups = shared->backups,
        .clusters = shared->clusters,
        .pods = shared->pods,
        .fleet = shared->fleet,
    };
    const struct schedule_controller_options schedule_options = {
        .watch_namespaces = &options->watch_namespaces,
        .clusters = shared->clusters,
        .backups = shared->backups,
    };
    const struct archive_controller_options archive_options = {
        .agent_image = options->agent_image,
        .watch_namespaces = &options->watch_namespaces,
        .backups = shared->backups,
        .clusters = shared->clusters,
        .pods = shared->pods,
        .fleet = shared->fleet,
    };
    const struct drill_controller_options drill_options = {
        .watch_namespaces = &options->watch_namespaces,
        .clusters = shared->clusters,
        .backups = shared->backups,
        .fleet = shared->fleet,
    };
    backup_controller_setup(manager, &backup_options);
    schedule_controller_setup(manager, &schedule_options);
    archive_controller_setup(manager, &archive_options);
    drill_controller_setup(manager, &drill_options);
}

static void set_up_further_kinds(struct manager *manager, const struct operator_options *options)
{
    const struct sync_controller_options sync_options = {
        .watch_namespaces = &options->watch_namespaces,
        .without_consent = options->sync_without_consent,
        .own_namespace = options->leader_namespace,
    };
    const struct app_controller_options app_options = {.watch_namespaces = &options->watch_namespaces};
    if (options->app)
        app_controller_setup(manager, &app_options);
    if (options->config_map_sync)
        sync_controller_setup(manager, &sync_options);
}

int operator_setup(void *arg, struct manager *manager, struct error *err)
{
    UNUSED(err);
    const struct operator_options *options = arg;
    struct shared shared;
    share(manager, &shared);
    set_up_clusters(manager, options, &shared);
    set_up_backups(manager, options, &shared);
    set_up_further_kinds(manager, options);
    return 0;
}
