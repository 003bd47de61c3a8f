/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/tls.h"

static const char *const phase_names[AGENT_PHASE_COUNT] = {
    [AGENT_PHASE_UNKNOWN] = "Unknown",
    [AGENT_PHASE_STARTING] = "Starting",
    [AGENT_PHASE_RUNNING] = "Running",
    [AGENT_PHASE_HUNG] = "Hung",
    [AGENT_PHASE_DOWN] = "Down",
    [AGENT_PHASE_SEEDING] = "Seeding",
};

static const char *const flavour_names[AGENT_FLAVOUR_COUNT] = {
    [AGENT_FLAVOUR_UNKNOWN] = "",
    [AGENT_FLAVOUR_MYSQL] = "mysql",
    [AGENT_FLAVOUR_MARIADB] = "mariadb",
    [AGENT_FLAVOUR_PERCONA] = "percona",
};

static const char *const thread_names[AGENT_THREAD_COUNT] = {
    [AGENT_THREAD_OFF] = "",
    [AGENT_THREAD_CONNECTING] = "Connecting",
    [AGENT_THREAD_RUNNING] = "Running",
};
static const char *const data_names[AGENT_DATA_COUNT] = {
    [AGENT_DATA_UNKNOWN] = "",
    [AGENT_DATA_EMPTY] = "Empty",
    [AGENT_DATA_DATABASE] = "Database",
};
static const char *const seed_step_names[AGENT_SEED_STEP_COUNT] = {
    [AGENT_SEED_STEP_NONE] = "",
    [AGENT_SEED_STEP_WAITING] = "Waiting",
    [AGENT_SEED_STEP_INITIALISING] = "Initialising",
    [AGENT_SEED_STEP_COPYING] = "Copying",
    [AGENT_SEED_STEP_PREPARING] = "Preparing",
    [AGENT_SEED_STEP_REPLAYING] = "Replaying",
    [AGENT_SEED_STEP_DONE] = "Done",
    [AGENT_SEED_STEP_FAILED] = "Failed",
};

const char *agent_seed_step_name(enum agent_seed_step step)
{
    return (unsigned)step < AGENT_SEED_STEP_COUNT ? seed_step_names[step] : "";
}

enum agent_seed_step agent_seed_step_of(const char *name)
{
    return (enum agent_seed_step)json_name_index(seed_step_names, AGENT_SEED_STEP_COUNT, name);
}

const char *agent_phase_name(enum agent_phase phase)
{
    return (unsigned)phase < AGENT_PHASE_COUNT ? phase_names[phase] : phase_names[AGENT_PHASE_UNKNOWN];
}

const char *agent_flavour_name(enum agent_flavour flavour)
{
    return (unsigned)flavour < AGENT_FLAVOUR_COUNT ? flavour_names[flavour] : "";
}

/* ---- what `check` and `init` say when they end ---- */

static const char *behind(const char *said, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(said, prefix, len) == 0 && strncmp(said + len, ": ", 2) == 0 ? said + len + 2 : NULL;
}

enum agent_check_fault agent_check_fault_of(const char *said, const char **ret_words)
{
    const char *text = said ? said : "", *of_image = behind(text, AGENT_CHECK_IMAGE),
               *of_start = behind(text, AGENT_CHECK_START);
    if (of_image) {
        *ret_words = of_image;
        return AGENT_CHECK_FAULT_IMAGE;
    }
    *ret_words = of_start ? of_start : text;
    return of_start ? AGENT_CHECK_FAULT_START : AGENT_CHECK_FAULT_MYCNF;
}

size_t agent_check_adjusted(const char *said, const char **ret_cut)
{
    const char *text = said ? said : "", *cut = strstr(text, AGENT_CHECK_CUT);
    *ret_cut = cut ? cut + strlen(AGENT_CHECK_CUT) : "";
    return cut ? (size_t)(cut - text) : strlen(text);
}

/* 1 is of agents that do not tell, 2 of options that are not known; a shell and the runtimes have those from 125 on. */
static const int init_exit_codes[AGENT_INIT_FAULT_COUNT] = {
    [AGENT_INIT_FAULT_OTHER] = 10,
    [AGENT_INIT_FAULT_MYCNF] = 11,
    [AGENT_INIT_FAULT_IMAGE] = 12,
    [AGENT_INIT_FAULT_MEMORY] = 13,
};

int agent_init_exit_code(enum agent_init_fault fault)
{
    return init_exit_codes[fault];
}

/* Up to 0.1.0. What they say of a my.cnf that the server refuses has that name in it. */
static enum agent_init_fault fault_by_words(const char *said)
{
    if (strstr(said, "this image holds ") || strstr(said, "the image holds "))
        return AGENT_INIT_FAULT_IMAGE;
    return strstr(said, "my.cnf") ? AGENT_INIT_FAULT_MYCNF : AGENT_INIT_FAULT_OTHER;
}

enum agent_init_fault agent_init_fault_of(int exit_code, const char *said)
{
    for (int fault = 0; fault < AGENT_INIT_FAULT_COUNT; fault++) {
        if (exit_code == init_exit_codes[fault])
            return (enum agent_init_fault)fault;
    }
    return fault_by_words(said ? said : "");
}

/* ---- instance config ---- */

void agent_instance_config_release(struct agent_instance_config *config)
{
    free(config->cluster_namespace);
    free(config->cluster_name);
    free(config->cluster_uid);
    free(config->service_domain);
    free(config->database);
    free(config->username);
    free(config->made_with);
    free(config->data_version);
    *config = (struct agent_instance_config){0};
}

json_t *agent_instance_config_encode(const struct agent_instance_config *config)
{
    json_t *document = json_object();

    json_put_str(document, "namespace", config->cluster_namespace);
    json_put_str(document, "cluster", config->cluster_name);
    json_put_str(document, "clusterUID", config->cluster_uid);
    json_put_str(document, "serviceDomain", config->service_domain);
    json_put_int(document, "serverIdBase", config->server_id_base);
    json_put_int(document, "replicas", config->replicas);
    json_put_str(document, "database", config->database);
    json_put_str(document, "username", config->username);
    if (config->require_tls)
        json_put_bool(document, "requireTLS", true);
    if (config->binlog_max_bytes)
        json_put_int(document, "binlogMaxBytes", (int64_t)config->binlog_max_bytes);
    json_put_str(document, "madeWith", config->made_with);
    json_put_str(document, "dataVersion", config->data_version);
    if (config->start)
        json_put_bool(document, "start", true);
    return document;
}

static int want_copy(const json_t *document, const char *path, char **ret, struct error *err)
{
    const char *text = NULL;

    if (json_want_str(document, path, &text, err) < 0)
        return -1;
    str_replace(ret, str_empty(text) ? NULL : text);
    return 0;
}

int agent_instance_config_decode(const json_t *document, struct agent_instance_config *ret, struct error *err)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config config = {0};
    int64_t server_id_base = 0;
    int64_t replicas = 0, binlog_max_bytes = 0;

    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "the instance configuration is no JSON object");
    if (want_copy(document, "namespace", &config.cluster_namespace, err) < 0 ||
        want_copy(document, "cluster", &config.cluster_name, err) < 0 ||
        want_copy(document, "clusterUID", &config.cluster_uid, err) < 0 ||
        want_copy(document, "serviceDomain", &config.service_domain, err) < 0 ||
        want_copy(document, "database", &config.database, err) < 0 ||
        want_copy(document, "username", &config.username, err) < 0 ||
        json_want_bool(document, "requireTLS", &config.require_tls, err) < 0 ||
        want_copy(document, "madeWith", &config.made_with, err) < 0 ||
        want_copy(document, "dataVersion", &config.data_version, err) < 0 ||
        json_want_int(document, "binlogMaxBytes", 0, INT64_MAX, &binlog_max_bytes, err) < 0 ||
        json_want_int(document, "serverIdBase", 0, UINT32_MAX, &server_id_base, err) < 0 ||
        json_want_int(document, "replicas", 0, INT32_MAX, &replicas, err) < 0)
        return error_prefix(err, "instance configuration");
    config.start = json_is_true(json_object_get(document, "start"));
    config.server_id_base = (uint32_t)server_id_base;
    config.replicas = (int)replicas;
    config.binlog_max_bytes = (uint64_t)binlog_max_bytes;
    *ret = config;
    config = (struct agent_instance_config){0};
    return 0;
}

static void add_account_file(struct strbuf *text, const char *name, const char *content)
{
    if (content)
        strbuf_addf(text, "%s %zu\n%s\n", name, strlen(content), content);
}

void agent_accounts_hash(const char *cluster_uid, const struct agent_account_files *files, char out[static 65])
{
    _cleanup_(strbuf_release_secret) struct strbuf text;

    strbuf_init(&text, FS_READ_MAX);
    strbuf_addf(&text, "%s\n", str_or_empty(cluster_uid));
    add_account_file(&text, "root", files->root);
    add_account_file(&text, "replication", files->replication);
    add_account_file(&text, "monitor", files->monitor);
    add_account_file(&text, "user", files->user);
    tls_sha256_hex(text.buf, text.len, out);
}

/* ---- status: one table for encoding, decoding and comparing ---- */

#define FIELD(key, type, change, member) JSON_FIELD(agent_status, key, JSON_FIELD_##type, change, member)
#define FIELD_ENUM(key, member, names) JSON_FIELD_ENUM(agent_status, key, CHANGE_COUNTS, member, names)

static const struct json_field fields[] = {
    FIELD_ENUM("phase", phase, phase_names),
    FIELD_ENUM("flavour", flavour, flavour_names),
    FIELD("instance", TEXT, CHANGE_COUNTS, instance),
    FIELD("podUid", TEXT, CHANGE_COUNTS, pod_uid),
    FIELD("bootId", TEXT, CHANGE_COUNTS, boot_id),
    FIELD("sequence", U64, CHANGE_IGNORED, sequence),
    FIELD("version", TEXT, CHANGE_COUNTS, version),
    FIELD("serverUUID", TEXT, CHANGE_COUNTS, server_uuid),
    FIELD("serverId", U32, CHANGE_COUNTS, server_id),
    FIELD("uptimeSeconds", I64, CHANGE_IGNORED, uptime_s),
    FIELD("ready", BOOL, CHANGE_COUNTS, ready),
    FIELD("readyReason", TEXT, CHANGE_COUNTS, ready_reason),
    FIELD("readOnly", BOOL, CHANGE_COUNTS, read_only),
    FIELD("accountsApplied", BOOL, CHANGE_COUNTS, accounts_applied),
    FIELD("accountsHash", TEXT, CHANGE_COUNTS, accounts_hash),
    FIELD("namedKnown", BOOL, CHANGE_COUNTS, named_known),
    FIELD("namedUser", TEXT, CHANGE_COUNTS, named_user),
    FIELD("namedDatabase", TEXT, CHANGE_COUNTS, named_database),
    FIELD("namedTLS", TEXT, CHANGE_COUNTS, named_tls),
    FIELD("leftAccounts", TEXT, CHANGE_COUNTS, left_accounts),
    FIELD("lockedAccounts", TEXT, CHANGE_COUNTS, locked_accounts),
    FIELD("leftDatabases", TEXT, CHANGE_COUNTS, left_databases),
    FIELD("mycnfHash", TEXT, CHANGE_COUNTS, mycnf_hash),
    FIELD("madeWith", TEXT, CHANGE_COUNTS, made_with),
    FIELD("gtidExecuted", POSITION, CHANGE_COUNTS, gtid_executed),
    FIELD("gtidState", POSITION, CHANGE_IGNORED, gtid_state),
    FIELD("volumeBytes", U64, CHANGE_COUNTS, volume_bytes),
    FIELD("volumeFreeBytes", U64, CHANGE_ONE_PERCENT, volume_free_bytes),
    FIELD("volumeFloorBytes", U64, CHANGE_ONE_PERCENT, volume_floor_bytes),
    FIELD("roomPasses", BOOL, CHANGE_COUNTS, room_passes),
    FIELD("binlogsFromMs", I64, CHANGE_COUNTS, binlogs_from_ms),
    FIELD("binlogBytes", U64, CHANGE_IGNORED, binlog_bytes),
    FIELD("purgeWish", TEXT, CHANGE_COUNTS, purge_wish),
    FIELD("purgeUntil", TEXT, CHANGE_COUNTS, purge_until),
    FIELD("purgeAfter", TEXT, CHANGE_COUNTS, purge_after),
    FIELD("purgeForRoom", BOOL, CHANGE_COUNTS, purge_for_room),
    FIELD("purgeGranted", TEXT, CHANGE_COUNTS, purge_granted),
    FIELD("probeMicroseconds", I64, CHANGE_IGNORED, probe_us),
    FIELD("certificateNotAfterMs", I64, CHANGE_COUNTS, certificate_not_after_ms),
    FIELD("nowMs", I64, CHANGE_IGNORED, now_ms),
    FIELD("clockMs", I64, CHANGE_IGNORED, clock_ms),
    FIELD("lookedMs", I64, CHANGE_IGNORED, looked_ms),
    FIELD("positionMax", U32, CHANGE_COUNTS, position_max),
    FIELD("volumeProtocol", U32, CHANGE_COUNTS, volume_protocol),
    FIELD("epoch", U64, CHANGE_COUNTS, epoch),
    FIELD("openedEpoch", U64, CHANGE_COUNTS, opened_epoch),
    FIELD("notedSince", U64, CHANGE_COUNTS, noted_since),
    FIELD_ENUM("role", role, agent_role_names),
    FIELD("orderHash", TEXT, CHANGE_COUNTS, order_hash),
    FIELD("orderDone", BOOL, CHANGE_COUNTS, order_done),
    FIELD("writable", BOOL, CHANGE_COUNTS, writable),
    FIELD("leavesThreads", BOOL, CHANGE_COUNTS, leaves_threads),
    FIELD("keepsStopped", BOOL, CHANGE_COUNTS, keeps_stopped),
    FIELD("locksLeft", BOOL, CHANGE_COUNTS, locks_left),
    FIELD("openForRootUntilMs", U64, CHANGE_COUNTS, root_until_ms),
    FIELD("staysOpen", BOOL, CHANGE_COUNTS, stays_open),
    FIELD("closedForRoom", BOOL, CHANGE_COUNTS, closed_for_room),
    FIELD("openForRoot", BOOL, CHANGE_COUNTS, open_for_root),
    FIELD("roomyReplicas", U32, CHANGE_COUNTS, roomy_replicas),
    FIELD("gtidReceived", POSITION, CHANGE_COUNTS, gtid_received),
    FIELD("errantTransactions", TEXT, CHANGE_COUNTS, errant),
    FIELD("sourceHost", TEXT, CHANGE_COUNTS, replication.source_host),
    FIELD_ENUM("receiver", replication.receiver, thread_names),
    FIELD_ENUM("applier", replication.applier, thread_names),
    FIELD("lagKnown", BOOL, CHANGE_COUNTS, replication.lag_known),
    FIELD("lagMs", I64, CHANGE_IGNORED, replication.lag_ms),
    FIELD("appliedEpoch", U64, CHANGE_COUNTS, replication.applied_epoch),
    FIELD("receiverErrno", U32, CHANGE_COUNTS, replication.receiver_errno),
    FIELD("receiverError", TEXT, CHANGE_COUNTS, replication.receiver_error),
    FIELD("applierErrno", U32, CHANGE_COUNTS, replication.applier_errno),
    FIELD("applierError", TEXT, CHANGE_COUNTS, replication.applier_error),
    FIELD("applierStoppedMs", I64, CHANGE_IGNORED, replication.stopped_ms),
    FIELD("sourceSeen", BOOL, CHANGE_COUNTS, replication.source_seen),
    FIELD("sourceLost", BOOL, CHANGE_COUNTS, replication.source_lost),
    FIELD("caughtUp", BOOL, CHANGE_COUNTS, replication.caught_up),
    FIELD("dropped", TEXT, CHANGE_COUNTS, replication.dropped),
    FIELD("stalledMs", I64, CHANGE_IGNORED, stalled_ms),
    FIELD("isolated", BOOL, CHANGE_COUNTS, isolated),
    FIELD("setAside", TEXT, CHANGE_COUNTS, set_aside.sets[0]),
    FIELD("setAside2", TEXT, CHANGE_COUNTS, set_aside.sets[1]),
    FIELD("setAside3", TEXT, CHANGE_COUNTS, set_aside.sets[2]),
    FIELD("setAsideMore", U32, CHANGE_COUNTS, set_aside.more),
    FIELD("salvaged", TEXT, CHANGE_COUNTS, salvaged),
    FIELD("semiSync", BOOL, CHANGE_COUNTS, semi_sync),
    FIELD("semiSyncReplicas", U32, CHANGE_COUNTS, semi_sync_replicas),
    FIELD("semiSyncAcks", U32, CHANGE_COUNTS, semi_sync_acks),
    FIELD("semiSyncLapses", U64, CHANGE_COUNTS, semi_sync_lapses),
    FIELD("waitingCommits", U32, CHANGE_IGNORED, waiting_commits),
    FIELD("writesBlockedMs", I64, CHANGE_IGNORED, writes_blocked_ms),
    FIELD("tookWritesMs", I64, CHANGE_IGNORED, took_writes.at_ms),
    FIELD("tookWritesSpanMs", I64, CHANGE_IGNORED, took_writes.span_ms),
    FIELD("eventReceivedMs", I64, CHANGE_IGNORED, event_received.at_ms),
    FIELD("eventReceivedSpanMs", I64, CHANGE_IGNORED, event_received.span_ms),
    FIELD("openingMs", I64, CHANGE_IGNORED, opening.at_ms),
    FIELD("openingSpanMs", I64, CHANGE_IGNORED, opening.span_ms),
    FIELD("openingEpoch", U64, CHANGE_COUNTS, opening_epoch),
    FIELD("firstCommitMs", I64, CHANGE_IGNORED, first_commit.at_ms),
    FIELD("firstCommitSpanMs", I64, CHANGE_IGNORED, first_commit.span_ms),
    FIELD("firstCommitIdleMs", I64, CHANGE_IGNORED, first_commit_idle_ms),
    FIELD("firstCommitEpoch", U64, CHANGE_COUNTS, first_commit_epoch),
    FIELD("longTransactions", U32, CHANGE_COUNTS, long_transactions),
    FIELD("longTransaction", TEXT, CHANGE_COUNTS, long_transaction),
    FIELD("lockedMs", I64, CHANGE_IGNORED, locked_ms),
    FIELD("lockHolder", TEXT, CHANGE_COUNTS, lock_holder),
    FIELD_ENUM("data", data, data_names),
    FIELD_ENUM("mark", mark, agent_mark_names),
    FIELD("restoredNumber", U64, CHANGE_COUNTS, restored_number),
    FIELD("besideNumber", U64, CHANGE_COUNTS, beside_number),
    FIELD("dataBefore", BOOL, CHANGE_COUNTS, has_before),
    FIELD_ENUM("seed", seed.step, seed_step_names),
    FIELD("seedDonor", TEXT, CHANGE_COUNTS, seed.donor),
    FIELD("seedBytes", U64, CHANGE_IGNORED, seed.bytes),
    FIELD("seedTotalBytes", U64, CHANGE_ONE_PERCENT, seed.total_bytes),
    FIELD("seedBytesPerSecond", U64, CHANGE_IGNORED, seed.bytes_per_second),
    FIELD("seedAttempts", U32, CHANGE_COUNTS, seed.attempts),
    FIELD("seedMessage", TEXT, CHANGE_COUNTS, seed.message),
    FIELD("seedTask", TEXT, CHANGE_COUNTS, seed.task),
    FIELD("seedReason", TEXT, CHANGE_COUNTS, seed.reason),
    FIELD("seedGaveUp", BOOL, CHANGE_COUNTS, seed.gave_up),
    FIELD("servingBackups", U32, CHANGE_COUNTS, serving_backups),
};

unsigned agent_status_asides(const struct agent_status *status)
{
    return (status->leaves_threads ? AGENT_ASIDE_LEAVE_THREADS : 0) |
        (status->keeps_stopped ? AGENT_ASIDE_KEEP_STOPPED : 0) | (status->locks_left ? AGENT_ASIDE_LOCK_LEFT : 0) |
        (status->stays_open ? AGENT_ASIDE_STAYS_OPEN : 0) | agent_aside_of_root(status->root_until_ms);
}

static json_t *problems_encode(const struct agent_status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->problem_count; i++) {
        json_t *item = json_object();
        json_put_str(item, "reason", status->problems[i].reason);
        json_put_str(item, "message", status->problems[i].message);
        json_array_append_new(list, item);
    }
    return list;
}

void agent_status_encode(const struct agent_status *status, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();

    json_fields_encode(fields, ARRAY_LEN(fields), status, document);
    if (status->problem_count > 0)
        json_put(document, "problems", problems_encode(status));
    json_put(document, "backup", backup_report_encode(&status->backup));
    json_put(document, "archive", archive_report_encode(&status->archive));
    json_put(document, "check", check_report_encode(&status->check));
    char *text = json_text(document);
    strbuf_adds(out, text);
    free(text);
}

/* name: of the kind, or of a kind that is not known here. */
static void KM_PRINTF(4, 0) add_problem(
    struct agent_status *status, enum agent_problem_kind kind, const char *name, const char *fmt, va_list ap)
{
    if (status->problem_count >= AGENT_PROBLEMS_MAX)
        return;
    struct agent_problem *problem = &status->problems[status->problem_count++];
    _cleanup_(freep) char *message = xvasprintf(fmt, ap);

    problem->kind = kind;
    json_copy_text(problem->reason, sizeof(problem->reason), name);
    json_copy_text(problem->message, sizeof(problem->message), message);
}

void agent_status_add_problem(struct agent_status *status, enum agent_problem_kind kind, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_problem(status, kind, agent_problem_names[kind], fmt, ap);
    va_end(ap);
}

static void KM_PRINTF(3, 4) add_named(struct agent_status *status, const char *name, const char *fmt, ...)
{
    va_list ap;
    unsigned kind = json_name_index(agent_problem_names, AGENT_PROBLEM_KIND_COUNT, name);

    va_start(ap, fmt);
    add_problem(status, (enum agent_problem_kind)kind, name, fmt, ap);
    va_end(ap);
}

static int problems_decode(const json_t *document, struct agent_status *status, struct error *err)
{
    const json_t *list = NULL;

    if (json_want_array(document, "problems", &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        add_named(status, json_path_str(item, "reason", ""), "%s", json_path_str(item, "message", ""));
    }
    return 0;
}

int agent_status_decode(
    const char *text, size_t len, struct position_pool *positions, struct agent_status *ret, struct error *err)
{
    if (len > AGENT_STATUS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "an agent's status has %zu bytes", len);
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    struct agent_status status = {0};

    if (!document)
        return error_prefix(err, "agent status");
    if (!json_is_object(document))
        return error_set(err, ERROR_PROTOCOL, "an agent's status is no JSON object");
    if (json_fields_decode(fields, ARRAY_LEN(fields), document, &status, err) < 0)
        return error_prefix(err, "agent status");
    if (problems_decode(document, &status, err) < 0)
        return error_prefix(err, "agent status");
    const json_t *backup = json_object_get(document, "backup");
    if (backup && backup_report_decode(backup, &status.backup, err) < 0)
        return error_prefix(err, "agent status");
    const json_t *archive = json_object_get(document, "archive");
    if (archive && archive_report_decode(archive, &status.archive, err) < 0)
        return error_prefix(err, "agent status");
    const json_t *check = json_object_get(document, "check");
    if (check && check_report_decode(check, &status.check, err) < 0)
        return error_prefix(err, "agent status");
    json_fields_take(fields, ARRAY_LEN(fields), positions, &status);
    *ret = status;
    return 0;
}

bool agent_status_same(const struct agent_status *a, const struct agent_status *b)
{
    if (!json_fields_same(fields, ARRAY_LEN(fields), a, b) || a->problem_count != b->problem_count)
        return false;
    for (int i = 0; i < a->problem_count; i++) {
        if (strcmp(a->problems[i].reason, b->problems[i].reason) != 0 ||
            strcmp(a->problems[i].message, b->problems[i].message) != 0)
            return false;
    }
    return backup_report_same(&a->backup, &b->backup) && archive_report_same(&a->archive, &b->archive) &&
        check_report_same(&a->check, &b->check);
}

uint64_t agent_status_digest(const struct agent_status *status)
{
    uint64_t hash = json_fields_digest(fields, ARRAY_LEN(fields), status);
    for (int i = 0; i < status->problem_count; i++) {
        hash = hash64(hash, status->problems[i].reason, strlen(status->problems[i].reason) + 1);
        hash = hash64(hash, status->problems[i].message, strlen(status->problems[i].message) + 1);
    }
    const uint64_t reports[] = {backup_report_digest(&status->backup), archive_report_digest(&status->archive),
        check_report_digest(&status->check)};
    return hash64(hash, reports, sizeof(reports));
}
