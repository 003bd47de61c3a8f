/* SPDX-License-Identifier: Apache-2.0 */
/* What a member's `init` has ended for: by its exit code, and by its words where that does not tell. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_trouble.h"

static void by_code_then_by_words(void **state)
{
    static const struct {
        const char *container;
        bool initialized;
        int code;
        const char *words;
        enum agent_init_fault fault;
    } rows[] = {
        {CONTAINER_INIT, false, 11, "no such option", AGENT_INIT_FAULT_MYCNF},
        {CONTAINER_INIT, false, 12, "nothing to run", AGENT_INIT_FAULT_IMAGE},
        {CONTAINER_INIT, false, 10, "/run/mysqld/my.cnf.new: No space left on device", AGENT_INIT_FAULT_OTHER},
        {CONTAINER_INIT, false, 1, "8.4.6 refuses my.cnf: unknown variable 'x'", AGENT_INIT_FAULT_MYCNF},
        {CONTAINER_INIT, false, 1, "this image holds neither mariadbd nor mysqld", AGENT_INIT_FAULT_IMAGE},
        {CONTAINER_INIT, false, 1, "the volume is full", AGENT_INIT_FAULT_OTHER},
        {CONTAINER_INIT, true, 11, "no such option", AGENT_INIT_FAULT_OTHER},
        {CONTAINER_MYSQL, false, 11, "8.4.6 refuses my.cnf", AGENT_INIT_FAULT_OTHER},
        {"", false, 0, "", AGENT_INIT_FAULT_OTHER},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct pod_object pod = {.initialized = rows[i].initialized,
            .problem_container = rows[i].container,
            .problem_reason = "CrashLoopBackOff",
            .problem_message = rows[i].words,
            .problem_exit = rows[i].code};
        const struct cluster_member member = {.pod = &pod};
        if (pod_init_fault(&pod) != rows[i].fault)
            fail_msg("%s %d: %s", rows[i].container, rows[i].code, rows[i].words);
        assert_int_equal(member_refuses_mycnf(&member), rows[i].fault == AGENT_INIT_FAULT_MYCNF);
        assert_int_equal(pod_blames_image(&pod), rows[i].fault == AGENT_INIT_FAULT_IMAGE);
    }
    assert_false(member_refuses_mycnf(&(const struct cluster_member){.pod = NULL}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_code_then_by_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
