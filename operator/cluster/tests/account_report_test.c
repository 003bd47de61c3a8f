/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords: since when they are in force, what is told of a change, and which pods' kubelets are made to look. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/status/cluster_events.h"
#include "operator/cluster/status/cluster_report_accounts.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define NOW_MS (GOLDEN_NOW_MS - GOLDEN_NOW_MS % 1000)
#define CLUSTER                                                                                                \
    "{\"metadata\":{\"generation\":1},\"spec\":{\"config\":{\"spec\":{\"images\":{\"mysql\":\"mysql:8.4\"}}}," \
    "\"replicas\":1,\"storage\":{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},\"database\":\"d\","      \
    "\"username\":\"shop\",\"passwordSecret\":{\"name\":\"mine\"}},"                                           \
    "\"status\":{\"currentPrimary\":\"shop-mysql-0\",\"epoch\":1,\"initialized\":true}}"
#define OBSERVED                                                                                                 \
    "{\"pods\":{\"0\":{\"labels\":{\"kubemysql.dev/role\":\"primary\"}}},\"claims\":{\"0\":{}},\"children\":{}," \
    "\"agents\":{\"0\":{\"role\":\"Primary\",\"accountsApplied\":true,\"accountsHash\":\"old\"}}}"

static struct golden *make(void)
{
    _cleanup_(json_decrefp) json_t *cluster = json_parse(CLUSTER, strlen(CLUSTER), NULL);
    _cleanup_(json_decrefp) json_t *observed = json_parse(OBSERVED, strlen(OBSERVED), NULL);
    json_put(observed, "appliedSpec", json_deep_copy(json_object_get(cluster, "spec")));
    struct golden *golden = golden_new(cluster, observed);
    struct cluster_secrets_facts *facts = &golden->snapshot.secrets;
    for (int i = 0; i < ACCOUNT_KIND_COUNT; i++)
        facts->account_digests[i] = 100 + (uint64_t)i;
    snprintf(facts->accounts_hash, sizeof(facts->accounts_hash), "old");
    return golden;
}

/* The report becomes the last status. */
static const struct cluster_account *report(struct golden *golden, const char *name)
{
    struct cluster_accounts accounts;
    cluster_report_accounts(&golden->snapshot, &accounts);
    golden->snapshot.last.accounts = accounts;
    const struct cluster_account *account = cluster_accounts_find(&golden->snapshot.last.accounts, name);
    assert_non_null(account);
    return account;
}

static void note_applied(struct golden *golden)
{
    assert_true(cluster_accounts_are_applied(&golden->snapshot));
    memcpy(golden->snapshot.applied_accounts, golden->snapshot.secrets.account_digests,
        sizeof(golden->snapshot.applied_accounts));
}

/* The Secret has another password of that account, of which the server has not heard. */
static void change(struct golden *golden, enum cluster_account_kind kind, const char *hash)
{
    golden->snapshot.secrets.account_digests[kind] += 50;
    snprintf(golden->snapshot.secrets.accounts_hash, sizeof(golden->snapshot.secrets.accounts_hash), "%s", hash);
}

static void a_changed_password_is_not_in_force_until_the_server_has_it(void **state)
{
    UNUSED(state);
    struct golden *golden = make();
    const struct cluster_account *shop = report(golden, "shop");
    assert_true(shop->applied);
    assert_int_equal(shop->since_ms, NOW_MS);
    assert_string_equal(shop->secret, "mine");
    assert_string_equal(report(golden, "root")->secret, "shop-mysql-accounts");
    note_applied(golden);
    golden->snapshot.now_ms += 60000;
    assert_int_equal(report(golden, "shop")->since_ms, NOW_MS);
    change(golden, ACCOUNT_USER, "new");
    shop = report(golden, "shop");
    assert_false(shop->applied);
    assert_int_equal(shop->since_ms, NOW_MS + 60000);
    assert_true(report(golden, "root")->applied);
    golden->snapshot.now_ms += 5000;
    golden->snapshot.secrets = (struct cluster_secrets_facts){.user_password = USER_PASSWORD_OK};
    assert_false(report(golden, "shop")->applied); /* nothing is known at the moment */
    assert_int_equal(report(golden, "shop")->since_ms, NOW_MS + 60000);
    golden_free(golden);
}

/* It went so quickly that nobody saw it missing: it is in force since then all the same. And after a restart of the
 * operator, which does not know which one has changed. */
static void what_was_not_seen(void **state)
{
    UNUSED(state);
    struct golden *golden = make();
    report(golden, "root");
    note_applied(golden);
    golden->snapshot.now_ms += 60000;
    change(golden, ACCOUNT_ROOT, "old");
    assert_true(report(golden, "root")->applied);
    assert_int_equal(report(golden, "root")->since_ms, NOW_MS + 60000);
    assert_int_equal(report(golden, "shop")->since_ms, NOW_MS);
    memset(golden->snapshot.applied_accounts, 0, sizeof(golden->snapshot.applied_accounts));
    change(golden, ACCOUNT_ROOT, "new");
    assert_false(report(golden, "shop")->applied);
    assert_false(report(golden, "root")->applied);
    golden_free(golden);
    golden = make(); /* the same passwords once more, by an operator that has just started */
    report(golden, "root");
    ((struct agent_status *)(uintptr_t)golden->snapshot.members[0].agent)->accounts_applied = false;
    golden->snapshot.now_ms += 60000;
    assert_true(report(golden, "root")->applied);
    assert_int_equal(report(golden, "root")->since_ms, NOW_MS);
    golden_free(golden);
    golden = make(); /* a new cluster's */
    snprintf(golden->snapshot.secrets.accounts_hash, sizeof(golden->snapshot.secrets.accounts_hash), "new");
    assert_false(report(golden, "root")->applied);
    assert_int_equal(report(golden, "root")->since_ms, 0);
    assert_int_equal(cluster_accounts_pending_since_ms(&golden->snapshot.last.accounts), 0);
    golden_free(golden);
}

/* The passwords are the same, so their hash does not show it. */
static void an_account_of_another_name_is_not_applied_before_it_is_made(void **state)
{
    UNUSED(state);
    struct golden *golden = make();
    struct agent_status *agent = (struct agent_status *)(uintptr_t)golden->snapshot.members[0].agent;
    assert_true(report(golden, "shop")->applied); /* an agent of an earlier version does not say */
    agent->named_known = true;
    snprintf(agent->named_user, sizeof(agent->named_user), "before");
    snprintf(agent->named_database, sizeof(agent->named_database), "d");
    golden->snapshot.now_ms += 60000;
    assert_false(report(golden, "shop")->applied);
    assert_true(report(golden, "root")->applied);
    assert_int_equal(cluster_accounts_pending_since_ms(&golden->snapshot.last.accounts), NOW_MS + 60000);
    snprintf(agent->named_user, sizeof(agent->named_user), "shop");
    assert_true(report(golden, "shop")->applied);
    snprintf(agent->named_database, sizeof(agent->named_database), "before"); /* nor are its rights */
    assert_false(report(golden, "shop")->applied);
    golden_free(golden);
}

static void both_ends_of_a_change_are_told(void **state)
{
    UNUSED(state);
    struct golden *golden = make();
    struct cluster_news news[CLUSTER_ACCOUNT_NEWS_MAX];
    struct cluster_status before = {0}, now = {0};
    report(golden, "root");
    note_applied(golden);
    now.accounts = golden->snapshot.last.accounts;
    assert_int_equal(cluster_account_news(&before, &now, news), 0);
    before = now;
    golden->snapshot.now_ms += 60000;
    change(golden, ACCOUNT_USER, "new");
    report(golden, "shop");
    now.accounts = golden->snapshot.last.accounts;
    assert_int_equal(cluster_account_news(&before, &now, news), 1);
    assert_string_equal(news[0].reason, "PasswordChanged");
    assert_non_null(strstr(news[0].message, ": shop (Secret mine)"));
    assert_int_equal(cluster_account_news(&now, &now, news), 0);
    assert_int_equal(cluster_account_news(&now, &before, news), 1);
    assert_string_equal(news[0].reason, "PasswordApplied");
    assert_string_equal(news[0].message, "in force: shop (Secret mine)");
    golden_free(golden);
}

static const struct plan_action *find_mounts_patch(const struct plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        if (plan->actions[i].verb == PLAN_PATCH && plan->actions[i].kind == PLAN_POD &&
            json_object_get(json_path(plan->actions[i].body, "metadata.annotations"), ANNOTATION_MOUNTS_CHANGED))
            return &plan->actions[i];
    }
    return NULL;
}

static bool is_told(struct golden *golden)
{
    struct cluster_decision decision;
    cluster_decide_roles(&golden->snapshot, &decision);
    cluster_decide_plan(&golden->snapshot, &decision);
    bool told = find_mounts_patch(decision.plan);
    cluster_decision_release(&decision);
    return told;
}

static void the_kubelet_of_an_older_pod_is_made_to_look(void **state)
{
    UNUSED(state);
    struct golden *golden = make();
    struct pod_object *pod = (struct pod_object *)(uintptr_t)golden->snapshot.members[0].pod;
    pod->created_ms = NOW_MS - 3600000;
    report(golden, "root");
    note_applied(golden);
    assert_false(is_told(golden));
    change(golden, ACCOUNT_ROOT, "new");
    report(golden, "root");
    assert_true(is_told(golden));
    pod->created_ms = NOW_MS + 1000;
    assert_false(is_told(golden));
    pod->created_ms = NOW_MS - 3600000;
    char since[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(NOW_MS, since);
    pod->mounts_changed = since;
    assert_false(is_told(golden));
    pod->mounts_changed = "";
    golden_free(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_password_is_not_in_force_until_the_server_has_it),
        cmocka_unit_test(what_was_not_seen),
        cmocka_unit_test(an_account_of_another_name_is_not_applied_before_it_is_made),
        cmocka_unit_test(both_ends_of_a_change_are_told),
        cmocka_unit_test(the_kubelet_of_an_older_pod_is_made_to_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
