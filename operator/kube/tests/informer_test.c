/* SPDX-License-Identifier: Apache-2.0 */
/* informer_test.c: the informer against the API double: whatever goes wrong, it ends in step with the server. */
#include "common/base.h"

#include "operator/kube/informer.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/kube/tests/kube_world.h"

#define WAIT_MS 20000
#define MANY (2 * KUBE_LIST_PAGE + 200)

static void put_many(struct world *world, int count, const char *value)
{
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "map-%05d", i);
        world_put(world, name, value);
    }
}

static void assert_in_step(struct world *world)
{
    assert_true(world_run(world, world_in_step, NULL, WAIT_MS));
}

static bool lists_are(const struct world *world, const void *arg)
{
    return kube_api_double_requests(world->api, "LIST", NULL) >= *(const size_t *)arg;
}

static bool watches_open(const struct world *world, const void *arg)
{
    return kube_api_double_watches(world->api) == *(const size_t *)arg;
}

static void assert_watching(struct world *world)
{
    size_t one = 1;
    assert_true(world_run(world, watches_open, &one, WAIT_MS));
}

static void start_in_step(struct world *world, const struct informer_options *options)
{
    world_start_informer(world, options);
    assert_in_step(world);
    assert_watching(world);
}

/* ---- the straight way ---- */

static void test_list_in_pages_then_watch(void **state)
{
    struct world *world = *state;
    put_many(world, MANY, "1");
    start_in_step(world, NULL);
    assert_int_equal(world->added, MANY);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 3);
    world_put(world, "map-00001", "2");
    world_put(world, "new", "1");
    world_remove(world, "map-00002");
    assert_in_step(world);
    assert_int_equal(world->added, MANY + 1);
    assert_int_equal(world->changed, 1);
    assert_int_equal(world->deleted, 1);
}

static void test_selectors(void **state)
{
    struct world *world = *state;
    world_put(world, "in", "1");
    _cleanup_(json_decrefp) json_t *other = world_map("out", "1");
    json_put(json_object_get(other, "metadata"), "labels", json_object());
    kube_api_double_put(world->api, WORLD_MAPS_IN_NS "/out", other);
    const struct informer_options options = {.label_selector = "app=test", .ns = WORLD_NS};
    world_start_informer(world, &options);
    world_run_for(world, 200);
    assert_non_null(world_stored(world, "in"));
    assert_null(world_stored(world, "out"));
    _cleanup_(json_decrefp) json_t *unlabel = json_build("{s:{s:{s:n}}}", "metadata", "labels", "app");
    kube_api_double_edit(world->api, WORLD_MAPS_IN_NS "/in", unlabel); /* leaves the selection: DELETED */
    world_run_for(world, 200);
    assert_null(world_stored(world, "in"));
}

static bool is_chosen(void *arg, const char *key)
{
    return strstr(key, arg) != NULL;
}

/* Of many objects only those are held that are wanted; what is wanted later is told of from then on, its deletion
 * included. */
static void test_only_the_wanted_are_held(void **state)
{
    struct world *world = *state;
    char chosen[] = "-00003";
    const struct informer_options options = {.wanted = is_chosen, .wanted_arg = chosen};
    put_many(world, MANY, "1");
    world_start_informer(world, &options);
    assert_watching(world);
    assert_int_equal(store_count(informer_store(world->informer)), 1);
    world_put(world, "map-00004", "2");
    world_put(world, "map-00003", "2");
    world_run_for(world, 100);
    assert_int_equal(world->added, 1);
    assert_int_equal(world->changed, 1);
    chosen[5] = '5';
    world_remove(world, "map-00005"); /* never held */
    world_run_for(world, 100);
    assert_int_equal(world->deleted, 1);
    world_put(world, "map-00003", "3"); /* wanted no more */
    world_run_for(world, 100);
    assert_int_equal(world->deleted, 2);
    assert_int_equal(store_count(informer_store(world->informer)), 0);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void test_sync_hooks(void **state)
{
    struct world *world = *state;
    int calls = 0;
    world_start_informer(world, NULL);
    informer_on_sync(world->informer, count_call, &calls);
    assert_in_step(world);
    assert_int_equal(calls, 1);
    informer_on_sync(world->informer, count_call, &calls); /* after the sync: later, but soon */
    assert_int_equal(calls, 1);
    world_run_for(world, 50);
    assert_int_equal(calls, 2);
}

/* ---- watches that end ---- */

static void change_while_broken(struct world *world, enum kube_api_break how)
{
    put_many(world, 20, "1");
    start_in_step(world, NULL);
    world_put(world, "map-00003", "seen"); /* the version goes on beyond the list's */
    assert_in_step(world);
    kube_api_double_mute_watches(world->api, true);
    world_put(world, "map-00001", "2");
    world_remove(world, "map-00002");
    world_put(world, "new", "1");
    kube_api_double_break_watches(world->api, how);
    kube_api_double_mute_watches(world->api, false);
    if (how == KUBE_API_BREAK_CUT || how == KUBE_API_BREAK_END)
        world_run_for(world, 50);
    assert_in_step(world);
    assert_int_equal(world->added, 21);
    assert_int_equal(world->changed, 2);
    assert_int_equal(world->deleted, 1);
}

static void test_watch_ends(void **state)
{
    struct world *world = *state;
    change_while_broken(world, KUBE_API_BREAK_END);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 1);
}

static void test_watch_cut_in_mid_event(void **state)
{
    struct world *world = *state;
    change_while_broken(world, KUBE_API_BREAK_CUT);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 1);
}

static void test_watch_error_event(void **state)
{
    struct world *world = *state;
    change_while_broken(world, KUBE_API_BREAK_ERROR);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 1);
}

/* ERROR 410 in band: a relist; unchanged objects are kept as they are (the same memory), others told exactly. */
static void test_watch_expired_relists(void **state)
{
    struct world *world = *state;
    put_many(world, 20, "1");
    start_in_step(world, NULL);
    const struct kube_object *kept = world_stored(world, "map-00000");
    kube_api_double_mute_watches(world->api, true);
    world_put(world, "map-00001", "2");
    world_remove(world, "map-00002");
    world_put(world, "new", "1");
    kube_api_double_break_watches(world->api, KUBE_API_BREAK_EXPIRED);
    kube_api_double_compact(world->api);
    world_run_for(world, 50);
    kube_api_double_mute_watches(world->api, false);
    assert_in_step(world);
    assert_ptr_equal(world_stored(world, "map-00000"), kept);
    assert_int_equal(world->added, 21);
    assert_int_equal(world->changed, 1);
    assert_int_equal(world->deleted, 1);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 2);
    assert_watching(world);
    world_put(world, "later", "1");
    assert_in_step(world);
}

static void test_watch_answers_410(void **state)
{
    struct world *world = *state;
    put_many(world, 5, "1");
    start_in_step(world, NULL);
    world_remove(world, "map-00004");
    assert_in_step(world);
    kube_api_double_mute_watches(world->api, true);
    world_remove(world, "map-00003");
    kube_api_double_compact(world->api);
    kube_api_double_break_watches(world->api, KUBE_API_BREAK_END);
    world_run_for(world, 20);
    kube_api_double_mute_watches(world->api, false);
    assert_in_step(world);
    assert_int_equal(world->deleted, 2);
}

/* A bookmark moves the point to resume from, so a quiet watch survives compaction. */
static void test_bookmark_saves_a_relist(void **state)
{
    struct world *world = *state;
    put_many(world, 5, "1");
    start_in_step(world, NULL);
    _cleanup_(json_decrefp) json_t *pod = json_build("{s:{s:s}}", "metadata", "name", "p");
    for (int i = 0; i < 10; i++) /* versions go on elsewhere */
        kube_api_double_put(world->api, "/api/v1/namespaces/ns1/pods/p", pod);
    kube_api_double_bookmark(world->api);
    world_run_for(world, 100);
    kube_api_double_compact(world->api);
    kube_api_double_break_watches(world->api, KUBE_API_BREAK_END);
    world_run_for(world, 50);
    assert_watching(world);
    world_put(world, "new", "1");
    assert_in_step(world);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 1);
}

static void watch_fault(struct world *world, const struct kube_api_fault *fault, const struct informer_options *options)
{
    put_many(world, 5, "1");
    kube_api_double_fault(world->api, fault);
    world_start_informer(world, options);
    assert_in_step(world);
    world_put(world, "new", "1");
    world_remove(world, "map-00001");
    assert_in_step(world);
    assert_int_equal(kube_api_double_requests(world->api, "LIST", NULL), 1);
    assert_int_equal(world->added, 6);
    assert_int_equal(world->deleted, 1);
}

static void test_watch_answers_500(void **state)
{
    watch_fault(*state, &(struct kube_api_fault){.method = "WATCH", .status = 500, .times = 2}, NULL);
}

static void test_watch_answers_429(void **state)
{
    watch_fault(*state, &(struct kube_api_fault){.method = "WATCH", .status = 429, .retry_after_s = 1}, NULL);
}

static void test_watch_reset(void **state)
{
    watch_fault(*state, &(struct kube_api_fault){.method = "WATCH", .kind = KUBE_API_FAULT_RESET, .times = 2}, NULL);
}

static void test_watch_garbage(void **state)
{
    watch_fault(*state, &(struct kube_api_fault){.method = "WATCH", .kind = KUBE_API_FAULT_GARBAGE}, NULL);
}

static void test_watch_silent(void **state)
{
    const struct informer_options options = {.watch_timeout_ms = 1000};
    watch_fault(*state, &(struct kube_api_fault){.method = "WATCH", .kind = KUBE_API_FAULT_SILENCE}, &options);
}

/* Refused again and again: the version itself may be the reason. */
static void test_watch_refused_for_long_relists(void **state)
{
    struct world *world = *state;
    put_many(world, 5, "1");
    kube_api_double_fault(world->api, &(struct kube_api_fault){.method = "WATCH", .status = 504, .times = 5});
    world_start_informer(world, NULL);
    size_t two = 2;
    assert_true(world_run(world, lists_are, &two, WAIT_MS));
    assert_watching(world);
    assert_in_step(world);
}

/* ---- lists that fail ---- */

static void list_fault(struct world *world, const struct kube_api_fault *fault)
{
    put_many(world, MANY, "1");
    kube_api_double_fault(world->api, fault);
    start_in_step(world, NULL);
    assert_int_equal(world->added, MANY);
    assert_int_equal(world->changed + world->deleted, 0);
}

static void test_first_list_fails(void **state)
{
    list_fault(*state, &(struct kube_api_fault){.method = "LIST", .status = 500, .times = 3});
}

static void test_first_list_cut(void **state)
{
    list_fault(*state, &(struct kube_api_fault){.method = "LIST", .kind = KUBE_API_FAULT_CUT});
}

static void test_second_page_cut(void **state)
{
    list_fault(*state, &(struct kube_api_fault){.method = "LIST", .query = "continue", .kind = KUBE_API_FAULT_CUT});
}

static void test_list_garbage(void **state)
{
    list_fault(*state, &(struct kube_api_fault){.method = "LIST", .kind = KUBE_API_FAULT_GARBAGE});
}

static void test_continue_token_expired(void **state)
{
    list_fault(*state, &(struct kube_api_fault){.method = "LIST", .query = "continue", .nth = 2, .status = 410});
}

/* A relist that fails half-way changes nothing; the next one does everything. */
static void test_failed_relist_leaves_the_store(void **state)
{
    struct world *world = *state;
    put_many(world, MANY, "1");
    start_in_step(world, NULL);
    kube_api_double_mute_watches(world->api, true);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof(name), "map-%05d", i);
        world_put(world, name, "2");
    }
    world_remove(world, "map-00011");
    world_put(world, "aaa-new", "1");
    size_t lists = kube_api_double_requests(world->api, "LIST", NULL) + 2;
    kube_api_double_fault(world->api, &(struct kube_api_fault){.method = "LIST", .query = "continue", .status = 503});
    kube_api_double_compact(world->api);
    kube_api_double_break_watches(world->api, KUBE_API_BREAK_EXPIRED);
    assert_true(world_run(world, lists_are, &lists, WAIT_MS));
    world_run_for(world, 20);
    assert_int_equal(world->changed + world->deleted, 0);
    assert_int_equal(world->added, MANY);
    kube_api_double_mute_watches(world->api, false);
    assert_in_step(world);
    assert_int_equal(world->changed, 10);
    assert_int_equal(world->deleted, 1);
    assert_int_equal(world->added, MANY + 1);
}

static void test_everything_wrong_for_a_while(void **state)
{
    static const struct kube_api_fault faults[] = {
        {.method = "LIST", .nth = 2, .status = 500, .times = 1},
        {.method = "LIST", .query = "continue", .nth = 3, .kind = KUBE_API_FAULT_RESET},
        {.method = "WATCH", .nth = 1, .status = 410},
        {.method = "WATCH", .nth = 2, .kind = KUBE_API_FAULT_RESET},
        {.method = "WATCH", .nth = 3, .status = 500},
    };
    struct world *world = *state;
    put_many(world, MANY, "1");
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        kube_api_double_fault(world->api, &faults[i]);
    world_start_informer(world, NULL);
    for (int round = 0; round < 12; round++) {
        char name[32];
        snprintf(name, sizeof(name), "map-%05d", round * 7);
        world_run_for(world, 30);
        world_put(world, name, "2");
        world_remove(world, "map-00500");
        world_put(world, "map-00500", "again");
        kube_api_double_break_watches(world->api, round % 2 ? KUBE_API_BREAK_CUT : KUBE_API_BREAK_EXPIRED);
    }
    assert_in_step(world);
    assert_int_equal(world->added - world->deleted, MANY);
}

/* ---- read your writes ---- */

static void apply(struct world *world, const char *name, const char *value, struct kube_outcome *outcome)
{
    _cleanup_(json_decrefp) json_t *object = world_map(name, value);
    kube_apply(world->client, &world->maps, object, kube_outcome_done, outcome);
    assert_int_equal(world_settle(world, outcome), ERROR_NONE);
}

static void observe(struct world *world, const struct kube_outcome *outcome)
{
    const struct kube_answer answer = {.object = outcome->object,
        .raw = {.data = outcome->raw, .len = strlen(outcome->raw)},
        .status = outcome->status};
    informer_observe_write(world->informer, &answer);
}

static void test_own_write_is_seen_at_once(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.count = 0};
    start_in_step(world, NULL);
    kube_api_double_mute_watches(world->api, true);
    apply(world, "mine", "1", &outcome);
    assert_null(world_stored(world, "mine"));
    observe(world, &outcome);
    assert_non_null(world_stored(world, "mine"));
    observe(world, &outcome);
    assert_int_equal(world->added, 1);
    kube_outcome_release(&outcome);
    apply(world, "mine", "2", &outcome);
    observe(world, &outcome);
    kube_api_double_mute_watches(world->api, false); /* now come the old states */
    assert_true(world_in_step(world, NULL));
    world_run_for(world, 100);
    assert_true(world_in_step(world, NULL));
    assert_int_equal(world->changed, 1);
    kube_outcome_release(&outcome);
}

/* The answer of a write is late: others have deleted the object since, and the watch said so. */
static void test_late_answer_does_not_resurrect(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.count = 0};
    start_in_step(world, NULL);
    apply(world, "mine", "1", &outcome);
    world_remove(world, "mine");
    world_run_for(world, 100);
    assert_int_equal(world->deleted, 1);
    observe(world, &outcome);
    assert_null(world_stored(world, "mine"));
    kube_outcome_release(&outcome);
}

static void test_own_delete_is_seen_at_once(void **state)
{
    struct world *world = *state;
    put_many(world, 2, "1");
    start_in_step(world, NULL);
    kube_api_double_mute_watches(world->api, true);
    world_put(world, "map-00001", "2"); /* an event that is still under way */
    world_remove(world, "map-00001");
    informer_observe_delete(world->informer, WORLD_NS "/map-00001");
    assert_null(world_stored(world, "map-00001"));
    kube_api_double_mute_watches(world->api, false);
    world_run_for(world, 100);
    assert_int_equal(world->added, 2); /* it did not come back */
    assert_int_equal(world->deleted, 1);
    world_put(world, "map-00001", "new"); /* the same name, another object */
    assert_in_step(world);
    assert_int_equal(world->added, 3);
}

/* Made again under the same name by ourselves; the watch still has to tell of the first one's end. */
static void test_old_deletion_spares_the_new_object(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.count = 0};
    put_many(world, 1, "1");
    start_in_step(world, NULL);
    kube_api_double_mute_watches(world->api, true);
    world_remove(world, "map-00000");
    apply(world, "map-00000", "2", &outcome);
    observe(world, &outcome);
    kube_api_double_mute_watches(world->api, false);
    world_run_for(world, 100);
    assert_int_equal(world->deleted, 0);
    assert_true(world_in_step(world, NULL));
    kube_outcome_release(&outcome);
}

/* A write while a relist is under way: newer than its snapshot, so the list must not take it away. */
static void test_write_during_relist(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.count = 0};
    put_many(world, MANY, "1");
    start_in_step(world, NULL);
    size_t lists = kube_api_double_requests(world->api, "LIST", NULL) + 2;
    kube_api_double_fault(
        world->api, &(struct kube_api_fault){.method = "LIST", .query = "continue", .kind = KUBE_API_FAULT_SILENCE});
    kube_api_double_compact(world->api);
    kube_api_double_break_watches(world->api, KUBE_API_BREAK_EXPIRED);
    assert_true(world_run(world, lists_are, &lists, WAIT_MS)); /* the second page hangs */
    apply(world, "mine", "1", &outcome);
    observe(world, &outcome);
    assert_non_null(world_stored(world, "mine"));
    kube_outcome_release(&outcome);
    assert_int_equal(world->deleted, 0);
}

static void test_free_at_any_time(void **state)
{
    struct world *world = *state;
    put_many(world, MANY, "1");
    for (int turns = 0; turns < 40; turns++) {
        world_start_informer(world, NULL);
        for (int i = 0; i < turns; i++)
            loop_run_once(world->loop, 1);
        informer_free(steal_ptr(world->informer));
    }
    world->added = world->deleted = 0;
    world->synced = false;
    start_in_step(world, NULL);
}

#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_list_in_pages_then_watch),
        IN_WORLD(test_selectors),
        IN_WORLD(test_only_the_wanted_are_held),
        IN_WORLD(test_sync_hooks),
        IN_WORLD(test_watch_ends),
        IN_WORLD(test_watch_cut_in_mid_event),
        IN_WORLD(test_watch_error_event),
        IN_WORLD(test_watch_expired_relists),
        IN_WORLD(test_watch_answers_410),
        IN_WORLD(test_bookmark_saves_a_relist),
        IN_WORLD(test_watch_answers_500),
        IN_WORLD(test_watch_answers_429),
        IN_WORLD(test_watch_reset),
        IN_WORLD(test_watch_garbage),
        IN_WORLD(test_watch_silent),
        IN_WORLD(test_watch_refused_for_long_relists),
        IN_WORLD(test_first_list_fails),
        IN_WORLD(test_first_list_cut),
        IN_WORLD(test_second_page_cut),
        IN_WORLD(test_list_garbage),
        IN_WORLD(test_continue_token_expired),
        IN_WORLD(test_failed_relist_leaves_the_store),
        IN_WORLD(test_everything_wrong_for_a_while),
        IN_WORLD(test_own_write_is_seen_at_once),
        IN_WORLD(test_late_answer_does_not_resurrect),
        IN_WORLD(test_own_delete_is_seen_at_once),
        IN_WORLD(test_old_deletion_spares_the_new_object),
        IN_WORLD(test_write_during_relist),
        IN_WORLD(test_free_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
