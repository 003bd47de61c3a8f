/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every reconcile begins with. The controller, the client, the cache and the recorder of Events are replaced at
 * link time: the test sees what is asked of them, and gives the answers.
 */
#include "common/base.h"

#include "operator/runtime/reconcile_context.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "operator/kube/kube_condition.h"

enum { DONE = RECONCILE_DONE, WRITE, NEXT, FAILED };

struct reconcile {
    const char *key;
};

struct work {
    struct reconcile_context context;
    int entered; /* the phase after the write */
};

static struct {
    /* what was asked */
    char *asked;
    kube_done_fn done;
    void *arg;
    int observed;
    char *event;
    /* the end */
    int released, finished;
    enum error_kind error;
    char message[ERROR_MESSAGE_MAX];
    int64_t again_ms;
} seen;

/* ---- stand-ins ---- */

const char *reconcile_key(const struct reconcile *run)
{
    return run->key;
}

void reconcile_finish(struct reconcile *run, const struct error *err, int64_t requeue_after_ms)
{
    UNUSED(run);
    assert_int_equal(seen.released, 1); /* nothing of the work is left when the key may come again */
    seen.finished++;
    seen.error = err ? err->kind : ERROR_NONE;
    snprintf(seen.message, sizeof(seen.message), "%s", err ? err->message : "");
    seen.again_ms = requeue_after_ms;
}

static struct kube_request *ask(const char *verb, const json_t *body, kube_done_fn done, void *arg)
{
    char *text = body ? json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    free(seen.asked);
    seen.asked = xasprintf("%s%s%s", verb, text ? " " : "", text ? text : "");
    seen.done = done;
    seen.arg = arg;
    free(text);
    return NULL;
}

struct kube_request *kube_get(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, kube_done_fn done, void *arg)
{
    UNUSED(client);
    UNUSED(resource);
    assert_string_equal(ns, "shop");
    assert_string_equal(name, "db");
    return ask("get", NULL, done, arg);
}

struct kube_request *kube_patch(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const char *subresource, enum kube_patch_type type, const json_t *patch, kube_done_fn done,
    void *arg)
{
    UNUSED(client);
    UNUSED(resource);
    assert_string_equal(ns, "shop");
    assert_string_equal(name, "db");
    assert_int_equal(type, KUBE_PATCH_MERGE);
    return ask(subresource ? "patch status" : "patch", patch, done, arg);
}

struct kube_request *kube_apply_status(struct kube_client *client, const struct kube_resource *resource,
    const json_t *object, kube_done_fn done, void *arg)
{
    UNUSED(client);
    UNUSED(resource);
    return ask("apply status", object, done, arg);
}

void informer_observe_write(struct informer *informer, const struct kube_answer *answer)
{
    UNUSED(informer);
    assert_non_null(answer);
    seen.observed++;
}

void event_record(struct event_recorder *recorder, const struct event_target *target, enum event_type type,
    const char *reason, const char *fmt, ...)
{
    _cleanup_(freep) char *text = NULL;
    va_list ap;
    UNUSED(recorder);
    va_start(ap, fmt);
    assert_true(vasprintf(&text, fmt, ap) >= 0);
    va_end(ap);
    free(seen.event);
    seen.event = xasprintf("%s %s/%s %s %s %s: %s", target->resource->kind->kind, target->ns, target->name, target->uid,
        type == EVENT_WARNING ? "Warning" : "Normal", reason, text);
}

/* ---- a work of three phases ---- */

static const struct kube_kind kind = {
    .group = "kubemysql.dev", .kind = "Thing", .plural = "things", .namespaced = true, .versions = {"v1"}};
static const struct kube_resource resource = {&kind, "v1"};

static int next(void *arg)
{
    struct work *work = arg;
    work->entered = NEXT;
    return PHASES_WAIT;
}

static int failed(void *arg)
{
    struct work *work = arg;
    work->entered = FAILED;
    return PHASES_WAIT;
}

static int wait_for_it(void *arg)
{
    UNUSED(arg);
    return PHASES_WAIT;
}

static const phase_fn phases[] = {[DONE] = reconcile_done, [WRITE] = wait_for_it, [NEXT] = next, [FAILED] = failed};

static void release(void *arg)
{
    struct work *work = arg;
    seen.released++;
    reconcile_context_release(&work->context);
    free(work);
}

static struct work *begin(void)
{
    static struct reconcile run = {"shop/db"};
    free(seen.asked);
    memset(&seen, 0, sizeof(seen));
    struct work *work = xnew(struct work);
    reconcile_context_init(work, &run, NULL, "shop", "db", "uid-1", release);
    assert_string_equal(work->context.key, "shop/db");
    reconcile_context_start(&work->context, phases, WRITE);
    return work;
}

static void end(struct work *work)
{
    phases_go_on(&work->context.phases, DONE);
    free(seen.asked);
    seen.asked = NULL;
}

static void answer_with(const char *object)
{
    json_t *json = object ? json_loads(object, 0, NULL) : NULL;
    const struct kube_answer answer = {.object = json};
    seen.done(seen.arg, &answer, NULL);
    json_decref(json);
}

static void answer_error(enum error_kind error)
{
    struct error err = ERROR_INIT;
    const struct kube_answer answer = {.object = NULL};
    error_set(&err, error, "told by the server");
    seen.done(seen.arg, &answer, &err);
}

/* ---- the end ---- */

static void without_an_error_it_comes_again_at_the_earliest_time(void **state)
{
    UNUSED(state);
    struct work *work = begin();
    reconcile_again_in(&work->context, 5000);
    reconcile_again_in(&work->context, 0);
    reconcile_again_in(&work->context, 300);
    reconcile_again_in(&work->context, 400);
    end(work);
    assert_int_equal(seen.finished, 1);
    assert_int_equal(seen.error, ERROR_NONE);
    assert_int_equal(seen.again_ms, 300);
}

static void the_first_error_counts_and_backs_off(void **state)
{
    UNUSED(state);
    struct error first = ERROR_INIT, second = ERROR_INIT;
    struct work *work = begin();
    error_set(&first, ERROR_TIMEOUT, "no answer");
    error_set(&second, ERROR_CONFLICT, "too late");
    reconcile_again_in(&work->context, 300);
    reconcile_fail(&work->context, &first, "the pod");
    reconcile_fail(&work->context, &second, NULL);
    end(work);
    assert_int_equal(seen.error, ERROR_TIMEOUT);
    assert_string_equal(seen.message, "the pod: no answer");
    assert_int_equal(seen.again_ms, 0);
}

/* ---- Events ---- */

static void an_event_is_about_the_object_and_no_longer_than_a_condition(void **state)
{
    static const char head[] = "Thing shop/db uid-1 Warning Late: 7 of ";
    char longer[2 * KUBE_CONDITION_MESSAGE_MAX];
    UNUSED(state);
    struct work *work = begin();
    reconcile_tell(&work->context, NULL, &resource, EVENT_WARNING, "Late", "%d of %s", 7, "100%s");
    assert_string_equal(seen.event, "Thing shop/db uid-1 Warning Late: 7 of 100%s");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    reconcile_tell(&work->context, NULL, &resource, EVENT_WARNING, "Late", "7 of %s", longer);
    assert_int_equal(strlen(seen.event), strlen(head) - strlen("7 of ") + KUBE_CONDITION_MESSAGE_MAX - 1);
    free(seen.event);
    seen.event = NULL;
    end(work);
}

/* ---- writes ---- */

static void a_write_goes_on_as_it_is_expected(void **state)
{
    static const struct {
        enum error_kind answer; /* NONE: taken */
        int entered, observed;
        bool written;
        enum error_kind error;
    } rows[] = {
        {ERROR_NONE, NEXT, 1, true, ERROR_NONE},
        {ERROR_EXISTS, NEXT, 0, false, ERROR_NONE}, /* `but` */
        {ERROR_NOT_FOUND, FAILED, 0, false, ERROR_NOT_FOUND},
        {ERROR_CONFLICT, FAILED, 0, false, ERROR_CONFLICT},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct work *work = begin();
        const struct reconcile_write write = {
            .informer = (struct informer *)work, .what = "it", .but = ERROR_EXISTS, .next = NEXT, .failed = FAILED};
        seen.done = reconcile_on_written;
        seen.arg = reconcile_expect(&work->context, &write);
        if (rows[i].answer)
            answer_error(rows[i].answer);
        else
            answer_with("{}");
        assert_int_equal(work->entered, rows[i].entered);
        assert_int_equal(seen.observed, rows[i].observed);
        assert_int_equal(work->context.written, rows[i].written);
        assert_int_equal(work->context.error.kind, rows[i].error);
        end(work);
    }
}

static void a_status_is_written_under_the_version_that_was_read(void **state)
{
    UNUSED(state);
    struct work *work = begin();
    const struct reconcile_write write = {.what = "status", .next = NEXT, .failed = FAILED};
    reconcile_apply_status(&work->context, &resource, json_build("{s:i}", "replicas", 3), "77", &write);
    assert_string_equal(seen.asked,
        "apply status {\"apiVersion\":\"kubemysql.dev/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"db\","
        "\"namespace\":\"shop\",\"resourceVersion\":\"77\",\"uid\":\"uid-1\"},\"status\":{\"replicas\":3}}");
    answer_error(ERROR_CONFLICT);
    assert_int_equal(work->entered, FAILED);
    end(work);
    assert_string_equal(seen.message, "status: told by the server");
}

static void the_status_of_an_object_that_is_gone_is_no_error(void **state)
{
    UNUSED(state);
    struct work *work = begin();
    const struct reconcile_write write = {.what = "status", .next = NEXT, .failed = FAILED};
    reconcile_patch_status(&work->context, &resource, json_build("{s:i}", "replicas", 3), &write);
    assert_string_equal(seen.asked, "patch status {\"metadata\":{\"uid\":\"uid-1\"},\"status\":{\"replicas\":3}}");
    answer_error(ERROR_NOT_FOUND);
    assert_int_equal(work->entered, FAILED);
    assert_int_equal(work->context.error.kind, ERROR_NONE);
    end(work);
}

/* ---- finalizers ---- */

#define OURS "kubemysql.dev/ours"

static const char plain[] = "{\"metadata\":{\"uid\":\"uid-1\",\"resourceVersion\":\"5\",\"finalizers\":[\"theirs\"]}}";
static const char held[] =
    "{\"metadata\":{\"uid\":\"uid-1\",\"resourceVersion\":\"5\",\"finalizers\":[\"" OURS "\",\"theirs\"]}}";
static const char deleted[] = "{\"metadata\":{\"uid\":\"uid-1\",\"resourceVersion\":\"5\",\"deletionTimestamp\":\"t\","
                              "\"finalizers\":[\"" OURS "\",\"theirs\"]}}";
static const char another[] = "{\"metadata\":{\"uid\":\"uid-2\",\"resourceVersion\":\"5\"}}";

static struct work *ask_for_finalizer(bool wanted, const char *object)
{
    struct work *work = begin();
    const struct reconcile_finalizer finalizer = {&resource, OURS, wanted};
    const struct reconcile_write write = {.next = NEXT, .failed = FAILED};
    reconcile_write_finalizer(&work->context, &finalizer, &write);
    assert_string_equal(seen.asked, "get");
    answer_with(object);
    return work;
}

static void a_finalizer_is_added_beside_those_of_others(void **state)
{
    UNUSED(state);
    struct work *work = ask_for_finalizer(true, plain);
    assert_string_equal(
        seen.asked, "patch {\"metadata\":{\"finalizers\":[\"theirs\",\"" OURS "\"],\"resourceVersion\":\"5\"}}");
    answer_with(held);
    assert_int_equal(work->entered, NEXT);
    end(work);
}

static void a_finalizer_is_removed_and_the_object_may_be_gone(void **state)
{
    UNUSED(state);
    ask_for_finalizer(false, deleted);
    assert_string_equal(seen.asked, "patch {\"metadata\":{\"finalizers\":[\"theirs\"],\"resourceVersion\":\"5\"}}");
    answer_with(deleted);
    assert_int_equal(seen.finished, 1);
    struct work *work = ask_for_finalizer(false, held); /* it is kept, and nothing holds it any more */
    answer_with(plain);
    assert_int_equal(work->entered, NEXT);
    end(work);
}

static void a_finalizer_that_cannot_be_changed_ends_the_reconcile(void **state)
{
    static const struct {
        bool wanted;
        const char *object;
        enum error_kind error;
    } rows[] = {
        {true, another, ERROR_NONE},
        {false, another, ERROR_NONE},
        {true, deleted, ERROR_NONE},
        {true, held, ERROR_CONFLICT},
        {false, plain, ERROR_CONFLICT},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ask_for_finalizer(rows[i].wanted, rows[i].object);
        assert_string_equal(seen.asked, "get");
        assert_int_equal(seen.finished, 1);
        assert_int_equal(seen.error, rows[i].error);
    }
    free(seen.asked);
    seen.asked = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_error_it_comes_again_at_the_earliest_time),
        cmocka_unit_test(the_first_error_counts_and_backs_off),
        cmocka_unit_test(an_event_is_about_the_object_and_no_longer_than_a_condition),
        cmocka_unit_test(a_write_goes_on_as_it_is_expected),
        cmocka_unit_test(a_status_is_written_under_the_version_that_was_read),
        cmocka_unit_test(the_status_of_an_object_that_is_gone_is_no_error),
        cmocka_unit_test(a_finalizer_is_added_beside_those_of_others),
        cmocka_unit_test(a_finalizer_is_removed_and_the_object_may_be_gone),
        cmocka_unit_test(a_finalizer_that_cannot_be_changed_ends_the_reconcile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
