/* SPDX-License-Identifier: Apache-2.0 */
/* Which kinds the operator asks the API server for: those that are opt-in only where it is told so, because else it has
 * no rights for them. */
#include "common/base.h"

#include "operator/setup.h"

#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/log.h"
#include "operator/kube/kube_config.h"
#include "operator/options.h"
#include "operator/tests/kube_api_double.h"

#define TICK_MS 20
#define TICKS_MAX 500
#define CALM_TICKS 5 /* no watch was opened for so long: all are */

struct start {
    struct loop *loop;
    struct kube_api_double *api;
    struct loop_timer timer;
    const char *until; /* collection whose watch is waited for */
    size_t watches;    /* open at the last tick */
    int ticks, calm_ticks;
};

static void on_tick(void *arg)
{
    struct start *start = arg;
    size_t watches = kube_api_double_watches(start->api);
    bool is_up = kube_api_double_requests(start->api, "WATCH", start->until) > 0;
    start->calm_ticks = is_up && watches == start->watches ? start->calm_ticks + 1 : 0;
    start->watches = watches;
    if (start->calm_ticks == CALM_TICKS || ++start->ticks == TICKS_MAX)
        raise(SIGTERM);
    else
        loop_timer_arm(&start->timer, TICK_MS);
}

/* Runs the operator until it watches what it is waited for, and all else. */
static void start_with(struct start *start, const char *enable, const char *until)
{
    char *argv[] = {(char[]){"operator"}, enable ? xasprintf("--enable=%s", enable) : NULL, NULL};
    struct operator_options options;
    struct kube_config config;
    struct error err = ERROR_INIT;
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    *start = (struct start){.loop = loop_new(), .until = until};
    assert_int_equal(operator_options_parse(enable ? 2 : 1, argv, &options, &err), 0);
    start->api = kube_api_double_new(start->loop);
    kube_api_double_config(start->api, &config);
    const struct manager_options manager_options = {.config = &config,
        .field_manager = "kube-mysql",
        .user_agent = "test",
        .component = "kube-mysql-operator",
        .leader_identity = "test",
        .bind_address = "127.0.0.1"};
    struct manager *manager = manager_new(start->loop, &manager_options, &err);
    assert_non_null(manager);
    operator_use_kinds(manager, &options);
    loop_timer_init(&start->timer, start->loop, on_tick, start);
    loop_timer_arm(&start->timer, TICK_MS);
    assert_int_equal(manager_run(manager, operator_setup, &options), 0);
    manager_free(manager);
    loop_timer_release(&start->timer);
    kube_config_release(&config);
    operator_options_release(&options);
    free(argv[1]);
    assert_true(start->ticks < TICKS_MAX);
}

static void end(struct start *start)
{
    kube_api_double_free(start->api);
    loop_run_once(start->loop, 0);
    loop_free(start->loop);
}

#define OURS "/apis/kubemysql.dev/v1alpha1/"

static size_t lists(const struct start *start, const char *collection)
{
    return kube_api_double_requests(start->api, "LIST", collection);
}

static void without_a_flag_nothing_of_them_is_asked(void **state)
{
    UNUSED(state);
    struct start start;
    start_with(&start, NULL, OURS "mysqlclusters");
    size_t config_maps = lists(&start, "/api/v1/configmaps");
    assert_int_equal(config_maps, 1); /* the clusters' own */
    assert_int_equal(lists(&start, OURS "configmapsyncs") + lists(&start, OURS "apps"), 0);
    assert_int_equal(lists(&start, "/api/v1/namespaces") + lists(&start, "/apis/apps/v1/deployments"), 0);
    end(&start);
}

static void each_kind_brings_its_own(void **state)
{
    UNUSED(state);
    struct start start;
    start_with(&start, "app", OURS "apps");
    assert_int_equal(lists(&start, OURS "apps"), 1);
    assert_int_equal(lists(&start, "/apis/apps/v1/deployments"), 1);
    assert_int_equal(lists(&start, OURS "configmapsyncs") + lists(&start, "/api/v1/namespaces"), 0);
    end(&start);
    start_with(&start, "app,configmapsync", OURS "configmapsyncs");
    assert_int_equal(lists(&start, OURS "apps"), 1);
    assert_int_equal(lists(&start, OURS "configmapsyncs"), 1);
    assert_int_equal(lists(&start, "/api/v1/namespaces"), 1);
    assert_int_equal(lists(&start, "/api/v1/configmaps"), 3);
    end(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_flag_nothing_of_them_is_asked),
        cmocka_unit_test(each_kind_brings_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
