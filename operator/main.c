/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include <malloc.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/version.h"
#include "operator/kube/kube_config.h"
#include "operator/options.h"
#include "operator/runtime/begin_anew.h"
#include "operator/runtime/manager.h"
#include "operator/setup.h"

#define EXIT_USAGE 2

/* One arena and early return of memory: the heap follows what we keep instead of the largest list we ever read. Large
 * blocks (bodies, tables) come from mmap and go back at once. */
static void tune_malloc(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 64 * KM_KIB);
    mallopt(M_TRIM_THRESHOLD, 128 * KM_KIB);
    mallopt(M_TOP_PAD, 16 * KM_KIB);
}

static int run_manager(
    struct operator_options *options, const struct kube_config *config, bool *ret_lost_lease, struct error *err)
{
    const char *leader_namespace = options->leader_namespace ? options->leader_namespace : config->default_namespace;
    const struct manager_options manager_options = {
        .config = config,
        .field_manager = "kube-mysql",
        .user_agent = KM_USER_AGENT,
        .component = "kube-mysql-operator",
        .leader_namespace = options->leader_elect ? leader_namespace : NULL,
        .leader_identity = options->identity,
        .lease_duration_ms = options->lease_duration_ms,
        .renew_deadline_ms = options->renew_deadline_ms,
        .retry_period_ms = options->retry_period_ms,
        .lease_expired = begin_anew,
        .bind_address = options->bind_address,
        .port = options->metrics_port,
        .qps = options->qps,
        .burst = options->burst,
    };
    struct loop *loop = loop_new();
    struct manager *manager = manager_new(loop, &manager_options, err);
    int rc = -1;
    if (manager) {
        operator_use_kinds(manager, options);
        rc = manager_run(manager, operator_setup, options);
        *ret_lost_lease = manager_has_lost_lease(manager);
        if (manager_has_work_left(manager) && !*ret_lost_lease)
            _exit(rc);
    }
    manager_free(manager);
    loop_free(loop);
    return rc;
}

static int run(struct operator_options *options)
{
    struct error err = ERROR_INIT;
    struct kube_config config = {.server = NULL};
    bool lost_lease = false;
    log_setup(options->log_level, options->log_format, STDERR_FILENO);
    int rc = kube_config_load(options->kubeconfig, options->context, &config, &err);
    if (rc == 0) {
        log_info("kube-mysql operator", LOG_STR("version", KM_VERSION), LOG_STR("commit", build_commit),
            LOG_STR("server", config.server), LOG_STR("identity", options->identity));
        rc = run_manager(options, &config, &lost_lease, &err);
        kube_config_release(&config);
    }
    if (rc < 0)
        log_error("start failed", LOG_ERR(&err));
    if (lost_lease)
        begin_anew();
    return rc < 0 ? EXIT_FAILURE : rc;
}

#ifndef KM_COMMIT
#define KM_COMMIT ""
#endif

int main(int argc, char **argv)
{
    struct operator_options options;
    struct error err = ERROR_INIT;
    build_commit = KM_COMMIT;
    tune_malloc();
    begin_anew_with(argv);
    if (operator_options_parse(argc, argv, &options, &err) < 0) {
        fprintf(stderr, "kube-mysql-operator: %s\nTry --help.\n", err.message);
        return EXIT_USAGE;
    }
    int rc = EXIT_SUCCESS;
    if (options.show_help)
        operator_options_help(stdout);
    else if (options.show_version)
        puts(KM_VERSION);
    else
        rc = run(&options);
    operator_options_release(&options);
    return rc;
}
