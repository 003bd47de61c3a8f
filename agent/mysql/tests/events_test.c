/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/events.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

static void test_the_user_may_have_none(void **unused)
{
    static const struct {
        const char *user;
        bool wished;
    } rows[] = {
        {"", true},
        {"event_scheduler = OFF", false},
        {"loose-event-scheduler=\"DISABLED\"", false},
        {"event_scheduler=0", false},
        {"event_scheduler = off # not now", false},
        {"event_scheduler = OFF\nevent_scheduler = ON", true},
        {"# event_scheduler = OFF", true},
        {"event_scheduler_x = OFF", true},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *text = xasprintf(
            "[mysqld]\n%s\n\n# this instance; the last setting of a key wins\n[mysqld]\nevent_scheduler = OFF\n",
            rows[i].user);
        assert_int_equal(events_wished(text), rows[i].wished);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_user_may_have_none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
