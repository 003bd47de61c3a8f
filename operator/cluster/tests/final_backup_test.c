/* SPDX-License-Identifier: Apache-2.0 */
/* The last backup of a cluster that is being deleted: what its status becomes, what its primary is told, what is
 * written, what people see. */
#include "common/base.h"

#include "operator/cluster/deletion/final_backup.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/tests/golden_snapshot.h"

/* GOLDEN_NOW_MS is 2026-02-02T02:40:00Z. */
#define BEGUN "\"epoch\": 3, \"startTime\": \"2026-02-02T02:38:00.000Z\""
#define LONG_AGO "\"epoch\": 3, \"startTime\": \"2026-02-02T01:00:00.000Z\""
#define CLOSING(when) "{\"phase\": \"Closing\", " BEGUN ", \"closingTime\": \"2026-02-02T02:" when "Z\"}"
#define SHUT ", \"primary\": \"shop-mysql-0\", \"closedTime\": \"2026-02-02T02:39:10.500Z\""
#define RUNNING "{\"phase\": \"Running\", " BEGUN SHUT ", \"backup\": \"last\"}"
#define RUNNING_LATE "{\"phase\": \"Running\", " LONG_AGO SHUT ", \"backup\": \"last\"}"
#define FAILED(begun, retry)                                                                             \
    "{\"phase\": \"Running\", " begun SHUT ", \"failures\": 2, \"failure\": \"last: the disk is full\"," \
    " \"retryTime\": \"2026-02-02T02:" retry ".000Z\"}"
#define COMPLETED "{\"phase\": \"Completed\", " BEGUN SHUT ", \"backup\": \"last\"}"
#define REOPENED \
    "{\"phase\": \"Running\", \"epoch\": 2, \"startTime\": \"2026-02-02T02:38:00.000Z\"" SHUT ", \"backup\": \"last\"}"
#define CLOSED_AT_MS (GOLDEN_NOW_MS - 49500)

#define OPEN "{}"
#define NOTHING "{\"role\": \"\", \"writable\": false, \"readOnly\": true}"
#define NOT_DONE "{\"role\": \"\", \"writable\": false, \"orderDone\": false}"
#define OLD_EPOCH "{\"role\": \"\", \"writable\": false, \"epoch\": 2}"
#define LONG_GTID "{\"role\": \"\", \"writable\": false, \"gtidExecuted\": \"0-1-100,...\"}"
#define BUSY "{\"longTransactions\": 1, \"longTransaction\": \"thread 17\"}"
#define SILENT "null"

#define ONTO_VOLUME \
    "{\"backup\": {\"destination\": {\"s3\": null, \"persistentVolumeClaim\": {\"claimName\": \"safe\"}}}}"

enum told { TOLD_STANDS, TOLD_PRIMARY, TOLD_NOTHING };

struct row {
    const char *name;
    const char *spec;  /* a patch */
    const char *final; /* status.finalBackup; NULL: none */
    const char *agent; /* of the primary */
    enum { LIVES, DELETED, LIVES_UNHELD } life;
    bool skip, orphan, foreground;
    bool uninitialized;
    bool ends; /* the namespace */
    /* The MysqlBackup. */
    enum { ABSENT, THERE, FOREIGN } there;
    enum backup_phase backup;
    const char *donor;
    int64_t start_ms;
    /* What comes of it. */
    const char *phase;
    bool raises;      /* the epoch */
    bool names;       /* another MysqlBackup */
    int failures;     /* more than before */
    const char *says; /* nextAction has it; NULL: does not matter */
    enum told told;   /* by the status as it was */
    enum final_backup_act act;
    const char *reason; /* of the condition; NULL: there is none */
    bool over;
};

#define GOOD .there = THERE, .backup = BACKUP_PHASE_COMPLETED, .donor = "shop-mysql-0"

static const struct row rows[] = {
    {"it lives", .agent = OPEN, .life = LIVES, .phase = "", .told = TOLD_PRIMARY},
    {"it lives, and is to be held", .agent = OPEN, .life = LIVES_UNHELD, .phase = "", .told = TOLD_PRIMARY,
        .act = FINAL_BACKUP_ACT_HOLD},
    {"the wish was taken back", "{\"deletion\": null}", .agent = OPEN, .life = LIVES, .phase = "", .told = TOLD_PRIMARY,
        .act = FINAL_BACKUP_ACT_RELEASE},
    {"a spec that is not good changes no finalizer", "{\"deletion\": null, \"username\": \"x\"}", .agent = OPEN,
        .life = LIVES, .phase = "", .told = TOLD_PRIMARY},
    {"begins", .agent = OPEN, .life = DELETED, .phase = "Closing", .raises = true, .told = TOLD_PRIMARY,
        .reason = "Closing"},
    {"the namespace goes before it is closed", .ends = true, .agent = OPEN, .life = DELETED, .phase = "",
        .told = TOLD_PRIMARY, .reason = "CannotBeMade", .says = "annotation"},
    {"the namespace goes, and nobody is there to be closed", .ends = true, .final = CLOSING("39:50.000"),
        .agent = SILENT, .life = DELETED, .phase = "Closing", .told = TOLD_STANDS, .reason = "CannotBeMade",
        .says = "annotation"},
    {"the namespace goes before the object is made", .ends = true, .final = RUNNING, .agent = NOTHING, .life = DELETED,
        .phase = "Running", .told = TOLD_NOTHING, .reason = "CannotBeMade", .says = "annotation"},
    {"the namespace goes while it is taken", .ends = true, .final = RUNNING, .agent = NOTHING, .life = DELETED,
        .there = THERE, .backup = BACKUP_PHASE_RUNNING, .donor = "shop-mysql-0", .phase = "Running",
        .told = TOLD_NOTHING, .reason = "Running"},
    {"the namespace goes, and it is skipped", .ends = true, .skip = true, .final = CLOSING("39:50.000"),
        .agent = SILENT, .life = DELETED, .phase = "Closing", .told = TOLD_STANDS, .reason = "Skipped", .over = true,
        .act = FINAL_BACKUP_ACT_RELEASE},
    {"waits for long transactions", .agent = BUSY, .life = DELETED, .phase = "", .told = TOLD_PRIMARY,
        .reason = "Closing", .says = "close shop-mysql-0 (FinalBackup); waits up to 10 s"},
    {"begins without hearing of its primary", .agent = SILENT, .life = DELETED, .phase = "Closing", .raises = true,
        .told = TOLD_STANDS, .reason = "Closing"},
    {"the route goes ahead", .final = CLOSING("39:59.900"), .agent = OPEN, .life = DELETED, .phase = "Closing",
        .told = TOLD_STANDS, .reason = "Closing"},
    {"then the primary is told", .final = CLOSING("39:59.600"), .agent = OPEN, .life = DELETED, .phase = "Closing",
        .told = TOLD_NOTHING, .reason = "Closing", .says = "waits until shop-mysql-0 has stopped writes;"},
    {"a clock that was set back holds up nothing", .final = CLOSING("49:59.600"), .agent = OPEN, .life = DELETED,
        .phase = "Closing", .told = TOLD_NOTHING, .reason = "Closing"},
    {"not before it is done", .final = CLOSING("39:00.000"), .agent = NOT_DONE, .life = DELETED, .phase = "Closing",
        .told = TOLD_NOTHING, .reason = "Closing"},
    {"not by the word of an old epoch", .final = CLOSING("39:00.000"), .agent = OLD_EPOCH, .life = DELETED,
        .phase = "Closing", .told = TOLD_NOTHING, .reason = "Closing"},
    {"not in silence", .final = CLOSING("39:00.000"), .agent = SILENT, .life = DELETED, .phase = "Closing",
        .told = TOLD_STANDS, .reason = "Closing", .says = "its agent does not answer"},
    {"is shut", .final = CLOSING("39:00.000"), .agent = NOTHING, .life = DELETED, .phase = "Running", .names = true,
        .told = TOLD_NOTHING, .reason = "Closing"},
    {"a position that is too long does not matter", .final = CLOSING("39:00.000"), .agent = LONG_GTID, .life = DELETED,
        .phase = "Running", .names = true, .told = TOLD_NOTHING, .reason = "Closing"},
    {"the object is made", .final = RUNNING, .agent = NOTHING, .life = DELETED, .phase = "Running",
        .told = TOLD_NOTHING, .act = FINAL_BACKUP_ACT_MAKE, .reason = "Running"},
    {"it runs", .final = RUNNING, .agent = NOTHING, .life = DELETED, .there = THERE, .backup = BACKUP_PHASE_RUNNING,
        .phase = "Running", .told = TOLD_NOTHING, .reason = "Running", .says = "after its final backup last"},
    {"it is stored", .final = RUNNING, .agent = NOTHING, .life = DELETED, GOOD, .start_ms = CLOSED_AT_MS,
        .phase = "Completed", .told = TOLD_NOTHING, .reason = "Running"},
    {"that a primary is silent then does not matter", .final = RUNNING, .agent = SILENT, .life = DELETED, GOOD,
        .start_ms = CLOSED_AT_MS, .phase = "Completed", .told = TOLD_STANDS, .reason = "Running"},
    {"it goes", .final = COMPLETED, .agent = NOTHING, .life = DELETED, .phase = "Completed", .told = TOLD_NOTHING,
        .act = FINAL_BACKUP_ACT_RELEASE, .reason = "Completed", .over = true},
    {"one of before does not count", .final = RUNNING, .agent = NOTHING, .life = DELETED, GOOD,
        .start_ms = CLOSED_AT_MS - 2000, .phase = "Running", .failures = 1, .told = TOLD_NOTHING, .reason = "Running"},
    {"one of another member does not count", .final = RUNNING, .agent = NOTHING, .life = DELETED, .there = THERE,
        .backup = BACKUP_PHASE_COMPLETED, .donor = "shop-mysql-1", .start_ms = CLOSED_AT_MS, .phase = "Running",
        .failures = 1, .told = TOLD_NOTHING, .reason = "Running"},
    {"a name that is somebody else's", .final = RUNNING, .agent = NOTHING, .life = DELETED, .there = FOREIGN,
        .backup = BACKUP_PHASE_COMPLETED, .donor = "shop-mysql-0", .start_ms = CLOSED_AT_MS, .phase = "Running",
        .failures = 1, .told = TOLD_NOTHING, .reason = "Running"},
    {"it failed", .final = RUNNING, .agent = NOTHING, .life = DELETED, .there = THERE, .backup = BACKUP_PHASE_FAILED,
        .phase = "Running", .failures = 1, .told = TOLD_NOTHING, .reason = "Running"},
    {"the next one is waited for", .final = FAILED(BEGUN, "40:07"), .agent = NOTHING, .life = DELETED,
        .phase = "Running", .told = TOLD_NOTHING, .reason = "Retrying",
        .says = "in 7 s; 2 failed, the last: last: the disk is full"},
    {"and begins", .final = FAILED(BEGUN, "40:00"), .agent = NOTHING, .life = DELETED, .phase = "Running",
        .names = true, .told = TOLD_NOTHING, .reason = "Retrying"},
    {"not after the deadline", .final = FAILED(LONG_AGO, "40:00"), .agent = NOTHING, .life = DELETED,
        .phase = "Running", .told = TOLD_NOTHING, .reason = "DeadlineExceeded", .says = "skip-final-backup=true"},
    {"a longer deadline goes on", "{\"deletion\": {\"finalBackupDeadlineSeconds\": 86400}}",
        .final = FAILED(LONG_AGO, "40:00"), .agent = NOTHING, .life = DELETED, .phase = "Running", .names = true,
        .told = TOLD_NOTHING, .reason = "Retrying"},
    {"what is under way may end after the deadline", .final = RUNNING_LATE, .agent = NOTHING, .life = DELETED, GOOD,
        .start_ms = CLOSED_AT_MS, .phase = "Completed", .told = TOLD_NOTHING, .reason = "Running"},
    {"after a failover it is closed again", .final = REOPENED, .agent = OPEN, .life = DELETED, .phase = "Closing",
        .raises = true, .told = TOLD_NOTHING, .reason = "Running"},
    {"and what was stored before does not count", .final = REOPENED, .agent = OPEN, .life = DELETED, GOOD,
        .start_ms = CLOSED_AT_MS, .phase = "Closing", .raises = true, .told = TOLD_NOTHING, .reason = "Running"},
    {"skipped at once", .agent = OPEN, .life = DELETED, .skip = true, .phase = "", .told = TOLD_PRIMARY,
        .act = FINAL_BACKUP_ACT_RELEASE, .reason = "Skipped", .over = true},
    {"skipped in the midst", .final = RUNNING, .agent = NOTHING, .life = DELETED, .skip = true, .phase = "Running",
        .told = TOLD_NOTHING, .act = FINAL_BACKUP_ACT_RELEASE, .reason = "Skipped", .over = true},
    {"skipped while paused", "{\"paused\": true}", .agent = OPEN, .life = DELETED, .skip = true, .phase = "",
        .told = TOLD_PRIMARY, .act = FINAL_BACKUP_ACT_RELEASE, .reason = "Skipped", .over = true},
    {"wanted no more", "{\"deletion\": {\"finalBackup\": false}}", .agent = OPEN, .life = DELETED, .phase = "",
        .told = TOLD_PRIMARY, .act = FINAL_BACKUP_ACT_RELEASE, .reason = "NotWanted", .over = true},
    {"what is no plain no is a yes", "{\"deletion\": {\"finalBackup\": \"false\"}}", .agent = OPEN, .life = DELETED,
        .phase = "Closing", .raises = true, .told = TOLD_PRIMARY, .reason = "Closing"},
    {"members stay", .agent = OPEN, .life = DELETED, .orphan = true, .phase = "", .told = TOLD_PRIMARY,
        .act = FINAL_BACKUP_ACT_RELEASE, .reason = "MembersStay", .over = true},
    {"members would go first", .agent = OPEN, .life = DELETED, .foreground = true, .phase = "Closing", .raises = true,
        .told = TOLD_PRIMARY, .act = FINAL_BACKUP_ACT_KEEP, .reason = "Closing"},
    {"paused", "{\"paused\": true}", .agent = OPEN, .life = DELETED, .phase = "", .told = TOLD_PRIMARY,
        .reason = "Paused", .says = "blocked: spec.paused is true"},
    {"onto a volume, and its agent would not understand the pod in front of that", ONTO_VOLUME, .agent = OPEN,
        .life = DELETED, .phase = "", .told = TOLD_PRIMARY, .reason = "AgentOutdated",
        .says = "blocked: the agent of shop-mysql-0 is of an earlier version"},
    {"onto a volume", ONTO_VOLUME, .agent = "{\"volumeProtocol\": 1}", .life = DELETED, .phase = "Closing",
        .raises = true, .told = TOLD_PRIMARY, .reason = "Closing"},
    {"onto a volume, and closed before the operator was exchanged", ONTO_VOLUME, .final = CLOSING("39:00.000"),
        .agent = NOTHING, .life = DELETED, .phase = "Running", .names = true, .told = TOLD_NOTHING, .reason = "Closing"},
    {"no destination", "{\"backup\": null}", .agent = OPEN, .life = DELETED, .phase = "", .told = TOLD_PRIMARY,
        .reason = "InvalidSpec", .says = "blocked: spec.backup.destination: is missing; annotation"},
    {"a destination that is not good", "{\"backup\": {\"destination\": {\"s3\": {\"bucket\": 7}}}}", .agent = OPEN,
        .life = DELETED, .phase = "", .told = TOLD_PRIMARY, .reason = "InvalidSpec",
        .says = "spec.backup.destination.s3"},
    {"the rest of the spec does not matter", "{\"username\": \"x\"}", .agent = OPEN, .life = DELETED,
        .phase = "Closing", .raises = true, .told = TOLD_PRIMARY, .reason = "Closing"},
    {"never open, but there may be data", .agent = "{\"writable\": false}", .life = DELETED, .uninitialized = true,
        .phase = "Closing", .raises = true, .told = TOLD_PRIMARY, .reason = "Closing"},
    {"never open, and empty", .life = DELETED, .uninitialized = true, .phase = "", .told = TOLD_PRIMARY,
        .agent = "{\"phase\": \"Seeding\", \"data\": \"Empty\", \"writable\": false, \"seed\": \"Failed\"}",
        .act = FINAL_BACKUP_ACT_RELEASE, .reason = "NoData", .over = true},
};

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

static struct golden *make(const struct row *row)
{
    _cleanup_(json_decrefp) json_t *spec = parse(
        "{\"config\": {\"spec\": {\"images\": {\"mysql\": \"mysql:8.4\"}}}, \"replicas\": 1,"
        "\"storage\": {\"resources\": {\"requests\": {\"storage\": \"1Gi\"}}},"
        "\"backup\": {\"destination\": {\"s3\": {\"bucket\": \"safe\", \"credentialsSecret\": {\"name\": \"keys\"}}}},"
        "\"deletion\": {\"finalBackup\": true}}");
    _cleanup_(json_decrefp) json_t *status = parse("{\"currentPrimary\": \"shop-mysql-0\", \"epoch\": 3}");
    _cleanup_(json_decrefp) json_t *observed =
        parse("{\"pods\": {\"0\": {}}, \"claims\": {\"0\": {}}, \"children\": {}, \"agents\": {}}");
    _cleanup_(json_decrefp) json_t *metadata = parse("{\"generation\": 2, \"finalizers\": []}");
    if (row->life != LIVES_UNHELD)
        json_array_append_new(json_object_get(metadata, "finalizers"), json_string(FINALIZER_FINAL_BACKUP));
    if (row->orphan)
        json_array_append_new(json_object_get(metadata, "finalizers"), json_string(FINALIZER_ORPHAN));
    if (row->foreground)
        json_array_append_new(json_object_get(metadata, "finalizers"), json_string(FINALIZER_FOREGROUND));
    if (row->life == DELETED)
        json_put_str(metadata, "deletionTimestamp", "2026-02-02T02:37:00Z");
    if (row->skip)
        json_put(metadata, "annotations", json_build("{s:s}", ANNOTATION_SKIP_FINAL_BACKUP, "true"));
    json_put_bool(status, "initialized", !row->uninitialized);
    if (row->final)
        json_put(status, "finalBackup", parse(row->final));
    if (strcmp(row->agent, SILENT) == 0)
        json_put(json_object_get(observed, "agents"), "0", json_null());
    else
        json_put(json_object_get(observed, "agents"), "0", parse(row->agent));
    _cleanup_(json_decrefp) json_t *applied = json_deep_copy(spec);
    json_put(observed, "appliedSpec", json_incref(applied));
    if (row->spec) {
        _cleanup_(json_decrefp) json_t *patch = parse(row->spec);
        json_merge(spec, patch);
    }
    _cleanup_(json_decrefp) json_t *cluster =
        json_build("{s:O, s:O, s:O}", "metadata", metadata, "spec", spec, "status", status);
    struct golden *golden = golden_new(cluster, observed);
    struct final_backup_facts *final = &golden->snapshot.final;
    golden->snapshot.namespace_ends = row->ends;
    final->is_there = row->there != ABSENT;
    final->is_ours = row->there == THERE;
    final->phase = row->backup;
    final->start_ms = row->start_ms;
    snprintf(final->donor, sizeof(final->donor), "%s", str_or_empty(row->donor));
    snprintf(final->cluster_uid, sizeof(final->cluster_uid), GOLDEN_UID);
    return golden;
}

static enum told told(const struct cluster_snapshot *snapshot)
{
    struct cluster_orders *orders = xcalloc(1, sizeof(*orders));
    golden_order(snapshot, orders);
    enum agent_role role = orders->orders[0].role;
    enum told ret = !orders->given[0] ? TOLD_STANDS : role == AGENT_ROLE_PRIMARY ? TOLD_PRIMARY : TOLD_NOTHING;
    free(orders);
    return ret;
}

static void check_intent(const struct row *row, struct golden *golden)
{
    struct cluster_intent intent;
    const struct cluster_final_backup *last = &golden->snapshot.last.roles.final_backup;
    cluster_intend(&golden->snapshot, false, &intent);
    const struct cluster_final_backup *next = &intent.roles.final_backup;
    bool names = !str_empty(next->backup) && !str_eq(next->backup, last->backup);
    bool raises = intent.roles.epoch == golden->snapshot.last.roles.epoch + 1;
    if (!str_eq(final_backup_phase_names[next->phase], row->phase) || names != row->names || raises != row->raises ||
        next->failures != last->failures + row->failures)
        fail_msg("%s: phase %s, MysqlBackup %s, epoch %lld, failures %d", row->name,
            final_backup_phase_names[next->phase], next->backup, (long long)intent.roles.epoch, next->failures);
    if (names)
        assert_string_equal(next->backup, "shop-final-20260202024000");
    if (row->failures)
        assert_true(str_empty(next->backup) && next->retry_ms > GOLDEN_NOW_MS && !str_empty(next->failure));
    if (row->says && !strstr(intent.next_action, row->says))
        fail_msg("%s: next action %s", row->name, intent.next_action);
    assert_true(raises || names || row->failures || intent.changed == (next->phase != last->phase));
    /* What is written is read back as it was. */
    struct cluster_final_backup again;
    _cleanup_(json_decrefp) json_t *json = cluster_final_backup_encode(next);
    cluster_final_backup_decode(json, &again);
    assert_true(cluster_final_backup_same(next, &again));
}

static void check_report(const struct row *row, struct golden *golden)
{
    struct cluster_status status = {0};
    final_backup_report(&golden->snapshot, &status);
    const struct kube_condition *condition = kube_conditions_find(&status.conditions, CONDITION_FINAL_BACKUP);
    if (!str_eq(condition ? condition->reason : NULL, row->reason) ||
        (condition && (condition->status == KUBE_CONDITION_TRUE) != row->over))
        fail_msg("%s: FinalBackup %s: %s", row->name, condition ? condition->reason : "-",
            condition ? condition->message : "");
    cluster_status_release(&status);
}

static void test_rows(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct golden *golden = make(&rows[i]);
        enum told is_told = told(&golden->snapshot);
        enum final_backup_act act = final_backup_next_act(&golden->snapshot);
        check_intent(&rows[i], golden);
        check_report(&rows[i], golden);
        if (is_told != rows[i].told || act != rows[i].act)
            fail_msg("%s: told %d, act %d", rows[i].name, (int)is_told, (int)act);
        golden_free(golden);
    }
}

/* Who goes by the Service's route finds nobody, from the closing on. */
static void test_route(void **state)
{
    UNUSED(state);
    const struct row open = {.agent = OPEN, .life = DELETED},
                     closing = {.agent = OPEN, .life = DELETED, .final = CLOSING("39:59.900")};
    struct golden *golden = make(&open);
    json_t *slice = desired_endpoint_slice(&golden->snapshot);
    assert_int_equal(json_array_size(json_object_get(slice, "endpoints")), 1);
    json_decref(slice);
    golden_free(golden);
    golden = make(&closing);
    slice = desired_endpoint_slice(&golden->snapshot);
    assert_int_equal(json_array_size(json_object_get(slice, "endpoints")), 0);
    json_decref(slice);
    golden_free(golden);
}

/* Complete in itself, within the rest of the deadline, of no owner. */
static void test_object(void **state)
{
    UNUSED(state);
    const struct row row = {.agent = NOTHING, .life = DELETED, .final = RUNNING};
    struct golden *golden = make(&row);
    _cleanup_(json_decrefp) json_t *object = final_backup_object(&golden->snapshot);
    _cleanup_(json_decrefp) json_t *wanted = parse(
        "{\"apiVersion\": \"kubemysql.dev/v1alpha1\", \"kind\": \"MysqlBackup\", \"metadata\": {\"name\": \"last\","
        "\"namespace\": \"ns1\", \"labels\": {\"kubemysql.dev/cluster\": \"shop\", \"kubemysql.dev/final-backup\": \"true\","
        "\"app.kubernetes.io/managed-by\": \"kube-mysql\"}}, \"spec\": {\"cluster\": \"shop\", \"deletionPolicy\": \"Retain\","
        "\"deadlineSeconds\": 3480, \"destination\": {\"s3\": {\"bucket\": \"safe\", \"credentialsSecret\": {\"name\": \"keys\"}}}}}");
    assert_true(json_equal(object, wanted));
    golden_free(golden);
}

/* Claims get their owner when there is nothing to lose any more. */
static void test_claims(void **state)
{
    UNUSED(state);
    static const struct {
        const char *spec, *final;
        int life;
        size_t patches;
    } cases[] = {
        {"{\"deletion\": {\"volumes\": \"Delete\"}}", NULL, LIVES, 0},
        {"{\"deletion\": {\"volumes\": \"Delete\", \"finalBackup\": false}}", NULL, LIVES_UNHELD, 1},
        {"{\"deletion\": {\"volumes\": \"Delete\"}}", RUNNING, DELETED, 0},
        {"{\"deletion\": {\"volumes\": \"Delete\"}}", COMPLETED, DELETED, 1},
        {"{\"deletion\": {\"volumes\": \"Delete\"}, \"username\": \"x\"}", COMPLETED, DELETED, 1},
        {"{\"deletion\": {\"volumes\": \"Retain\"}}", COMPLETED, DELETED, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct row row = {.spec = cases[i].spec, .agent = NOTHING, .final = cases[i].final, .life = cases[i].life};
        struct golden *golden = make(&row);
        struct cluster_decision decision;
        golden_decide(&golden->snapshot, &decision);
        size_t patches = 0;
        for (int action = 0; action < decision.plan->count; action++)
            patches += decision.plan->actions[action].kind == PLAN_VOLUME_CLAIM;
        if (patches != cases[i].patches)
            fail_msg("case %zu: %zu claims are patched", i, patches);
        if (cases[i].final && strstr(cases[i].final, "Completed") && patches)
            assert_int_equal(final_backup_next_act(&golden->snapshot), FINAL_BACKUP_ACT_NONE);
        cluster_decision_release(&decision);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_route),
        cmocka_unit_test(test_object),
        cmocka_unit_test(test_claims),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
