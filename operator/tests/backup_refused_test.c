/* SPDX-License-Identifier: Apache-2.0 */
/* A backup onto a volume whose pod, or claim, the API server refuses: its conditions and an Event tell the API server's
 * words, and what to do. Of a schedule, its cluster tells as well. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/backup_store_pod.h"
#include "operator/tests/backup_world.h"

#define QUOTA "exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1"
#define LIMIT "maximum memory usage per Container is 200Mi, but limit is 256Mi"
#define CLAIM "maximum storage usage per PersistentVolumeClaim is 200Mi, but request is 300Mi"
#define LIMIT_REMEDY "; let the LimitRange of namespace ns1 allow it"

#define PODS PATH_CORE "pods"
#define CLAIMS PATH_CORE "persistentvolumeclaims"

static void refuse(struct operator_world *world, const char *path, const char *message)
{
    kube_api_double_clear_faults(world->api);
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = path,
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 403,
            .message = message});
}

static char *store_path(void)
{
    char name[DERIVED_NAME_SIZE];
    backup_store_pod_name(name, "shop", "vol", BACKUP_STORE_FOR_BACKUPS);
    return xasprintf(PATH_CORE "pods/%s", name);
}

static bool store_is_made(struct operator_world *world)
{
    _cleanup_(freep) char *path = store_path();
    return kube_api_double_get(world->api, path) != NULL;
}

static bool says(struct operator_world *world, const char *type, const char *wanted)
{
    return str_eq(world_condition_of(world, PATH_BACKUP, type), wanted);
}

static bool backup_says(struct operator_world *world, const char *reconciling, const char *stalled)
{
    return says(world, "Accepted", "False/PodRefused") && says(world, "Ready", "False/PodRefused") &&
        says(world, "Reconciling", reconciling) && says(world, "Stalled", stalled);
}

/* How many Events there are of that reason whose message has these words. */
static int count_events(const struct operator_world *world, const char *reason, const char *words)
{
    int ret = 0;
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    _cleanup_(freep) char *mark = xasprintf("\"reason\":\"%s\"", reason);
    for (char *line = dump, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        ret += strstr(line, "\"kind\":\"Event\"") && strstr(line, mark) && strstr(line, words);
    }
    return ret;
}

/* ---- by hand ---- */

#define ON_A_VOLUME \
    "{'spec': {'destination': {'s3': null, 'persistentVolumeClaim': {'claimName': 'vol', 'size': '300Mi'}}}}"

static bool put_it_over_quota(struct operator_world *world)
{
    refuse(world, PODS, QUOTA);
    backup_world_put("");
    world_edit_json(world, PATH_BACKUP, ON_A_VOLUME);
    return true;
}

/* Other pods may end. */
static bool quota_is_told(struct operator_world *world)
{
    if (!backup_says(world, "True/PodRefused", "False/NotStalled") ||
        !strstr(backup_world_status_of("message"), QUOTA "; raise the ResourceQuota of namespace ns1") ||
        count_events(world, "PodRefused", QUOTA) == 0)
        return false;
    refuse(world, PODS, LIMIT);
    return true;
}

static bool limit_is_told(struct operator_world *world)
{
    if (!backup_says(world, "False/PodRefused", "True/PodRefused") ||
        !strstr(backup_world_status_of("message"), LIMIT LIMIT_REMEDY) || count_events(world, "PodRefused", LIMIT) == 0)
        return false;
    world->looks_before = kube_api_double_requests(world->api, "POST", PODS);
    return true;
}

/* A refusal is no error that is tried again and again within a second, nor is it told again. */
static bool it_pauses(struct operator_world *world)
{
    if (!world_is_quiet(world, 500))
        return false;
    assert_in_range(kube_api_double_requests(world->api, "POST", PODS) - world->looks_before, 0, 2);
    assert_int_equal(count_events(world, "PodRefused", LIMIT), 1);
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool it_goes_on(struct operator_world *world)
{
    return store_is_made(world) && says(world, "Accepted", "True/Accepted") &&
        says(world, "Stalled", "False/NotStalled");
}

static void a_refused_pod_is_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        world_is_settled, put_it_over_quota, quota_is_told, limit_is_told, it_pauses, it_goes_on, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    it->world->backup_recheck_ms = 1000;
    operator_world_run(it->world, steps);
    backup_world_free(it);
}

#define TOLD "Pod shop-store: " LIMIT LIMIT_REMEDY

/* As an operator before has left it. */
static bool put_one_that_was_told(struct operator_world *world)
{
    refuse(world, PODS, LIMIT);
    backup_world_put("");
    world_edit_json(world, PATH_BACKUP, ON_A_VOLUME);
    world_edit_json(world, PATH_BACKUP,
        "{'status': {'phase': 'Pending', 'observedGeneration': 1, 'message': 'waits for the pod that serves the volume: " TOLD
        "', 'conditions': [{'type': 'Accepted', 'status': 'False', 'reason': 'PodRefused', 'message': '" TOLD
        "', 'lastTransitionTime': '2026-11-21T12:00:00Z'},"
        "{'type': 'Stalled', 'status': 'True', 'reason': 'PodRefused', 'message': 'x', "
        "'lastTransitionTime': '2026-11-21T12:00:00Z'}]}}");
    return true;
}

/* A change of the status would have another time. */
static bool asked_and_never_told_otherwise(struct operator_world *world)
{
    if (kube_api_double_requests(world->api, "POST", PODS) == 0 || !world_is_quiet(world, 300) ||
        !backup_says(world, "False/PodRefused", "True/PodRefused"))
        return false;
    const json_t *accepted = json_path(kube_api_double_get(world->api, PATH_BACKUP), "status.conditions[0]");
    assert_string_equal(json_path_str(accepted, "lastTransitionTime", ""), "2026-11-21T12:00:00Z");
    return true;
}

static void the_next_operator_asks_before_it_tells(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, put_one_that_was_told, asked_and_never_told_otherwise, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    it->world->backup_recheck_ms = 1000;
    operator_world_run(it->world, steps);
    backup_world_free(it);
}

static bool put_it_with_a_large_claim(struct operator_world *world)
{
    refuse(world, CLAIMS, CLAIM);
    backup_world_put("");
    world_edit_json(world, PATH_BACKUP, ON_A_VOLUME);
    return true;
}

static bool claim_is_told(struct operator_world *world)
{
    assert_false(store_is_made(world)); /* no pod without it */
    return backup_says(world, "False/PodRefused", "True/PodRefused") &&
        strstr(backup_world_status_of("message"), CLAIM "; choose a size within the LimitRange of namespace ns1") &&
        count_events(world, "PodRefused", CLAIM) > 0;
}

static void a_refused_claim_is_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, put_it_with_a_large_claim, claim_is_told, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    operator_world_run(it->world, steps);
    backup_world_free(it);
}

/* ---- by schedule ---- */

static bool schedule_it(struct operator_world *world)
{
    refuse(world, PODS, LIMIT);
    world_edit_json(world, PATH_CLUSTER,
        "{'spec': {'backup': {'schedule': '* * * * *', 'destination': {'persistentVolumeClaim': {'claimName': "
        "'vol'}}}}}");
    return true;
}

static bool a_minute_goes_by(struct operator_world *world)
{
    if (!*world_str(world, PATH_CLUSTER, "status.backup.nextBackupTime"))
        return false;
    world->schedule_ahead_ms += 60000;
    return true;
}

static bool cluster_tells(struct operator_world *world)
{
    const char *problem = world_str(world, PATH_CLUSTER, "status.backup.problem");
    if (!str_starts_with(problem, "PodRefused: MysqlBackup shop-") || !strstr(problem, LIMIT LIMIT_REMEDY))
        return false;
    const char *next = world_str(world, PATH_CLUSTER, "status.nextAction");
    if (!str_eq(world_condition(world, "Degraded"), "True/PodRefused") ||
        !str_eq(world_condition(world, "Accepted"), "True/Accepted") ||
        !str_starts_with(next, "let the scheduled backup begin: MysqlBackup shop-") ||
        !strstr(next, LIMIT LIMIT_REMEDY) || count_events(world, "BackupScheduleProblem", LIMIT) == 0)
        return false;
    refuse(world, PODS, QUOTA);
    return true;
}

/* Other words, and the phase is the same. */
static bool cluster_tells_other_words(struct operator_world *world)
{
    if (!strstr(world_str(world, PATH_CLUSTER, "status.backup.problem"), QUOTA))
        return false;
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool cluster_is_well(struct operator_world *world)
{
    return store_is_made(world) && !*world_str(world, PATH_CLUSTER, "status.backup.problem") &&
        str_eq(world_condition(world, "Degraded"), "False/AsWanted") &&
        !*world_str(world, PATH_CLUSTER, "status.nextAction");
}

static void its_cluster_tells(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {world_is_settled, schedule_it, a_minute_goes_by, cluster_tells,
        cluster_tells_other_words, cluster_is_well, NULL};
    char now[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(clock_realtime_ms(), now);
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "");
    it->world->backup_recheck_ms = 1000;
    kube_api_double_created(it->world->api, now);
    operator_world_run(it->world, steps);
    backup_world_free(it);
}

int main(void)
{
    cmocka_set_test_filter(getenv("TEST_CASE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_pod_is_told),
        cmocka_unit_test(the_next_operator_asks_before_it_tells),
        cmocka_unit_test(a_refused_claim_is_told),
        cmocka_unit_test(its_cluster_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
