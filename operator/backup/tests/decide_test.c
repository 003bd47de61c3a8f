/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goldens of the decision about one backup: data/decide/NAME.case.json says in what it differs from the usual (see
 * `usual`), NAME.step.json what comes of it. UPDATE_GOLDENS=1 writes what comes out; read the difference before it is
 * committed.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/strvec.h"
#include "common/tests/folder_util.h"
#include "operator/backup/backup_decide.h"
#include "operator/backup/backup_donor.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define DATA "operator/backup/tests/data/decide"
#define SUFFIX ".case.json"
#define NOW "2026-11-21T12:00:00Z"

/* A cluster of three whose member 0 is the primary; nothing was begun. A case is merged over it. */
static const char usual[] =
    "{\"spec\": {\"cluster\": \"shop\", \"destination\": {\"s3\": {\"bucket\": \"safe\", \"credentialsSecret\": {\"name\": \"keys\"}}}},"
    "\"cluster\": true, \"finalizer\": true, \"storeReady\": true, \"ageSeconds\": 60,"
    "\"members\": {\"shop-mysql-0\": {\"primary\": true}, \"shop-mysql-1\": {\"replica\": true, \"lagMs\": 20},"
    "\"shop-mysql-2\": {\"replica\": true, \"lagMs\": 10}}}";

static void read_report(const json_t *json, struct backup_report *ret)
{
    snprintf(ret->id, sizeof(ret->id), "%s", json_path_str(json, "id", ""));
    ret->state = json_name_index(backup_state_names, BACKUP_STATE_COUNT, json_path_str(json, "state", ""));
    ret->raw_bytes = (uint64_t)json_path_int(json, "rawBytes", 0);
    ret->stored_bytes = (uint64_t)json_path_int(json, "storedBytes", 0);
    snprintf(ret->digest, sizeof(ret->digest), "%s", json_path_str(json, "digest", ""));
    snprintf(ret->error_reason, sizeof(ret->error_reason), "%s", json_path_str(json, "reason", ""));
    snprintf(ret->message, sizeof(ret->message), "%s", json_path_str(json, "message", ""));
}

static void read_member(const char *name, const json_t *json, struct backup_member *ret)
{
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->process, sizeof(ret->process), "%s", json_path_str(json, "process", "boot-1"));
    snprintf(ret->send_error, sizeof(ret->send_error), "%s", json_path_str(json, "sendError", ""));
    ret->pod_ready = json_path_bool(json, "ready", true);
    ret->heard = json_path_bool(json, "heard", true);
    ret->silent_ms = json_path_int(json, "silentMs", 0);
    ret->phase = json_path_bool(json, "running", true) ? AGENT_PHASE_RUNNING : AGENT_PHASE_DOWN;
    ret->is_primary = json_path_bool(json, "primary", false);
    ret->is_replica = json_path_bool(json, "replica", false);
    ret->is_held = json_path_bool(json, "held", false);
    ret->has_data = json_path_bool(json, "data", true);
    ret->seeding = json_path_bool(json, "seeding", false);
    ret->is_outdated = json_path_bool(json, "outdated", false);
    ret->lag_known = json_object_get(json, "lagMs") != NULL;
    ret->lag_ms = json_path_int(json, "lagMs", 0);
    ret->serving = (uint32_t)json_path_int(json, "serving", 0);
    ret->taken = json_path_bool(json, "taken", false);
    ret->refused = json_path_bool(json, "refused", false);
    ret->impossible = json_path_bool(json, "impossible", false);
    read_report(json_object_get(json, "report"), &ret->report);
}

static void read_job(const json_t *json, int64_t now_ms, struct backup_job_view *ret)
{
    static const char *const kinds[] = {"", "check", "remove"};
    static const char *const results[] = {"running", "good", "bad", "unavailable"};
    ret->kind = json_name_index(kinds, ARRAY_LEN(kinds), json_path_str(json, "kind", ""));
    ret->result = json_name_index(results, ARRAY_LEN(results), json_path_str(json, "result", "running"));
    ret->ended_ms = now_ms - json_path_int(json, "endedMsAgo", 0);
    ret->completed_ms = now_ms - 1000;
    ret->raw_bytes = 5000000;
    ret->stored_bytes = 2000000;
    ret->data_bytes = 9000000;
    snprintf(ret->gtid, sizeof(ret->gtid), "0-1-17");
    snprintf(ret->server_version, sizeof(ret->server_version), "10.11.6-MariaDB");
    snprintf(ret->flavour, sizeof(ret->flavour), "mariadb");
    snprintf(ret->digest, sizeof(ret->digest), "%s", json_path_str(json, "digest", "d1"));
    snprintf(ret->id, sizeof(ret->id), "%s", json_path_str(json, "id", ""));
    snprintf(ret->message, sizeof(ret->message), "%s", json_path_str(json, "message", ""));
}

static void read_flags(const json_t *json, struct backup_snapshot *ret)
{
    ret->cluster_exists = json_path_bool(json, "cluster", true);
    ret->is_made_by_cluster = json_path_bool(json, "madeByCluster", false);
    ret->has_finalizer = json_path_bool(json, "finalizer", true);
    ret->skip_data_deletion = json_path_bool(json, "skip", false);
    ret->namespace_ends = json_path_bool(json, "namespaceEnds", false);
    ret->store_gone = json_path_bool(json, "storeGone", false);
    ret->store_ready = json_path_bool(json, "storeReady", true);
    ret->claim_missing = json_path_bool(json, "claimMissing", false);
    ret->store_refused = json_path_bool(json, "storeRefused", false);
    ret->store_refusal_stays = json_path_bool(json, "storeRefusalStays", false);
    ret->deleting = json_object_get(json, "deletedSecondsAgo") != NULL;
    ret->deleted_ms = ret->now_ms - json_path_int(json, "deletedSecondsAgo", 0) * 1000;
    ret->secrets_known = json_path_bool(json, "secretsKnown", true);
    snprintf(ret->secrets_reason, sizeof(ret->secrets_reason), "%s", json_path_str(json, "secretsReason", ""));
    snprintf(ret->secrets_message, sizeof(ret->secrets_message), "%s", json_path_str(json, "secretsMessage", ""));
    snprintf(ret->secrets_version, sizeof(ret->secrets_version), "%s", json_path_str(json, "secretsVersion", "41"));
    snprintf(ret->store_message, sizeof(ret->store_message), "%s", json_path_str(json, "storeMessage", ""));
    snprintf(ret->cluster_uid, sizeof(ret->cluster_uid), "uid-of-shop");
}

static void read_case(const json_t *json, struct backup_snapshot *ret)
{
    struct api_problems problems = {0};
    const char *name;
    json_t *member;
    *ret = (struct backup_snapshot){.generation = 1};
    assert_int_equal(clock_parse_rfc3339(NOW, &ret->now_ms), 0);
    ret->created_ms = ret->now_ms - json_path_int(json, "ageSeconds", 0) * 1000;
    ret->ns = xstrdup("ns1");
    ret->name = xstrdup("first");
    ret->uid = xstrdup("uid-of-first");
    if (mysql_backup_parse(ret->ns, ret->name, json_object_get(json, "spec"), &ret->backup, &problems) < 0) {
        snprintf(ret->reason, sizeof(ret->reason), "InvalidSpec");
        snprintf(ret->message, sizeof(ret->message), "%s: %s", problems.items[0].path, problems.items[0].message);
    }
    read_flags(json, ret);
    json_object_foreach(json_object_get(json, "members"), name, member)
        read_member(name, member, &ret->members[ret->member_count++]);
    read_job(json_object_get(json, "job"), ret->now_ms, &ret->job);
    backup_status_decode(json_object_get(json, "status"), &ret->last);
}

static json_t *describe(const struct backup_snapshot *snapshot, const struct backup_step *step)
{
    static const char *const acts[] = {"none", "hold", "release", "send", "check", "remove"};
    json_t *json = json_build("{s:s, s:o}", "act", acts[step->act], "status", backup_status_encode(&step->next));
    if (backup_status_same(&step->next, &snapshot->last))
        json_object_set_new(json, "status", json_string("unchanged"));
    json_put_str(json, "id", *step->id ? step->id : NULL);
    if (*step->end_id)
        json_put(json, "end", json_build("{s:s, s:s}", "donor", step->end_donor, "id", step->end_id));
    if (step->asks_for_namespace)
        json_put_bool(json, "asksForNamespace", true);
    if (step->gives_up_data)
        json_put_bool(json, "givesUpData", true);
    if (step->wants_store)
        json_put_bool(json, "wantsStore", true);
    if (step->wants_claim)
        json_put_bool(json, "wantsClaim", true);
    if (step->again_ms > 0)
        json_put_int(json, "againMs", step->again_ms);
    json_put_str(json, "event", step->event);
    return json;
}

static json_t *read_merged(const char *path)
{
    json_t *json = json_parse(usual, strlen(usual), NULL);
    _cleanup_(json_decrefp) json_t *own = golden_read(path);
    assert_non_null(json);
    json_merge(json, own);
    return json;
}

static bool check_case(const char *name)
{
    _cleanup_(freep) char *from = xasprintf(DATA "/%s" SUFFIX, name);
    _cleanup_(freep) char *to = xasprintf(DATA "/%s.step.json", name);
    _cleanup_(json_decrefp) json_t *json = read_merged(from);
    struct backup_snapshot *snapshot = xnew(struct backup_snapshot);
    struct backup_step *step = xnew(struct backup_step);
    read_case(json, snapshot);
    backup_decide(snapshot, step);
    _cleanup_(json_decrefp) json_t *got = describe(snapshot, step);
    bool good = golden_matches(to, got);
    backup_step_release(step);
    backup_snapshot_release(snapshot);
    free(step);
    free(snapshot);
    return good;
}

static void goldens(void **state)
{
    UNUSED(state);
    struct strvec names;
    int bad = 0;
    strvec_init(&names);
    folder_list(DATA, SUFFIX, 30, &names);
    for (size_t i = 0; i < names.n; i++)
        bad += !check_case(names.v[i]);
    strvec_release(&names);
    assert_int_equal(bad, 0);
}

/* ---- donors ---- */

static void donors(void **state)
{
    UNUSED(state);
    static const struct {
        const char *over, *wanted; /* a merge patch of the members; NULL: nobody */
    } cases[] = {
        {"{}", "shop-mysql-2"},
        {"{\"shop-mysql-2\": {\"lagMs\": 30}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"taken\": true}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"serving\": 1}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"seeding\": true}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"data\": false}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"held\": true}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"heard\": false}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"running\": false}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"ready\": false}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"replica\": false}}", "shop-mysql-1"},
        {"{\"shop-mysql-2\": {\"report\": {\"id\": \"other\", \"state\": \"Running\"}}}", "shop-mysql-1"},
        {"{\"shop-mysql-1\": null, \"shop-mysql-2\": null}", "shop-mysql-0"},
        {"{\"shop-mysql-1\": null, \"shop-mysql-2\": {\"lagMs\": 70000}}", "shop-mysql-0"},
        {"{\"shop-mysql-0\": null, \"shop-mysql-1\": null, \"shop-mysql-2\": {\"lagMs\": 70000}}", "shop-mysql-2"},
        {"{\"shop-mysql-0\": {\"taken\": true}, \"shop-mysql-1\": null, \"shop-mysql-2\": null}", NULL},
        {"{\"shop-mysql-0\": null, \"shop-mysql-1\": null, \"shop-mysql-2\": null}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char why[320];
        struct backup_snapshot *snapshot = xnew(struct backup_snapshot);
        _cleanup_(json_decrefp) json_t *json = json_parse(usual, strlen(usual), NULL);
        _cleanup_(json_decrefp) json_t *over = json_parse(cases[i].over, strlen(cases[i].over), NULL);
        assert_non_null(over);
        json_merge(json_object_get(json, "members"), over);
        read_case(json, snapshot);
        const struct backup_member *donor = backup_donor_choose(snapshot, why, sizeof(why));
        if (!str_eq(donor ? donor->name : NULL, cases[i].wanted))
            fail_msg("%s: %s", cases[i].over, donor ? donor->name : why);
        assert_true(donor || *why);
        backup_snapshot_release(snapshot);
        free(snapshot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens),
        cmocka_unit_test(donors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
