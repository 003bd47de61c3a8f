/* SPDX-License-Identifier: Apache-2.0 */
/* Of which server the data is, when an image is judged by it: of the one that runs on the primary's, or ran there
 * last. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define CLUSTER                                                                               \
    "{\"spec\":{\"replicas\":2,\"config\":{\"spec\":{\"images\":{\"mysql\":\"mysql:8.4\"}}}," \
    "\"storage\":{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}},"                      \
    "\"status\":{\"epoch\":1,\"initialized\":true,\"currentPrimary\":\"shop-mysql-0\",\"dataVersion\":\"%s\"}}"

static const struct {
    const char *what, *last, *agents, *expected;
} rows[] = {
    {"the primary's server runs", "10.6.18-MariaDB", "{\"0\":{\"version\":\"10.11.6-MariaDB\"}}", "10.11.6-MariaDB"},
    {"a replica is further, by a change that was undone", "10.11.6-MariaDB", "{\"1\":{\"version\":\"11.8.3-MariaDB\"}}",
        "10.11.6-MariaDB"},
    {"init of another image waits on the data", "11.8.3-MariaDB",
        "{\"0\":{\"phase\":\"Seeding\",\"version\":\"10.11.6-MariaDB\"}}", "11.8.3-MariaDB"},
    {"the primary is silent", "11.8.3-MariaDB", "{\"0\":null}", "11.8.3-MariaDB"},
    {"nothing is known", "", "{\"0\":null,\"1\":null}", ""},
};

static void the_data_is_of_the_server_that_ran_last(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *text = xasprintf(CLUSTER, rows[i].last);
        _cleanup_(freep) char *observed_text =
            xasprintf("{\"children\":{},\"pods\":{\"0\":{},\"1\":{}},\"agents\":%s}", rows[i].agents);
        _cleanup_(json_decrefp) json_t *cluster = json_parse(text, strlen(text), NULL);
        _cleanup_(json_decrefp) json_t *observed = json_parse(observed_text, strlen(observed_text), NULL);
        struct golden *golden = golden_new(cluster, observed);
        const char *found = cluster_data_version(&golden->snapshot);
        if (!str_eq(found, rows[i].expected))
            fail_msg("%s: %s", rows[i].what, found);
        _cleanup_(freep) char *instance = desired_check_instance_json(&golden->snapshot, CHECK_LOOK);
        if (!str_empty(rows[i].expected) && !strstr(instance, rows[i].expected))
            fail_msg("%s: the check pod is told %s", rows[i].what, instance);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_data_is_of_the_server_that_ran_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
