/* SPDX-License-Identifier: Apache-2.0 */
/* For which news of a MysqlBackup its cluster is looked at. */
#include "common/base.h"

#include "operator/backup/backup_maps.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/api/projections.h"

#define CONDITION(reason, message)                                                                          \
    "\"conditions\":[{\"type\":\"Ready\",\"reason\":\"Pending\",\"message\":\"x\"},{\"type\":\"Accepted\"," \
    "\"reason\":\"" reason "\",\"message\":\"" message "\"}]"
#define PENDING "\"phase\":\"Pending\""

static struct kube_object *project(const char *status)
{
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *text =
        xasprintf("{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns1\",\"uid\":\"u\","
                  "\"resourceVersion\":\"1\"},\"spec\":{\"cluster\":\"shop\"},\"status\":{%s}}",
            status);
    struct kube_object *ret = projection_mysql_backup.project((struct json_slice){text, strlen(text)}, &err);
    if (!ret)
        fail_msg("%s", err.message);
    return ret;
}

static void changes(void **state)
{
    static const struct {
        const char *before, *now;
        bool is_news;
    } rows[] = {
        {PENDING, PENDING, false},
        {PENDING, "\"phase\":\"Running\"", true},
        {PENDING ",\"message\":\"a\"", PENDING ",\"message\":\"b\"", false},
        {PENDING, PENDING "," CONDITION("Accepted", "a"), false},
        {PENDING, PENDING "," CONDITION("PodRefused", "a"), true},
        {PENDING "," CONDITION("PodRefused", "a"), PENDING "," CONDITION("PodRefused", "a"), false},
        {PENDING "," CONDITION("PodRefused", "a"), PENDING "," CONDITION("PodRefused", "b"), true},
        {PENDING "," CONDITION("PodRefused", "a"), PENDING "," CONDITION("Accepted", "a"), true},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_object *before = project(rows[i].before), *now = project(rows[i].now);
        if (backup_phase_changed(before, now) != rows[i].is_news)
            fail_msg("row %zu", i);
        assert_true(backup_phase_changed(NULL, now) && backup_phase_changed(before, NULL));
        free(before);
        free(now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
