/* SPDX-License-Identifier: Apache-2.0 */
/* When data is asked for again: soon where others failed, ever later where it fails by itself in the same way. */
#include "common/base.h"

#include "agent/seed_retry.h"

#include <setjmp.h>
#include <cmocka.h>

static int64_t fails(struct seed_retry *retry, enum error_kind kind, const char *message)
{
    struct error err = ERROR_INIT;

    error_set(&err, kind, "%s", message);
    return seed_retry_in_ms(retry, &err);
}

static void test_what_fails_by_itself_pauses_longer_each_time(void **unused)
{
    struct seed_retry retry = {.backoff.random_state = 1};
    char message[64];

    UNUSED(unused);
    for (int i = 1; i <= 9; i++) {
        snprintf(message, sizeof(message), "mariadb-backup ended with status 1: thread %d: no room", 4000 + i);
        int64_t pause_ms = fails(&retry, ERROR_IO, message);
        int64_t wanted_ms = i == 1 ? 1000 : MIN_OF((int64_t)SEED_RETRY_OWN_MS << (i - 2), SEED_RETRY_OWN_MAX_MS);
        if (i == 1 ? pause_ms > wanted_ms : pause_ms != wanted_ms)
            fail_msg("attempt %d: %lld ms", i, (long long)pause_ms);
        assert_int_equal(seed_retry_is_hopeless(&retry), i >= SEED_RETRY_HOPELESS);
    }
    assert_true(fails(&retry, ERROR_IO, "the server cannot be started on the copy") <= 30000);
    assert_false(seed_retry_is_hopeless(&retry));
    seed_retry_reset(&retry);
    assert_true(fails(&retry, ERROR_IO, "mariadb-backup") <= 1000);
}

static void test_others_come_back(void **unused)
{
    struct seed_retry retry = {.backoff.random_state = 1};

    UNUSED(unused);
    for (int i = 0; i < 50; i++)
        assert_true(fails(&retry, ERROR_UNAVAILABLE, "the donor is not ready") <= 30000);
    assert_false(seed_retry_is_hopeless(&retry));
    for (int i = 0; i < 50; i++) /* in between a connection is lost */
        assert_true(fails(&retry, i % 2 ? ERROR_IO : ERROR_TIMEOUT, "it ended with status 1") <= 30000);
    assert_false(seed_retry_is_hopeless(&retry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fails_by_itself_pauses_longer_each_time),
        cmocka_unit_test(test_others_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
