/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Electors against a scripted API server that lives in this file: it stands in for kube_client and informer at link
 * time, answers from the loop, and can fail, lose or delay any request. Several electors share it.
 */
#include "common/base.h"

#include "operator/kube/leader_elector.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/tests/clock_util.h"
#include "operator/kube/informer.h"
#include "operator/kube/lease.h"

#define LEASE_MS 1000 /* the smallest that leaseDurationSeconds can say */
#define RENEW_MS 600
#define RETRY_MS 100
#define ELECTORS_MAX 3

/* ---- the server ---- */

enum fault { FAULT_NONE, FAULT_500, FAULT_CONFLICT, FAULT_SILENT, FAULT_LOST_ANSWER };

struct kube_client {
    enum fault fault; /* of everything it asks */
    int fault_count;  /* how often yet; -1: for ever */
    bool watch_cut;   /* its informer hears nothing */
    int writes, reads;
};

struct informer {
    struct informer *next;
    struct kube_client *client;
    informer_handler_fn handler;
    void *arg;
    bool started;
};

struct kube_request {
    struct kube_client *client;
    struct loop_timer timer;
    char verb; /* g, c, p */
    json_t *body;
    kube_done_fn done;
    void *arg;
};

static struct {
    struct loop *loop;
    json_t *lease;
    int version;
    struct informer *informers;
    int64_t changed_ms;
} server;

static const struct kube_resource lease_resource = {.kind = &kube_kind_lease, .version = "v1"};

static struct kube_object *project(const json_t *lease)
{
    _cleanup_(freep) char *text = json_text(lease);
    struct json_slice slice = {.data = text, .len = strlen(text)};
    struct error err = ERROR_INIT;
    struct kube_object *object = lease_projection.project(slice, &err);
    assert_non_null(object);
    return object;
}

static void server_tell(void)
{
    for (struct informer *informer = server.informers; informer; informer = informer->next) {
        if (!informer->started || informer->client->watch_cut)
            continue;
        struct kube_object *object = server.lease ? project(server.lease) : NULL;
        informer->handler(informer->arg, NULL, object);
        free(object);
    }
}

static void server_changed(void)
{
    char version[16];
    snprintf(version, sizeof(version), "%d", ++server.version);
    if (server.lease)
        json_object_set_new(json_object_get(server.lease, "metadata"), "resourceVersion", json_string(version));
    server.changed_ms = clock_monotonic_ms();
}

static const char *server_holder(void)
{
    return json_path_str(server.lease, "spec.holderIdentity", "");
}

/* Somebody else writes the lease. */
static void server_set_holder(const char *holder, const char *renew_time, int seconds)
{
    json_decref(server.lease);
    server.lease = json_build("{s:{s:s,s:s,s:s}, s:{s:s,s:s,s:i,s:i}}", "metadata", "name", "l", "namespace", "n",
        "uid", "6b1c2bd0-0000-4000-8000-000000000001", "spec", "holderIdentity", holder, "renewTime", renew_time,
        "leaseDurationSeconds", seconds, "leaseTransitions", 7);
    server_changed();
    server_tell();
}

static enum error_kind server_apply(struct kube_request *request)
{
    const char *theirs = json_path_str(request->body, "metadata.resourceVersion", NULL);
    if (request->verb == 'g')
        return server.lease ? ERROR_NONE : ERROR_NOT_FOUND;
    if (request->verb == 'c') {
        if (server.lease)
            return ERROR_EXISTS;
        assert_null(theirs);
        server.lease = json_deep_copy(request->body);
    } else {
        if (!server.lease)
            return ERROR_NOT_FOUND;
        assert_non_null(theirs);
        if (!str_eq(theirs, json_path_str(server.lease, "metadata.resourceVersion", NULL)))
            return ERROR_CONFLICT;
        json_merge(server.lease, request->body);
    }
    server_changed();
    return ERROR_NONE;
}

static void request_free(struct kube_request *request)
{
    loop_timer_release(&request->timer);
    json_decref(request->body);
    free(request);
}

static void request_answer(void *arg)
{
    struct kube_request *request = arg;
    struct kube_client *client = request->client;
    enum fault fault = client->fault_count ? client->fault : FAULT_NONE;
    struct error err = ERROR_INIT;
    bool changes = request->verb != 'g';
    if (fault != FAULT_NONE && client->fault_count > 0)
        client->fault_count--;
    if (fault == FAULT_SILENT)
        return;
    enum error_kind kind = fault == FAULT_500 ? ERROR_UNAVAILABLE : ERROR_CONFLICT;
    if (fault == FAULT_NONE || fault == FAULT_LOST_ANSWER)
        kind = server_apply(request);
    if (fault == FAULT_LOST_ANSWER && kind == ERROR_NONE)
        kind = ERROR_TIMEOUT;
    if (kind != ERROR_NONE)
        error_set(&err, kind, "scripted");
    _cleanup_(freep) char *text = json_text(server.lease ? server.lease : json_null());
    const struct kube_answer answer = {
        .object = server.lease, .raw = {.data = text, .len = strlen(text)}, .status = 200};
    request->done(request->arg, &answer, kind == ERROR_NONE ? NULL : &err);
    request_free(request);
    if (changes && (kind == ERROR_NONE || fault == FAULT_LOST_ANSWER))
        server_tell();
}

static struct kube_request *request_new(
    struct kube_client *client, char verb, const json_t *body, kube_done_fn done, void *arg)
{
    struct kube_request *request = xnew(struct kube_request);
    *request = (struct kube_request){.client = client, .verb = verb, .done = done, .arg = arg};
    request->body = body ? json_deep_copy(body) : NULL;
    *(verb == 'g' ? &client->reads : &client->writes) += 1;
    loop_timer_init(&request->timer, server.loop, request_answer, request);
    loop_timer_arm(&request->timer, 2);
    return request;
}

/* The contracts of kube_client.h and informer.h, as far as the elector uses them. */

struct kube_request *kube_get(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, kube_done_fn done, void *arg)
{
    assert_ptr_equal(resource->kind, &kube_kind_lease);
    assert_string_equal(ns, "n");
    assert_string_equal(name, "l");
    return request_new(client, 'g', NULL, done, arg);
}

struct kube_request *kube_create(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const json_t *object, kube_done_fn done, void *arg)
{
    UNUSED(resource);
    UNUSED(ns);
    assert_string_equal(json_path_str(object, "kind", ""), "Lease");
    assert_string_equal(json_path_str(object, "apiVersion", ""), "coordination.k8s.io/v1");
    return request_new(client, 'c', object, done, arg);
}

struct kube_request *kube_patch(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const char *subresource, enum kube_patch_type type, const json_t *patch, kube_done_fn done,
    void *arg)
{
    UNUSED(resource);
    UNUSED(ns);
    UNUSED(name);
    assert_null(subresource);
    assert_int_equal(type, KUBE_PATCH_MERGE);
    return request_new(client, 'p', patch, done, arg);
}

void kube_request_cancel(struct kube_request *request)
{
    request_free(request);
}

struct informer *informer_new(struct loop *loop, struct kube_client *client, const struct kube_resource *resource,
    const struct kube_projection *projection, const struct informer_options *options)
{
    UNUSED(loop);
    UNUSED(resource);
    assert_ptr_equal(projection, &lease_projection);
    assert_string_equal(options ? options->field_selector : "", "metadata.name=l");
    struct informer *informer = xnew(struct informer);
    informer->client = client;
    informer->next = server.informers;
    server.informers = informer;
    return informer;
}

void informer_add_handler(struct informer *informer, informer_handler_fn fn, void *arg)
{
    informer->handler = fn;
    informer->arg = arg;
}

void informer_start(struct informer *informer)
{
    informer->started = true;
}

void informer_free(struct informer *informer)
{
    if (!informer)
        return;
    struct informer **link = &server.informers;
    while (*link != informer)
        link = &(*link)->next;
    *link = informer->next;
    free(informer);
}

/* ---- the electors ---- */

struct member {
    struct kube_client client;
    struct leader_elector *elector;
    int started, stopped, released;
    unsigned stretch; /* as it was told last; 0: it was not */
    int64_t started_ms;
    char leader[32];
};

static struct member members[ELECTORS_MAX];

static void on_started(void *arg)
{
    struct member *member = arg;
    member->started++;
    member->started_ms = clock_monotonic_ms();
    for (size_t i = 0; i < ELECTORS_MAX; i++) /* never two at once */
        assert_true(&members[i] == member || !leader_elector_is_leader(members[i].elector));
}

static void on_stopped(void *arg)
{
    ((struct member *)arg)->stopped++;
}

static void on_new_leader(void *arg, const char *identity)
{
    struct member *member = arg;
    snprintf(member->leader, sizeof(member->leader), "%s", identity);
}

static void on_released(void *arg)
{
    ((struct member *)arg)->released++;
}

static void on_stretched(void *arg, unsigned stretch)
{
    ((struct member *)arg)->stretch = stretch;
}

static struct member *member_start(size_t i)
{
    char identity[16];
    snprintf(identity, sizeof(identity), "m%zu", i);
    const struct leader_elector_options options = {
        .ns = "n",
        .name = "l",
        .identity = identity,
        .lease_duration_ms = LEASE_MS,
        .renew_deadline_ms = RENEW_MS,
        .retry_period_ms = RETRY_MS,
        .stretch = members[i].stretch,
        .stretched = on_stretched,
        .started_leading = on_started,
        .stopped_leading = on_stopped,
        .new_leader = on_new_leader,
        .arg = &members[i],
    };
    members[i].elector = leader_elector_new(server.loop, &members[i].client, &lease_resource, &options);
    leader_elector_start(members[i].elector);
    return &members[i];
}

static void run_for(int64_t ms)
{
    int64_t until_ms = clock_monotonic_ms() + ms;
    for (int64_t left_ms = ms; left_ms > 0; left_ms = until_ms - clock_monotonic_ms())
        loop_run_once(server.loop, left_ms);
}

/* Runs until *counter reaches want, at most limit_ms; returns how long it took. */
static int64_t run_until(const int *counter, int want, int64_t limit_ms)
{
    int64_t begin_ms = clock_monotonic_ms();
    while (*counter < want && clock_monotonic_ms() - begin_ms < limit_ms)
        loop_run_once(server.loop, 10);
    assert_int_equal(*counter, want);
    return clock_monotonic_ms() - begin_ms;
}

/* The process dies: no goodbye. */
static void member_crash(struct member *member)
{
    leader_elector_free(steal_ptr(member->elector));
}

static int set_up(void **state)
{
    UNUSED(state);
    memset(&server, 0, sizeof(server));
    memset(members, 0, sizeof(members));
    clock_stand_still();
    server.loop = loop_new();
    return 0;
}

static int tear_down(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ELECTORS_MAX; i++)
        leader_elector_free(members[i].elector);
    assert_null(server.informers);
    json_decref(server.lease);
    loop_free(server.loop);
    return 0;
}

/* ---- cases ---- */

static void test_makes_the_lease_and_renews_it(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    assert_false(leader_elector_is_leader(a->elector));
    run_until(&a->started, 1, 2000);
    assert_true(leader_elector_is_leader(a->elector));
    assert_string_equal(server_holder(), "m0");
    assert_string_equal(a->leader, "m0");
    assert_int_equal(json_path_int(server.lease, "spec.leaseDurationSeconds", 0), 1);
    assert_string_equal(json_path_str(server.lease, "metadata.name", ""), "l");
    int before = server.version;
    run_for(2 * LEASE_MS);
    assert_true(leader_elector_is_leader(a->elector));
    assert_in_range(server.version - before, LEASE_MS / RETRY_MS, 2 * LEASE_MS / RETRY_MS + 1);
    assert_int_equal(a->stopped, 0);
    assert_int_equal(json_path_int(server.lease, "spec.leaseTransitions", -1), 0);
}

static void test_labels_of_others_stay(void **state)
{
    UNUSED(state);
    server_set_holder("", "2026-01-01T00:00:00.000000Z", 1);
    json_object_set_new(json_object_get(server.lease, "metadata"), "labels", json_build("{s:s}", "team", "db"));
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    run_for(3 * RETRY_MS);
    assert_string_equal(json_path_str(server.lease, "metadata.labels.team", ""), "db");
    assert_int_equal(json_path_int(server.lease, "spec.leaseTransitions", -1), 8);
}

static void test_released_is_taken_at_once(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    struct member *b = member_start(1);
    run_for(3 * RETRY_MS);
    assert_int_equal(b->started, 0);
    assert_string_equal(b->leader, "m0");
    leader_elector_release(a->elector, on_released, a);
    assert_false(leader_elector_is_leader(a->elector));
    assert_int_equal(a->released, 0);                          /* never inside the call */
    int64_t took_ms = run_until(&b->started, 1, LEASE_MS / 2); /* well before the lease would have run out */
    print_message("taken %d ms after the release\n", (int)took_ms);
    assert_int_equal(a->released, 1);
    assert_int_equal(a->stopped, 0);
    assert_string_equal(server_holder(), "m1");
    assert_int_equal(json_path_int(server.lease, "spec.leaseTransitions", -1), 1);
}

static void test_release_without_lease(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    struct member *b = member_start(1);
    run_for(RETRY_MS);
    leader_elector_release(b->elector, on_released, b);
    run_until(&b->released, 1, 500);
    run_for(2 * RETRY_MS);
    assert_string_equal(server_holder(), "m0");
    assert_true(leader_elector_is_leader(a->elector));
    assert_int_equal(b->client.writes, 0);
}

static void test_release_while_a_renewal_is_under_way(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    int writes = a->client.writes;
    while (a->client.writes == writes)
        loop_run_once(server.loop, 1);
    leader_elector_release(a->elector, on_released, a);
    run_until(&a->released, 1, 500);
    assert_string_equal(server_holder(), "");
}

static void test_release_against_failures_ends(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    a->client.fault = FAULT_500;
    a->client.fault_count = 2;
    leader_elector_release(a->elector, on_released, a);
    run_until(&a->released, 1, RENEW_MS);
    assert_string_equal(server_holder(), ""); /* the third attempt */

    struct member *b = member_start(1);
    run_until(&b->started, 1, 2000);
    b->client.fault = FAULT_SILENT;
    b->client.fault_count = -1;
    leader_elector_release(b->elector, on_released, b);
    run_until(&b->released, 1, 2 * RENEW_MS);
    assert_string_equal(server_holder(), "m1");
}

static void test_crash_is_noticed_within_the_lease(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    struct member *b = member_start(1);
    run_for(3 * RETRY_MS);
    member_crash(a);
    int64_t renewed_ms = server.changed_ms;
    run_until(&b->started, 1, 3 * LEASE_MS);
    assert_in_range(b->started_ms - renewed_ms, LEASE_MS, 2 * LEASE_MS);
    assert_string_equal(server_holder(), "m1");
    assert_true(b->client.reads <= 4); /* it watches, it does not poll */
}

static void test_never_before_the_lease_is_up(void **state)
{
    UNUSED(state);
    static const char *const times[] = {
        "2001-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"}; /* their clock means nothing */
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        server_set_holder("other", times[i], 2);
        int64_t begin_ms = server.changed_ms;
        struct member *a = &members[0];
        memset(a, 0, sizeof(*a));
        member_start(0);
        run_until(&a->started, 1, 4000);
        int64_t waited_ms = a->started_ms - begin_ms;
        assert_in_range(waited_ms, 2000, 3000); /* they promised two seconds, more than our own one */
        member_crash(a);
    }
}

static void test_renewals_seen_postpone_the_takeover(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    for (int i = 0; i < 4; i++) {
        char time[48];
        snprintf(time, sizeof(time), "2026-01-01T00:00:0%d.000000Z", i);
        server_set_holder("other", time, 1);
        a->client.watch_cut = i % 2; /* some are only found by looking */
        run_for(LEASE_MS * 7 / 10);
        assert_int_equal(a->started, 0);
    }
    run_until(&a->started, 1, 3 * LEASE_MS);
}

static void test_two_standbys_one_winner(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    struct member *b = member_start(1), *c = member_start(2);
    run_for(RETRY_MS);
    leader_elector_release(a->elector, on_released, a);
    run_for(4 * RETRY_MS);
    assert_int_equal(b->started + c->started, 1);
    assert_int_equal(b->stopped + c->stopped, 0);
}

static void test_survives_single_failures(void **state)
{
    UNUSED(state);
    static const enum fault faults[] = {FAULT_500, FAULT_CONFLICT, FAULT_SILENT, FAULT_LOST_ANSWER};
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        a->client.fault = faults[i];
        a->client.fault_count = 1;
        run_for(RENEW_MS + 2 * RETRY_MS);
        assert_int_equal(a->client.fault_count, 0); /* it met it */
        assert_true(leader_elector_is_leader(a->elector));
    }
    assert_int_equal(a->stopped, 0);
}

static void test_stops_before_others_may_start(void **state)
{
    UNUSED(state);
    static const enum fault faults[] = {FAULT_500, FAULT_SILENT, FAULT_CONFLICT};
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        memset(members, 0, sizeof(members));
        json_decref(steal_ptr(server.lease));
        struct member *a = member_start(0);
        run_until(&a->started, 1, 2000);
        struct member *b = member_start(1);
        run_for(RETRY_MS);
        a->client.fault = faults[i];
        a->client.fault_count = -1;
        run_until(&b->started, 1, 4 * LEASE_MS); /* on_started asserts that the other does not lead any more */
        assert_int_equal(a->stopped, 1);
        assert_int_equal(a->stretch, faults[i] == FAULT_SILENT ? 2 : 0);
        assert_false(leader_elector_is_leader(a->elector));
        assert_string_equal(server_holder(), "m1");
        member_crash(a);
        member_crash(b);
    }
}

static void test_usurped_or_deleted_lease(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    json_decref(steal_ptr(server.lease)); /* kubectl delete lease */
    run_for(3 * RETRY_MS);
    assert_true(leader_elector_is_leader(a->elector));
    assert_string_equal(server_holder(), "m0");
    server_set_holder("usurper", "2026-01-01T00:00:00.000000Z", 15);
    run_until(&a->stopped, 1, 1000);
    assert_false(leader_elector_is_leader(a->elector));
    assert_string_equal(server_holder(), "usurper");
    assert_int_equal(a->stretch, 0);
}

static int64_t promised_s(void)
{
    return json_path_int(server.lease, "spec.leaseDurationSeconds", 0);
}

/* Where the lease is lost as nothing is answered in time it is asked for longer, and shorter again once answers come
 * quickly. */
static void test_a_slow_server_gets_more_time(void **state)
{
    UNUSED(state);
    struct member *a = &members[0];
    for (unsigned stretch = 1; stretch <= LEADER_STRETCH_MAX; stretch *= 2) {
        member_start(0);
        run_until(&a->started, a->started + 1, 20 * LEASE_MS);
        assert_int_equal(promised_s(), stretch * LEASE_MS / 1000);
        a->client.fault = FAULT_SILENT;
        a->client.fault_count = -1;
        run_until(&a->stopped, a->stopped + 1, 10 * LEASE_MS);
        assert_int_equal(a->stretch, MIN_OF(2 * stretch, LEADER_STRETCH_MAX));
        a->client.fault_count = 0;
        member_crash(a);
    }
    member_start(0);
    run_until(&a->started, a->started + 1, 20 * LEASE_MS);
    run_for(LEADER_RELAX_MS - 2 * LEASE_MS);
    assert_int_equal(promised_s(), LEADER_STRETCH_MAX);
    run_for(4 * LEASE_MS);
    for (unsigned stretch = LEADER_STRETCH_MAX / 2; stretch >= 1; stretch /= 2) {
        assert_int_equal(a->stretch, stretch);
        assert_int_equal(promised_s(), stretch);
        run_for(LEADER_RELAX_MS);
    }
    assert_true(leader_elector_is_leader(a->elector));
    run_for(2 * LEADER_RELAX_MS);
    assert_int_equal(a->stretch, 1);
}

/* SIGSTOP: no timer of ours ran, and yet we do not believe that we lead; when we run again nothing is written. */
static void test_a_stopped_process_does_not_lead(void **state)
{
    UNUSED(state);
    struct member *a = member_start(0);
    run_until(&a->started, 1, 2000);
    run_for(RETRY_MS / 2);
    int writes = a->client.writes;
    usleep((RENEW_MS + 50) * 1000);
    assert_false(leader_elector_is_leader(a->elector));
    assert_int_equal(a->stopped, 0);
    run_for(RETRY_MS);
    assert_int_equal(a->stopped, 1);
    assert_int_equal(a->client.writes, writes);
    assert_int_equal(a->stretch, 0);
}

static void test_start_during_an_outage(void **state)
{
    UNUSED(state);
    members[0].client.fault = FAULT_500;
    members[0].client.fault_count = 5;
    struct member *a = member_start(0);
    run_until(&a->started, 1, 5000);
    assert_string_equal(server_holder(), "m0");
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_makes_the_lease_and_renews_it),
        CASE(test_labels_of_others_stay),
        CASE(test_released_is_taken_at_once),
        CASE(test_release_without_lease),
        CASE(test_release_while_a_renewal_is_under_way),
        CASE(test_release_against_failures_ends),
        CASE(test_crash_is_noticed_within_the_lease),
        CASE(test_never_before_the_lease_is_up),
        CASE(test_renewals_seen_postpone_the_takeover),
        CASE(test_two_standbys_one_winner),
        CASE(test_survives_single_failures),
        CASE(test_stops_before_others_may_start),
        CASE(test_usurped_or_deleted_lease),
        CASE(test_a_slow_server_gets_more_time),
        CASE(test_a_stopped_process_does_not_lead),
        CASE(test_start_during_an_outage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
