/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_decide.h"

#include "common/object_store.h"
#include "common/strbuf.h"
#include "operator/api/backup_store_pod.h"
#include "operator/api/condition_reason.h"
#include "operator/api/ready_conditions.h"
#include "operator/backup/attempt_reason.h"
#include "operator/backup/backup_donor.h"
#include "operator/backup/backup_ready.h"

/* Less is no news. */
#define PROGRESS_MIN_BYTES ((uint64_t)(16 * KM_MIB))

void backup_step_release(struct backup_step *step)
{
    backup_status_release(&step->next);
}

void backup_snapshot_release(struct backup_snapshot *snapshot)
{
    free(snapshot->ns);
    free(snapshot->name);
    free(snapshot->uid);
    free(snapshot->version);
    mysql_backup_release(&snapshot->backup);
    backup_status_release(&snapshot->last);
    *snapshot = (struct backup_snapshot){0};
}

const struct backup_member *backup_member_find(const struct backup_snapshot *snapshot, const char *name)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (str_eq(snapshot->members[i].name, name))
            return &snapshot->members[i];
    }
    return NULL;
}

static void again_in(struct backup_step *step, int64_t ms)
{
    ms = MAX_OF(ms, 1);
    step->again_ms = step->again_ms > 0 ? MIN_OF(step->again_ms, ms) : ms;
}

static bool is_volume(const struct backup_snapshot *snapshot)
{
    return snapshot->backup.destination.kind == BACKUP_DESTINATION_VOLUME;
}

static void KM_PRINTF(2, 3) say(struct backup_step *step, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(step->next.message, sizeof(step->next.message), fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof(step->next.message))
        memcpy(step->next.message + sizeof(step->next.message) - sizeof("..."), "...", sizeof("..."));
}

static void set(const struct backup_snapshot *snapshot, struct backup_step *step, const char *type, bool holds,
    const char *reason, const char *message)
{
    kube_conditions_set(&step->next.conditions, type, holds ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, reason,
        snapshot->generation, snapshot->now_ms, "%s", message);
}

/* ---- ends of attempts ---- */

static void fail_for_good(const struct backup_snapshot *snapshot, struct backup_step *step, const char *reason)
{
    step->next.phase = BACKUP_PHASE_FAILED;
    step->next.completion_ms = snapshot->now_ms;
    step->next.retry_ms = 0;
    step->event = "BackupFailed";
    step->warning = true;
    set(snapshot, step, CONDITION_BACKUP_FAILED, true, reason, step->next.message);
    set(snapshot, step, CONDITION_BACKUP_COMPLETE, false, reason, step->next.message);
}

/* What was begun moves to the list of what failed: from there it is ended and removed. */
static void close_attempt(struct backup_step *step, const char *reason, const char *message)
{
    struct backup_status *next = &step->next;
    if (str_empty(next->id) || next->failure_count == BACKUP_ATTEMPTS_MAX)
        return;
    struct backup_attempt *failure = &next->failures[next->failure_count++];
    *failure = (struct backup_attempt){.cleaned = false};
    snprintf(failure->id, sizeof(failure->id), "%s", next->id);
    snprintf(failure->donor, sizeof(failure->donor), "%s", next->donor);
    snprintf(failure->reason, sizeof(failure->reason), "%s", reason);
    snprintf(failure->message, sizeof(failure->message), "%.*s", (int)sizeof(failure->message) - 1, message);
    *next->id = *next->donor_process = *next->location = '\0';
    next->received = false;
    next->raw_bytes = next->stored_bytes = next->bytes_per_second = next->estimated_bytes = 0;
}

static int64_t retry_delay_ms(int failures, bool refused)
{
    int64_t delay_ms = refused ? BACKUP_REFUSED_BASE_MS : BACKUP_RETRY_BASE_MS;
    int64_t max_ms = refused ? BACKUP_REFUSED_MAX_MS : BACKUP_RETRY_MAX_MS;
    for (int i = 1; i < failures && delay_ms < max_ms; i++)
        delay_ms *= refused ? 4 : 2;
    return MIN_OF(delay_ms, max_ms);
}

/* Behind the store's own words: what is to be done, and what follows. */
static void say_refused(const struct backup_snapshot *snapshot, struct backup_step *step, const char *text)
{
    const char *secret = snapshot->backup.destination.credentials_secret;
    int64_t wait_s = (step->next.retry_ms - snapshot->now_ms) / 1000;
    bool named = !str_empty(secret);
    say(step, "attempt %d with %s: the store refused it: %s. Tried again %s%s%sin %lld min", step->next.attempt,
        step->next.donor, text, named ? "as soon as Secret " : "", str_or_empty(secret),
        named ? " has changed, else " : "", (long long)(wait_s + 59) / 60);
}

static void KM_PRINTF(4, 5) fail_attempt(
    const struct backup_snapshot *snapshot, struct backup_step *step, const char *reason, const char *fmt, ...)
{
    char text[400];
    bool refused = attempt_reason_of(reason) == ATTEMPT_STORE_REFUSED;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    say(step, "attempt %d with %s failed: %s", step->next.attempt, step->next.donor, text);
    close_attempt(step, reason, text);
    if (step->next.attempt >= BACKUP_ATTEMPTS_MAX || attempt_reason_of(reason) == ATTEMPT_METHOD_IMPOSSIBLE) {
        fail_for_good(snapshot, step, reason);
        return;
    }
    step->next.phase = BACKUP_PHASE_PENDING;
    step->next.retry_ms = snapshot->now_ms + retry_delay_ms(step->next.failure_count, refused);
    if (refused)
        say_refused(snapshot, step, text);
    step->event = "BackupRetried";
    step->warning = true;
}

/* ---- Pending ---- */

static void wait_unaccepted(
    const struct backup_snapshot *snapshot, struct backup_step *step, const char *reason, const char *message)
{
    say(step, "%s", message);
    set(snapshot, step, CONDITION_BACKUP_ACCEPTED, false, reason, message);
    again_in(step, BACKUP_RECHECK_MS);
}

static bool last_was_refused(const struct backup_snapshot *snapshot)
{
    const struct backup_status *last = &snapshot->last;
    return last->failure_count > 0 &&
        attempt_reason_of(last->failures[last->failure_count - 1].reason) == ATTEMPT_STORE_REFUSED;
}

static bool secrets_changed(const struct backup_snapshot *snapshot)
{
    const struct backup_status *last = &snapshot->last;
    return snapshot->secrets_known && str_empty(snapshot->secrets_reason) && !str_empty(last->secrets_version) &&
        !str_eq(last->secrets_version, snapshot->secrets_version);
}

/* How long it is not begun anew; 0: it may be. */
static int64_t retry_left_ms(const struct backup_snapshot *snapshot)
{
    int64_t left_ms = MAX_OF(snapshot->last.retry_ms - snapshot->now_ms, 0);
    return last_was_refused(snapshot) && secrets_changed(snapshot) ? 0 : left_ms;
}

/* Nobody can give it now, and somebody could but for the agent's version. */
static bool awaits_agents(const struct backup_snapshot *snapshot, char *text, size_t size)
{
    char why[320];
    const struct backup_member *outdated = NULL;
    for (int i = 0; i < snapshot->member_count && is_volume(snapshot) && !outdated; i++) {
        if (snapshot->members[i].heard && snapshot->members[i].is_outdated)
            outdated = &snapshot->members[i];
    }
    if (!outdated || backup_donor_choose(snapshot, why, sizeof(why)))
        return false;
    backup_store_say_outdated(outdated->name, text, size);
    return true;
}

static void say_accepted(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    char text[KUBE_CONDITION_MESSAGE_MAX];
    if (snapshot->claim_missing) {
        snprintf(text, sizeof(text),
            "destination.persistentVolumeClaim.claimName: there is no PersistentVolumeClaim %s in namespace %s; it goes on "
            "when that is made",
            snapshot->backup.destination.claim, snapshot->ns);
        set(snapshot, step, CONDITION_BACKUP_ACCEPTED, false, "ClaimNotFound", text);
    } else if (snapshot->store_refused)
        set(snapshot, step, CONDITION_BACKUP_ACCEPTED, false, reason_name(REASON_POD_REFUSED), snapshot->store_message);
    else if (last_was_refused(snapshot) && retry_left_ms(snapshot) > 0)
        set(snapshot, step, CONDITION_BACKUP_ACCEPTED, false, attempt_reason_name(ATTEMPT_STORE_REFUSED),
            snapshot->last.message);
    else
        set(snapshot, step, CONDITION_BACKUP_ACCEPTED, true, "Accepted", "all that it needs is there");
}

/* Whether all is there that a person must provide, and agents that can do it. A claim may come later: what needs it is
 * asked for all the same. */
static bool is_accepted(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    char text[KUBE_CONDITION_MESSAGE_MAX];
    const struct mysql_backup *backup = &snapshot->backup;
    if (!snapshot->cluster_exists) {
        snprintf(text, sizeof(text), "spec.cluster: there is no MysqlCluster %s in this namespace", backup->cluster);
        wait_unaccepted(snapshot, step, "ClusterNotFound", text);
    } else if (backup->destination.kind == BACKUP_DESTINATION_NONE) {
        snprintf(text, sizeof(text), "spec.destination: is missing, and MysqlCluster %s has no spec.backup.destination",
            backup->cluster);
        wait_unaccepted(snapshot, step, "DestinationMissing", text);
    } else if (snapshot->secrets_known && !str_empty(snapshot->secrets_reason)) {
        wait_unaccepted(snapshot, step, snapshot->secrets_reason, snapshot->secrets_message);
    } else if (snapshot->secrets_known && awaits_agents(snapshot, text, sizeof(text))) {
        wait_unaccepted(snapshot, step, BACKUP_STORE_AGENT_OUTDATED, text);
    } else if (snapshot->secrets_known) {
        say_accepted(snapshot, step);
        return true;
    } else
        again_in(step, BACKUP_RECHECK_MS);
    return false;
}

static void begin(const struct backup_snapshot *snapshot, struct backup_step *step, const struct backup_member *donor)
{
    struct backup_status *next = &step->next;
    const struct mysql_backup *backup = &snapshot->backup;
    struct strbuf folder, location;
    strbuf_init(&folder, OBJECT_NAME_SIZE);
    strbuf_init(&location, sizeof(next->location) - 1);
    next->phase = BACKUP_PHASE_RUNNING;
    next->attempt++;
    next->start_ms = snapshot->now_ms;
    next->retry_ms = 0;
    backup_id_make(snapshot->now_ms, snapshot->name, (unsigned)next->attempt, next->id);
    snprintf(next->donor, sizeof(next->donor), "%s", donor->name);
    snprintf(next->donor_process, sizeof(next->donor_process), "%s", donor->process);
    snprintf(next->cluster_uid, sizeof(next->cluster_uid), "%s", snapshot->cluster_uid);
    snprintf(next->history, sizeof(next->history), "%s", snapshot->history);
    snprintf(next->method, sizeof(next->method), "%s", backup_method_names[backup->method]);
    snprintf(next->compression, sizeof(next->compression), "%s", backup_compression_names[backup->compression]);
    snprintf(next->key_id, sizeof(next->key_id), "%s", snapshot->key_id);
    snprintf(next->secrets_version, sizeof(next->secrets_version), "%s", snapshot->secrets_version);
    next->encrypted = backup->encryption.secret != NULL;
    backup_folder_of(snapshot->ns, backup->cluster, next->id, &folder);
    backup_destination_location(&backup->destination, folder.buf, &location);
    snprintf(next->location, sizeof(next->location), "%s", location.buf);
    strbuf_release(&folder);
    strbuf_release(&location);
    json_decref(next->destination);
    json_decref(next->encryption);
    next->destination = json_deep_copy(json_object_get(backup->document, "destination"));
    next->encryption = json_deep_copy(json_object_get(backup->document, "encryption"));
    say(step, "attempt %d: taken from %s", next->attempt, donor->name);
    step->event = "BackupStarted";
}

/* A refusal is told once, however often the pod is asked for. */
static void await_store(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    say(step, "waits for the pod that serves the volume: %s", snapshot->store_message);
    const struct kube_condition *last = kube_conditions_find(&snapshot->last.conditions, CONDITION_READY);
    if (!snapshot->store_refused || kube_condition_says(last, reason_name(REASON_POD_REFUSED), step->next.message))
        return;
    step->event = reason_name(REASON_POD_REFUSED);
    step->warning = true;
}

static void decide_pending(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    char why[320];
    step->next.phase = BACKUP_PHASE_PENDING;
    if (!is_accepted(snapshot, step))
        return;
    int64_t left_ms = retry_left_ms(snapshot);
    if (left_ms > 0) {
        again_in(step, last_was_refused(snapshot) ? MIN_OF(left_ms, BACKUP_RECHECK_MS) : left_ms);
        step->wants_store = step->wants_claim = is_volume(snapshot);
        return;
    }
    const struct backup_member *donor = backup_donor_choose(snapshot, why, sizeof(why));
    if (!donor) {
        say(step, "waits for a member that it can be taken from: %s", why);
        again_in(step, BACKUP_RECHECK_MS);
        return;
    }
    if (!snapshot->has_finalizer) { /* who is deleted from here on must clear up first: pods, too */
        step->act = BACKUP_ACT_HOLD;
        return;
    }
    step->wants_store = step->wants_claim = is_volume(snapshot);
    if (snapshot->claim_missing)
        say(step, "waits for PersistentVolumeClaim %s, which does not exist", snapshot->backup.destination.claim);
    else if (!snapshot->store_ready)
        await_store(snapshot, step);
    else
        begin(snapshot, step, donor);
}

/* ---- Running ---- */

static bool job_is(const struct backup_snapshot *snapshot, enum backup_job_kind kind, const char *id)
{
    return snapshot->job.kind == kind && str_eq(snapshot->job.id, id);
}

/* Whether the job is to be given (again): none yet, or the last one could not do it some time ago. */
static void want_job(
    const struct backup_snapshot *snapshot, struct backup_step *step, enum backup_job_kind kind, const char *id)
{
    const struct backup_job_view *job = &snapshot->job;
    bool same = job_is(snapshot, kind, id);
    if (job->kind != BACKUP_JOB_NONE && job->result == BACKUP_JOB_RUNNING)
        return;
    int64_t pause_ms = job->result == BACKUP_JOB_GOOD ? BACKUP_JOB_AGAIN_MS : BACKUP_JOB_RETRY_MS;
    int64_t wait_ms = same ? job->ended_ms + pause_ms - snapshot->now_ms : 0;
    if (wait_ms > 0) {
        again_in(step, wait_ms);
        return;
    }
    step->act = kind == BACKUP_JOB_CHECK ? BACKUP_ACT_CHECK : BACKUP_ACT_REMOVE;
    snprintf(step->id, sizeof(step->id), "%s", id);
}

static void complete(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    struct backup_status *next = &step->next;
    const struct backup_job_view *job = &snapshot->job;
    char size[16];
    int64_t took_s = MAX_OF(job->completed_ms - next->start_ms, 0) / 1000;
    next->phase = BACKUP_PHASE_COMPLETED;
    next->completion_ms = job->completed_ms > 0 ? job->completed_ms : snapshot->now_ms;
    next->raw_bytes = job->raw_bytes;
    next->stored_bytes = job->stored_bytes;
    next->data_bytes = job->data_bytes;
    next->estimated_bytes = 0;
    next->bytes_per_second = job->raw_bytes / (uint64_t)MAX_OF(took_s, 1);
    snprintf(next->gtid, sizeof(next->gtid), "%s", job->gtid);
    snprintf(next->server_version, sizeof(next->server_version), "%s", job->server_version);
    snprintf(next->flavour, sizeof(next->flavour), "%s", job->flavour);
    snprintf(next->digest, sizeof(next->digest), "%s", job->digest);
    snprintf(next->key_id, sizeof(next->key_id), "%s", job->key_id);
    backup_size_text(next->stored_bytes, size);
    say(step, "%s taken from %s in %lld s", size, next->donor, (long long)took_s);
    step->event = "BackupCompleted";
    set(snapshot, step, CONDITION_BACKUP_COMPLETE, true, "Completed", "it is stored, and all of its pieces are there");
    set(snapshot, step, CONDITION_BACKUP_FAILED, false, "Completed", "it is stored");
}

/* The donor says that it is done: the store has the last word. */
static void decide_check(
    const struct backup_snapshot *snapshot, struct backup_step *step, const struct backup_report *report)
{
    const struct backup_job_view *job = &snapshot->job;
    const char *id = snapshot->last.id;
    bool done = job_is(snapshot, BACKUP_JOB_CHECK, id) && job->result != BACKUP_JOB_RUNNING;
    if (done && job->result == BACKUP_JOB_GOOD && (str_empty(report->digest) || str_eq(report->digest, job->digest))) {
        complete(snapshot, step);
        return;
    }
    if (done && job->result == BACKUP_JOB_GOOD) {
        fail_attempt(snapshot, step, "CheckFailed", "manifest.json is not the one that the donor wrote");
        return;
    }
    if (done && job->result == BACKUP_JOB_BAD) {
        fail_attempt(snapshot, step, "CheckFailed", "%s", job->message);
        return;
    }
    if (done)
        say(step, "the donor is done, but it cannot be checked yet: %s", job->message);
    if (snapshot->secrets_known && str_empty(snapshot->secrets_reason) && snapshot->store_ready)
        want_job(snapshot, step, BACKUP_JOB_CHECK, id);
    else
        again_in(step, BACKUP_RECHECK_MS);
}

static void take_progress(const struct backup_report *report, struct backup_step *step)
{
    struct backup_status *next = &step->next;
    bool first = !next->received;
    next->received = true;
    if (!first && report->raw_bytes < next->raw_bytes + next->raw_bytes / 10 + PROGRESS_MIN_BYTES)
        return;
    next->raw_bytes = report->raw_bytes;
    next->stored_bytes = report->stored_bytes;
    next->bytes_per_second = report->bytes_per_second;
    next->estimated_bytes = report->estimate_bytes;
}

static void decide_untaken(
    const struct backup_snapshot *snapshot, struct backup_step *step, const struct backup_member *donor)
{
    int64_t age_ms = snapshot->now_ms - snapshot->last.start_ms;
    const char *error = str_empty(donor->send_error) ? "it does not say why" : donor->send_error;
    if (is_volume(snapshot) && donor->is_outdated)
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_AGENT_OUTDATED),
            "the agent of %s is of an earlier version", donor->name);
    else if (snapshot->last.received)
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_DONOR_LOST),
            "the agent of %s knows nothing of it any more", donor->name);
    else if (donor->impossible)
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_METHOD_IMPOSSIBLE), "%s", error);
    else if (donor->refused)
        fail_attempt(snapshot, step, "TaskRefused", "%s", error);
    else if (age_ms >= BACKUP_UNTAKEN_MS || age_ms < 0)
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_TASK_NOT_TAKEN), "%s", error);
    else if (!snapshot->secrets_known || !str_empty(snapshot->secrets_reason) || !snapshot->store_ready)
        again_in(step, BACKUP_RECHECK_MS);
    else {
        step->act = BACKUP_ACT_SEND;
        again_in(step, BACKUP_UNTAKEN_MS - age_ms);
    }
}

static void decide_reported(
    const struct backup_snapshot *snapshot, struct backup_step *step, const struct backup_member *donor)
{
    const struct backup_report *report = &donor->report;
    if (report->state == BACKUP_STATE_FAILED) {
        fail_attempt(
            snapshot, step, str_empty(report->error_reason) ? "Failed" : report->error_reason, "%s", report->message);
        return;
    }
    take_progress(report, step);
    if (report->state == BACKUP_STATE_COMPLETED)
        decide_check(snapshot, step, report);
    else {
        if (secrets_changed(snapshot)) /* and what the donor gets must be known before it gets it */
            snprintf(step->next.secrets_version, sizeof(step->next.secrets_version), "%s", snapshot->secrets_version);
        step->act = BACKUP_ACT_SEND; /* keys may have been rotated */
        again_in(step, BACKUP_RECHECK_MS);
    }
}

/* Of a last backup: there was a failover, and another member holds all that there is now. */
static const struct backup_member *closed_instead(
    const struct backup_snapshot *snapshot, const struct backup_member *donor)
{
    for (int i = 0; i < snapshot->member_count && snapshot->is_final; i++) {
        if (snapshot->members[i].is_closed && &snapshot->members[i] != donor)
            return &snapshot->members[i];
    }
    return NULL;
}

static void decide_running(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    const struct backup_member *donor = backup_member_find(snapshot, snapshot->last.donor);
    const char *name = snapshot->last.donor;
    step->wants_store = is_volume(snapshot);
    if (!donor)
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_DONOR_LOST), "pod %s is gone", name);
    else if (!donor->heard && donor->silent_ms >= BACKUP_SILENCE_MS)
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_DONOR_LOST), "nothing was heard of %s for %d s", name,
            BACKUP_SILENCE_MS / 1000);
    else if (!donor->heard)
        again_in(step, BACKUP_SILENCE_MS - donor->silent_ms);
    else if (!str_eq(donor->process, snapshot->last.donor_process))
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_DONOR_LOST), "the agent of %s was started anew", name);
    else if (closed_instead(snapshot, donor))
        fail_attempt(snapshot, step, attempt_reason_name(ATTEMPT_DONOR_LOST),
            "%s has become the primary, and was closed in its place", closed_instead(snapshot, donor)->name);
    else if (str_eq(donor->report.id, snapshot->last.id))
        decide_reported(snapshot, step, donor);
    else
        decide_untaken(snapshot, step, donor);
}

/* ---- leftovers ---- */

/* A donor that said so itself has ended it. One that was given up, and is not heard since, may still send, and write a
 * manifest after its folder was removed. */
static bool may_write_again(const struct backup_snapshot *snapshot, const struct backup_attempt *attempt)
{
    const struct backup_member *donor = backup_member_find(snapshot, attempt->donor);
    if (donor && donor->heard)
        return false;
    switch (attempt_reason_of(attempt->reason)) {
    case ATTEMPT_DONOR_LOST:
    case ATTEMPT_TASK_NOT_TAKEN:
    case ATTEMPT_DEADLINE_EXCEEDED:
    case ATTEMPT_DELETED:
    case ATTEMPT_AGENT_OUTDATED:
        return true;
    case ATTEMPT_OTHER:
    case ATTEMPT_STORE_REFUSED:
    case ATTEMPT_METHOD_IMPOSSIBLE:
    case ATTEMPT_REASON_COUNT:
        break;
    }
    return false;
}

static bool is_swept(const struct backup_snapshot *snapshot, const struct backup_attempt *attempt)
{
    return attempt->swept_ms > 0 && snapshot->now_ms - attempt->swept_ms < BACKUP_SWEEP_MS &&
        may_write_again(snapshot, attempt);
}

/* The first one with something to do for, else the first one that waits for its donor. */
static struct backup_attempt *first_leftover(const struct backup_snapshot *snapshot, struct backup_status *status)
{
    struct backup_attempt *waiting = NULL;
    for (int i = 0; i < status->failure_count; i++) {
        struct backup_attempt *attempt = &status->failures[i];
        if (attempt->cleaned)
            continue;
        if (!is_swept(snapshot, attempt))
            return attempt;
        if (!waiting)
            waiting = attempt;
    }
    return waiting;
}

/* What the store is reached with is gone. In a namespace that is being deleted nothing can be made again: then it is so
 * for ever. */
static bool store_is_lost(const struct backup_snapshot *snapshot)
{
    if (is_volume(snapshot) && (!snapshot->cluster_exists || snapshot->store_gone))
        return true;
    return snapshot->secrets_known && reason_of_name(snapshot->secrets_reason) == REASON_SECRET_MISSING;
}

/* It was begun while all was there, or is done. */
static bool is_removing(const struct backup_snapshot *snapshot)
{
    const struct backup_job_view *job = &snapshot->job;
    return job_is(snapshot, BACKUP_JOB_REMOVE, snapshot->last.id) &&
        (job->result == BACKUP_JOB_RUNNING || job->result == BACKUP_JOB_GOOD);
}

/* Nothing brings back by itself what the store is reached with; what else is the matter may pass within a minute. */
static bool removal_awaits_person(const struct backup_snapshot *snapshot)
{
    if (snapshot->now_ms - snapshot->deleted_ms >= BACKUP_CLEAN_DELETED_MS)
        return true;
    bool is_unreachable = snapshot->backup.destination.kind == BACKUP_DESTINATION_NONE ||
        (is_volume(snapshot) && !snapshot->cluster_exists) ||
        (snapshot->secrets_known && !str_empty(snapshot->secrets_reason));
    return is_unreachable && !is_removing(snapshot);
}

/* What must be there to reach the store; says what is missing. */
static bool store_is_reachable(const struct backup_snapshot *snapshot, char *why, size_t size)
{
    if (snapshot->backup.destination.kind == BACKUP_DESTINATION_NONE)
        snprintf(why, size, "where it lies is not known");
    else if (is_volume(snapshot) && !snapshot->cluster_exists)
        snprintf(why, size, "the volume is served with a certificate of MysqlCluster %s, which is gone",
            snapshot->backup.cluster);
    else if (!snapshot->secrets_known)
        snprintf(why, size, "the Secrets could not be read");
    else if (!str_empty(snapshot->secrets_reason))
        snprintf(why, size, "%s", snapshot->secrets_message);
    else if (!snapshot->store_ready)
        snprintf(why, size, "the pod that serves the volume is not ready: %s", snapshot->store_message);
    else
        return true;
    return false;
}

/* One folder at a time. True: it is gone, by a removal that ended after that time. */
static bool remove_folder(
    const struct backup_snapshot *snapshot, struct backup_step *step, const char *id, int64_t after_ms)
{
    char why[KUBE_CONDITION_MESSAGE_MAX];
    const struct backup_job_view *job = &snapshot->job;
    bool ours = job_is(snapshot, BACKUP_JOB_REMOVE, id);
    if (ours && job->result == BACKUP_JOB_GOOD && job->ended_ms > after_ms)
        return true;
    step->wants_store = is_volume(snapshot);
    if (!store_is_reachable(snapshot, why, sizeof(why))) {
        set(snapshot, step, CONDITION_BACKUP_CLEAN, false, "StoreUnreachable", why);
        again_in(step, BACKUP_RECHECK_MS);
        return false;
    }
    if (ours && job->result != BACKUP_JOB_RUNNING && job->result != BACKUP_JOB_GOOD)
        set(snapshot, step, CONDITION_BACKUP_CLEAN, false, "RemovalFailed", job->message);
    want_job(snapshot, step, BACKUP_JOB_REMOVE, id);
    return false;
}

/* A donor that still sends is told to end first; one that is not heard cannot be waited for. True while there is
 * something left. */
static bool clean_attempts(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    struct backup_attempt *left = first_leftover(snapshot, &step->next);
    if (!left)
        return false;
    if (is_swept(snapshot, left)) {
        again_in(step, left->swept_ms + BACKUP_SWEEP_MS - snapshot->now_ms);
        return true;
    }
    const struct backup_member *donor = backup_member_find(snapshot, left->donor);
    bool sends =
        donor && donor->heard && str_eq(donor->report.id, left->id) && donor->report.state == BACKUP_STATE_RUNNING;
    if (sends) {
        snprintf(step->end_donor, sizeof(step->end_donor), "%s", left->donor);
        snprintf(step->end_id, sizeof(step->end_id), "%s", left->id);
        again_in(step, BACKUP_RECHECK_MS);
    } else if (remove_folder(snapshot, step, left->id, left->swept_ms)) {
        left->cleaned = !may_write_again(snapshot, left);
        /* The status has whole seconds: later than that removal, so that it does not count a second time. */
        left->swept_ms = left->cleaned ? 0 : (snapshot->job.ended_ms / 1000 + 1) * 1000;
        if (!left->cleaned)
            set(snapshot, step, CONDITION_BACKUP_CLEAN, false, "DonorSilent",
                "the folder was removed, but its donor is not heard and may still write to it: it is removed again");
        if (!first_leftover(snapshot, &step->next))
            set(snapshot, step, CONDITION_BACKUP_CLEAN, true, "Clean", "nothing is left of failed attempts");
    }
    return true;
}

/* ---- the end ---- */

static bool wants_deletion(const struct backup_snapshot *snapshot)
{
    return snapshot->last.phase == BACKUP_PHASE_COMPLETED && snapshot->backup.deletion_policy == BACKUP_DELETION_DELETE;
}

static void decide_final(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    int64_t since_ms = snapshot->now_ms - snapshot->last.completion_ms;
    if (since_ms < BACKUP_CLEAN_MS && clean_attempts(snapshot, step))
        return;
    if (wants_deletion(snapshot) != snapshot->has_finalizer)
        step->act = snapshot->has_finalizer ? BACKUP_ACT_RELEASE : BACKUP_ACT_HOLD;
}

/* What the store could not be told holds the object, and with it a namespace that is deleted. The condition is of this
 * round, or of an earlier one: what that has told stands in the message of the status as well. */
static void tell_how_to_give_up(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    char text[KUBE_CONDITION_MESSAGE_MAX], reason[KUBE_CONDITION_REASON_MAX];
    const struct kube_condition *clean = kube_conditions_find(&step->next.conditions, CONDITION_BACKUP_CLEAN);
    if (!clean || clean->status != KUBE_CONDITION_FALSE)
        return;
    snprintf(reason, sizeof(reason), "%s", clean->reason);
    if (kube_condition_says(clean, clean->reason, snapshot->last.message))
        snprintf(text, sizeof(text), "%s", clean->message);
    else
        snprintf(text, sizeof(text),
            "deletionPolicy is Delete, but %.300s; annotation " ANNOTATION_SKIP_DATA_DELETION "=true gives up on it",
            clean->message);
    say(step, "%s", text);
    set(snapshot, step, CONDITION_BACKUP_CLEAN, false, reason, text);
    step->awaits_person = removal_awaits_person(snapshot);
}

/* The status first: the Event is of it, as far as one can still be made. */
static void give_up_data(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    char why[KUBE_CONDITION_MESSAGE_MAX];
    if (is_volume(snapshot) && snapshot->cluster_exists && snapshot->store_gone)
        snprintf(why, sizeof(why), "the pod that serves the volume is gone");
    else
        store_is_reachable(snapshot, why, sizeof(why));
    say(step, "what is stored at %s is not removed: the namespace is being deleted, and %s",
        str_empty(snapshot->last.location) ? snapshot->last.id : snapshot->last.location, why);
    set(snapshot, step, CONDITION_BACKUP_CLEAN, false, "DataLeft", step->next.message);
    step->event = "BackupDataLeft";
    step->warning = true;
    step->gives_up_data = true;
    step->act = BACKUP_ACT_RELEASE;
}

static void decide_deleting(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    if (!snapshot->has_finalizer)
        return;
    if (snapshot->last.phase == BACKUP_PHASE_RUNNING) {
        say(step, "it was deleted while it ran");
        close_attempt(step, attempt_reason_name(ATTEMPT_DELETED), step->next.message);
        fail_for_good(snapshot, step, attempt_reason_name(ATTEMPT_DELETED));
        return;
    }
    bool hopeless = snapshot->now_ms - snapshot->deleted_ms >= BACKUP_CLEAN_DELETED_MS;
    if (snapshot->skip_data_deletion || (hopeless && !wants_deletion(snapshot))) {
        step->act = BACKUP_ACT_RELEASE;
        return;
    }
    bool is_lost = wants_deletion(snapshot) && store_is_lost(snapshot) && !is_removing(snapshot);
    if (is_lost && snapshot->namespace_ends) {
        give_up_data(snapshot, step);
        return;
    }
    step->asks_for_namespace = is_lost;
    again_in(step, BACKUP_RECHECK_MS);
    if (wants_deletion(snapshot) && !remove_folder(snapshot, step, snapshot->last.id, 0)) {
        tell_how_to_give_up(snapshot, step);
        return;
    }
    if (hopeless || !clean_attempts(snapshot, step))
        step->act = BACKUP_ACT_RELEASE;
}

static bool is_overdue(const struct backup_snapshot *snapshot)
{
    return snapshot->now_ms - snapshot->created_ms >= snapshot->backup.deadline_seconds * 1000;
}

static void decide_overdue(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    char text[512];
    const struct backup_status *last = &snapshot->last;
    const struct backup_attempt *before = last->failure_count > 0 ? &last->failures[last->failure_count - 1] : NULL;
    if (last->phase != BACKUP_PHASE_RUNNING &&
        last_was_refused(snapshot)) /* without the promise that it is tried again */
        snprintf(text, sizeof(text), "attempt %d with %s: the store refused it: %s", last->attempt, before->donor,
            before->message);
    else
        snprintf(text, sizeof(text), "%s", str_empty(last->message) ? "nothing was begun" : last->message);
    bool told = !before || strstr(text, before->message);
    say(step, "not done within %lld s: %s%s%s", (long long)snapshot->backup.deadline_seconds, text,
        told ? "" : "; the last attempt failed: ", told ? "" : before->message);
    close_attempt(step, attempt_reason_name(ATTEMPT_DEADLINE_EXCEEDED), step->next.message);
    fail_for_good(snapshot, step, attempt_reason_name(ATTEMPT_DEADLINE_EXCEEDED));
}

static void decide_invalid(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    say(step, "%s", snapshot->message);
    set(snapshot, step, CONDITION_BACKUP_ACCEPTED, false, snapshot->reason, snapshot->message);
    fail_for_good(snapshot, step, snapshot->reason);
}

/* One that is made by hand may be older than its cluster; unless an attempt was begun, it is waited for. */
static bool cluster_is_gone(const struct backup_snapshot *snapshot)
{
    return !snapshot->cluster_exists && (snapshot->is_made_by_cluster || snapshot->last.attempt > 0);
}

static void decide_gone(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    const struct backup_status *last = &snapshot->last;
    const struct backup_attempt *before = last->failure_count > 0 ? &last->failures[last->failure_count - 1] : NULL;
    say(step, "MysqlCluster %s is gone: there is nothing that it could be taken of%s%s", snapshot->backup.cluster,
        before ? "; the last attempt failed: " : "", before ? before->message : "");
    fail_for_good(snapshot, step, "ClusterGone");
}

static void decide_open(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    if (is_overdue(snapshot)) {
        decide_overdue(snapshot, step);
        return;
    }
    if (snapshot->last.phase == BACKUP_PHASE_RUNNING)
        decide_running(snapshot, step);
    else if (cluster_is_gone(snapshot))
        decide_gone(snapshot, step);
    else if (!str_empty(snapshot->reason))
        decide_invalid(snapshot, step);
    else
        decide_pending(snapshot, step);
    /* Leftovers do not hold up what is next, and are not looked at while something else is to be done. */
    if (step->act == BACKUP_ACT_NONE && !backup_phase_is_final(step->next.phase))
        clean_attempts(snapshot, step);
    if (!backup_phase_is_final(step->next.phase))
        again_in(step, snapshot->created_ms + snapshot->backup.deadline_seconds * 1000 - snapshot->now_ms);
}

void backup_decide(const struct backup_snapshot *snapshot, struct backup_step *ret)
{
    *ret = (struct backup_step){.act = BACKUP_ACT_NONE};
    backup_status_copy(&snapshot->last, &ret->next);
    ret->next.observed_generation = snapshot->generation;
    if (snapshot->deleting)
        decide_deleting(snapshot, ret);
    else if (backup_phase_is_final(snapshot->last.phase))
        decide_final(snapshot, ret);
    else
        decide_open(snapshot, ret);
    backup_ready_set(snapshot, ret);
}
