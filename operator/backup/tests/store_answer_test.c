/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server's answers to the pod in front of a volume, and to its claim, come to. */
#include "common/base.h"

#include "operator/backup/store_answer.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

#define QUOTA "Pod p: pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
#define LIMIT "Pod p: maximum memory usage per Container is 200Mi, but limit is 256Mi"
#define CLAIM "PersistentVolumeClaim c: maximum storage usage per PersistentVolumeClaim is 200Mi, but request is 300Mi"
#define CLAIM_QUOTA                                                                                             \
    "PersistentVolumeClaim c: exceeded quota: q, requested: requests.storage=300Mi, used: requests.storage=0, " \
    "limited: requests.storage=200Mi"

static struct plan *plan_of(bool makes)
{
    struct plan *plan = plan_new();
    if (makes)
        plan_add_apply(plan, PLAN_POD, NULL,
            json_build("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Pod", "metadata", "name", "p",
                "namespace", "ns1"),
            NULL);
    else
        plan_add_delete(plan, PLAN_POD, "ns1", "p", "u", NULL);
    return plan;
}

static void answers(void **state)
{
    static const struct {
        enum error_kind kind; /* ERROR_NONE: it was made */
        const char *message, *text;
        bool is_refused, stays;
    } rows[] = {
        {ERROR_FORBIDDEN, QUOTA, QUOTA "; raise the ResourceQuota of namespace ns1", true, false},
        {ERROR_FORBIDDEN, LIMIT, LIMIT "; let the LimitRange of namespace ns1 allow it", true, true},
        {ERROR_FORBIDDEN, CLAIM, CLAIM "; choose a size within the LimitRange of namespace ns1", true, true},
        {ERROR_FORBIDDEN, CLAIM_QUOTA,
            CLAIM_QUOTA "; raise the ResourceQuota of namespace ns1, or let persistentVolumeClaim.size ask for less",
            true, true},
        {ERROR_FORBIDDEN, "Pod p: failed quota: q: must specify limits.cpu for: store",
            "Pod p: failed quota: q: must specify limits.cpu for: store; let a LimitRange give the requests and limits "
            "that the ResourceQuota of namespace ns1 asks for",
            true, true},
        {ERROR_UNAVAILABLE, "no leader", "no leader", false, false},
        {ERROR_EXISTS, "Pod p exists and is not ours", "Pod p exists and is not ours", false, false},
        {ERROR_NONE, "", "", false, false},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_answer answer = {.is_known = false};
        struct error err = ERROR_INIT;
        _cleanup_(plan_freep) struct plan *plan = plan_of(true);
        if (rows[i].kind)
            error_set(&err, rows[i].kind, "%s", rows[i].message);
        const struct error *said = rows[i].kind ? &err : NULL;
        assert_true(store_answer_take(&answer, "ns1", plan, said) == (rows[i].kind != ERROR_NONE));
        assert_string_equal(answer.text, rows[i].text);
        assert_true(answer.is_known);
        assert_int_equal(answer.is_refused, rows[i].is_refused);
        assert_int_equal(answer.stays, rows[i].stays);
        assert_false(store_answer_take(&answer, "ns1", plan, said)); /* nothing new */
    }
}

static void long_words_leave_room_for_what_to_do(void **state)
{
    UNUSED(state);
    char words[ERROR_MESSAGE_MAX];
    struct store_answer answer = {.is_known = false};
    struct error err = ERROR_INIT;
    _cleanup_(plan_freep) struct plan *plan = plan_of(true);
    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    memcpy(words, "denied the request", strlen("denied the request"));
    error_set(&err, ERROR_FORBIDDEN, "%s", words);
    store_answer_take(&answer, "ns1", plan, &err);
    assert_int_equal(strlen(answer.text), sizeof(answer.text) - 1);
    assert_non_null(
        strstr(answer.text, "www...; change what the admission webhook names, or its policy for namespace ns1"));
}

static void a_deletion_says_nothing(void **state)
{
    UNUSED(state);
    struct store_answer answer = {.is_known = true, .is_refused = true, .text = "no"};
    _cleanup_(plan_freep) struct plan *plan = plan_of(false);
    assert_false(store_answer_take(&answer, "ns1", plan, NULL));
    assert_string_equal(answer.text, "no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(long_words_leave_room_for_what_to_do),
        cmocka_unit_test(a_deletion_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
