/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/restore_lookup.h"

#include "common/alloc.h"
#include "common/backup_manifest.h"
#include "common/binlog_segment.h"
#include "common/json.h"
#include "common/log.h"
#include "common/object_store.h"
#include "common/restore_reason.h"
#include "common/strvec.h"
#include "common/tls.h"
#include "operator/api/backup_destination.h"
#include "operator/api/mysql_backup.h"
#include "operator/cluster/restore/backup_keys.h"
#include "operator/cluster/restore/restore_choice.h"

#define PATH "spec.restoreFrom"
/* Of one cluster; retention keeps fewer. */
#define FOLDERS_MAX 20000

struct restore_lookup {
    struct restore_lookup_options options;
    char *ns, *cluster, *key;
    struct loop_timer retry, news;
    struct kube_request *reading; /* the MysqlBackup */
    struct backup_keys_reading *keys_reading;
    struct object_store *store;
    struct object_request *request;
    struct backup_store door; /* of a volume; endpoint NULL: not known */
    struct http_tls *door_tls;
    /* which one */
    json_t *spec; /* {restoreFrom, backup}: the words that the wish was read from */
    struct restore_spec wish;
    struct restore_answer answer;
    bool looking;
    struct backup_keys keys; /* while the store is asked; secret */
    struct strvec folders;   /* latest: names of backups, oldest first */
    int passed_over;         /* of those: complete, but later than the point that is wished for */
    char folder[512];        /* that is looked at */
    /* the task */
    struct cluster_restore restore; /* what is wanted; phase NONE: nothing */
    struct backup_task task;        /* secret */
    bool has_task;
    char task_error[512];
};

/* ---- the end of a look ---- */

static void stop(struct restore_lookup *lookup)
{
    if (lookup->reading)
        kube_request_cancel(steal_ptr(lookup->reading));
    backup_keys_cancel(steal_ptr(lookup->keys_reading));
    if (lookup->request)
        object_request_cancel(steal_ptr(lookup->request));
    object_store_free(steal_ptr(lookup->store));
    backup_keys_release(&lookup->keys);
    strvec_release(&lookup->folders);
    lookup->looking = false;
}

static void tell(struct restore_lookup *lookup)
{
    loop_timer_arm(&lookup->news, 0);
}

/* Frees nothing inside a callback of what it frees: by the timer. */
static void conclude(struct restore_lookup *lookup, enum restore_finding finding)
{
    lookup->answer.finding = finding;
    lookup->looking = false;
    if (finding != RESTORE_FINDING_BACKUP)
        loop_timer_arm(&lookup->retry, RESTORE_LOOKUP_RETRY_MS);
    tell(lookup);
}

static void KM_PRINTF(3, 4) fail(struct restore_lookup *lookup, enum restore_reason reason, const char *fmt, ...)
{
    struct cluster_restore *found = &lookup->answer.found;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(found->message, sizeof(found->message), fmt, ap);
    va_end(ap);
    snprintf(found->reason, sizeof(found->reason), "%s", restore_reason_name(reason));
    conclude(lookup, RESTORE_FINDING_FAILED);
}

static enum restore_reason store_reason(const struct error *err)
{
    switch (err->kind) {
    case ERROR_UNAUTHORIZED:
    case ERROR_FORBIDDEN:
    case ERROR_INVALID:
        return RESTORE_REASON_STORE_REFUSED;
    case ERROR_NOT_FOUND:
        return RESTORE_REASON_BACKUP_MISSING;
    case ERROR_PROTOCOL:
    case ERROR_TOO_LARGE:
        return RESTORE_REASON_BACKUP_DAMAGED;
    default:
        return RESTORE_REASON_STORE_UNAVAILABLE;
    }
}

static void locate(struct restore_lookup *lookup, const json_t *destination_json, const char *folder)
{
    struct cluster_restore *found = &lookup->answer.found;
    struct backup_destination destination;
    struct strbuf location;
    backup_destination_read(destination_json, &destination);
    strbuf_init(&location, sizeof(found->location) - 1);
    backup_destination_location(&destination, folder, &location);
    snprintf(found->location, sizeof(found->location), "%s", str_or_empty(location.buf));
    snprintf(found->folder, sizeof(found->folder), "%s", folder);
    strbuf_release(&location);
}

static void take_documents(struct restore_lookup *lookup, const json_t *destination, const json_t *encryption)
{
    struct cluster_restore *found = &lookup->answer.found;
    json_decref(found->destination);
    json_decref(found->encryption);
    found->destination = json_deep_copy(destination);
    found->encryption = json_deep_copy(encryption);
}

/* What is replayed onto it lies beside it. False: it cannot be told where. */
static bool take_point(struct restore_lookup *lookup, const char *ns, const char *cluster, const char *uid)
{
    const struct restore_spec *wish = &lookup->wish;
    struct cluster_restore *found = &lookup->answer.found;
    _cleanup_(strbuf_release) struct strbuf folder = {0};
    if (wish->point == RESTORE_POINT_NONE)
        return true;
    if (str_empty(uid)) {
        fail(lookup, RESTORE_REASON_BACKUP_UNSUITABLE,
            "backup %s does not tell of which cluster it is: its binary logs cannot be found", found->backup);
        return false;
    }
    strbuf_init(&folder, sizeof(found->binlogs) - 1);
    binlog_folder_of(ns, cluster, uid, &folder);
    snprintf(found->binlogs, sizeof(found->binlogs), "%s", folder.buf);
    found->until_ms = wish->point == RESTORE_POINT_TIME ? wish->until_ms / 1000 * 1000 : 0;
    return true;
}

/* ---- a MysqlBackup knows ---- */

static void take_backup(struct restore_lookup *lookup, const json_t *object)
{
    static struct backup_status status; /* large; the loop's alone */
    struct cluster_restore *found = &lookup->answer.found;
    _cleanup_(strbuf_release) struct strbuf folder;
    backup_status_decode(json_object_get(object, "status"), &status);
    strbuf_init(&folder, sizeof(found->folder) - 1);
    if (status.phase != BACKUP_PHASE_COMPLETED || !status.destination || str_empty(status.id)) {
        fail(lookup,
            status.phase == BACKUP_PHASE_FAILED ? RESTORE_REASON_BACKUP_FAILED : RESTORE_REASON_BACKUP_INCOMPLETE,
            PATH ".backup.name: MysqlBackup %s is not completed%s%s", lookup->wish.backup,
            str_empty(status.message) ? "" : ": ", status.message);
    } else {
        backup_folder_of(lookup->ns, json_path_str(object, "spec.cluster", ""), status.id, &folder);
        take_documents(
            lookup, status.destination, lookup->wish.encryption ? lookup->wish.encryption : status.encryption);
        locate(lookup, status.destination, folder.buf);
        snprintf(found->backup, sizeof(found->backup), "%s", status.id);
        memcpy(found->digest, status.digest, sizeof(found->digest));
        memcpy(found->gtid, status.gtid, sizeof(found->gtid));
        found->bytes = status.raw_bytes;
        memcpy(lookup->answer.server_version, status.server_version, sizeof(status.server_version));
        memcpy(lookup->answer.flavour, status.flavour, sizeof(status.flavour));
        lookup->answer.data_bytes = status.data_bytes;
        lookup->answer.begun_ms = status.start_ms;
        if (take_point(lookup, lookup->ns, json_path_str(object, "spec.cluster", ""), backup_status_history(&status)))
            conclude(lookup, RESTORE_FINDING_BACKUP);
    }
    backup_status_release(&status);
}

static void on_backup(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct restore_lookup *lookup = arg;
    lookup->reading = NULL;
    if (err && err->kind == ERROR_NOT_FOUND)
        fail(lookup, RESTORE_REASON_BACKUP_MISSING, PATH ".backup.name: there is no MysqlBackup %s",
            lookup->wish.backup);
    else if (err)
        fail(lookup, RESTORE_REASON_API_UNAVAILABLE, PATH ".backup.name: %s", err->message);
    else
        take_backup(lookup, answer->object);
}

static void look_at_backup(struct restore_lookup *lookup)
{
    lookup->reading =
        kube_get(lookup->options.client, lookup->options.backups, lookup->ns, lookup->wish.backup, on_backup, lookup);
}

/* ---- the store knows ---- */

static void look_at_next_folder(struct restore_lookup *lookup);

static const char *whose_namespace(const struct restore_lookup *lookup)
{
    return str_empty(lookup->wish.from_namespace) ? lookup->ns : lookup->wish.from_namespace;
}

static const char *whose_cluster(const struct restore_lookup *lookup)
{
    return str_empty(lookup->wish.from_cluster) ? lookup->cluster : lookup->wish.from_cluster;
}

static void take_found(
    struct restore_lookup *lookup, const struct object_got *got, const struct backup_manifest *manifest)
{
    struct cluster_restore *found = &lookup->answer.found;
    take_documents(lookup, lookup->wish.destination, lookup->wish.encryption);
    locate(lookup, lookup->wish.destination, lookup->folder);
    snprintf(found->backup, sizeof(found->backup), "%s", manifest->id);
    position_tell(found->gtid, manifest->gtid);
    tls_sha256_hex(got->body, got->len, found->digest);
    found->bytes = manifest->raw_bytes;
    if (take_point(lookup, whose_namespace(lookup), whose_cluster(lookup), manifest->cluster_uid))
        conclude(lookup, RESTORE_FINDING_BACKUP);
}

static void take_manifest(struct restore_lookup *lookup, const struct object_got *got)
{
    struct backup_manifest manifest;
    struct error err = ERROR_INIT;
    int fits = 1;
    const unsigned char *key = lookup->keys.sealed ? lookup->keys.key : NULL;
    if (backup_manifest_decode(got->body, got->len, key, &manifest, &err) < 0) {
        fail(lookup, err.kind == ERROR_FORBIDDEN ? RESTORE_REASON_KEY_INVALID : RESTORE_REASON_BACKUP_DAMAGED,
            "%s/" BACKUP_MANIFEST_NAME ": %s", lookup->folder, err.message);
        return;
    }
    if (lookup->wish.source == RESTORE_SOURCE_LATEST)
        fits = restore_fits(&lookup->wish, &manifest, &err);
    if (fits < 0)
        fail(lookup, RESTORE_REASON_TARGET_INVALID, "%s", err.message);
    else if (fits == 0) {
        lookup->passed_over++;
        look_at_next_folder(lookup);
    } else if (manifest.sealed && !key)
        fail(lookup, RESTORE_REASON_KEY_INVALID,
            PATH ".encryption.keySecret: backup %s is encrypted (key %s), and no key is given", manifest.id,
            manifest.key_id);
    else
        take_found(lookup, got, &manifest);
    backup_manifest_release(&manifest);
}

static void on_manifest(void *arg, const struct object_got *got, const struct error *err)
{
    struct restore_lookup *lookup = arg;
    bool latest = lookup->wish.source == RESTORE_SOURCE_LATEST;
    lookup->request = NULL;
    if (err && err->kind == ERROR_NOT_FOUND && latest)
        look_at_next_folder(lookup); /* never completed */
    else if (err && err->kind == ERROR_NOT_FOUND)
        fail(lookup, RESTORE_REASON_BACKUP_MISSING, PATH ".name: no complete backup is stored as %s: %s",
            lookup->folder, err->message);
    else if (err)
        fail(lookup, store_reason(err), "%s/" BACKUP_MANIFEST_NAME ": %s", lookup->folder, err->message);
    else
        take_manifest(lookup, got);
}

static void look_at_folder(struct restore_lookup *lookup)
{
    _cleanup_(freep) char *name = xasprintf("%s/" BACKUP_MANIFEST_NAME, lookup->folder);
    lookup->request = object_get(lookup->store, name, (size_t)BACKUP_MANIFEST_MAX, on_manifest, lookup);
}

static void choose_folder(struct restore_lookup *lookup, const char *id)
{
    struct strbuf folder;
    strbuf_init(&folder, sizeof(lookup->folder) - 1);
    backup_folder_of(whose_namespace(lookup), whose_cluster(lookup), id, &folder);
    snprintf(lookup->folder, sizeof(lookup->folder), "%s", str_or_empty(folder.buf));
    strbuf_release(&folder);
}

static void conclude_nothing(struct restore_lookup *lookup)
{
    if (lookup->passed_over == 0)
        conclude(lookup, RESTORE_FINDING_NOTHING);
    else
        fail(lookup, RESTORE_REASON_BACKUP_MISSING, PATH ".%s: of %d complete backups none is old enough to begin from",
            lookup->wish.point == RESTORE_POINT_GTID ? "gtid" : "pointInTime", lookup->passed_over);
}

/* Names begin with the time. */
static void look_at_next_folder(struct restore_lookup *lookup)
{
    bool may_fit = false;
    while (lookup->folders.n > 0 && !may_fit) {
        _cleanup_(freep) char *id = lookup->folders.v[--lookup->folders.n];
        lookup->folders.v[lookup->folders.n] = NULL;
        may_fit = restore_may_fit(&lookup->wish, id);
        lookup->passed_over += !may_fit;
        choose_folder(lookup, id);
    }
    if (may_fit)
        look_at_folder(lookup);
    else
        conclude_nothing(lookup);
}

static int on_entry(void *arg, const struct object_entry *entry)
{
    struct restore_lookup *lookup = arg;
    const char *name = entry->name + strlen(lookup->folder);
    size_t len = strlen(name);
    if (len > 1 && name[len - 1] == '/') {
        if (lookup->folders.n == FOLDERS_MAX) /* the oldest */
            return -1;
        strvec_pushf(&lookup->folders, "%.*s", (int)len - 1, name);
    }
    return 0;
}

static void on_listed(void *arg, const struct error *err)
{
    struct restore_lookup *lookup = arg;
    lookup->request = NULL;
    if (lookup->folders.n == FOLDERS_MAX)
        fail(lookup, RESTORE_REASON_BACKUP_MISSING, "%s holds more than %d folders: name the backup", lookup->folder,
            FOLDERS_MAX);
    else if (err)
        fail(lookup, store_reason(err), "looking for backups: %s", err->message);
    else
        look_at_next_folder(lookup);
}

static void list_folders(struct restore_lookup *lookup)
{
    lookup->passed_over = 0;
    choose_folder(lookup, "");
    lookup->request = object_list(lookup->store, lookup->folder, '/', on_entry, on_listed, lookup);
}

static void take_door(const struct restore_lookup *lookup, struct backup_store *store)
{
    if (!store->is_volume || !lookup->door.endpoint)
        return;
    store->endpoint = xstrdup(lookup->door.endpoint);
    store->bucket = xstrdup(lookup->door.bucket);
    store->connect_to = xstrdup(lookup->door.connect_to);
    store->server_name = xstrdup(lookup->door.server_name);
    store->path_style = true;
}

static int open_store(struct restore_lookup *lookup, struct error *err)
{
    const struct backup_store *store = &lookup->keys.store;
    const struct http_tls_options trust = {.ca_pem = store->ca_pem};
    struct http_tls *tls = store->is_volume ? http_tls_ref(lookup->door_tls)
        : store->ca_pem                     ? http_tls_new(&trust)
                                            : NULL;
    object_store_free(steal_ptr(lookup->store));
    lookup->store = backup_store_open(lookup->options.loop, store, tls, 0, err);
    if (tls)
        http_tls_unref(tls);
    return lookup->store ? 0 : -1;
}

static void on_store_keys(void *arg, struct backup_keys *keys, const struct error *err)
{
    struct restore_lookup *lookup = arg;
    struct error failure = ERROR_INIT;
    lookup->keys_reading = NULL;
    if (err) {
        fail(lookup, err->kind == ERROR_NOT_FOUND ? RESTORE_REASON_SECRET_MISSING : RESTORE_REASON_SECRET_INVALID, "%s",
            err->message);
        return;
    }
    backup_keys_release(&lookup->keys);
    lookup->keys = *keys;
    *keys = (struct backup_keys){.sealed = false};
    take_door(lookup, &lookup->keys.store);
    if (open_store(lookup, &failure) < 0) {
        fail(lookup, RESTORE_REASON_STORE_REFUSED, PATH ".destination: %s", failure.message);
    } else if (lookup->wish.source == RESTORE_SOURCE_LATEST) {
        list_folders(lookup);
    } else {
        choose_folder(lookup, lookup->wish.name);
        look_at_folder(lookup);
    }
}

static void read_keys(struct restore_lookup *lookup, const json_t *destination, const json_t *encryption,
    void (*done)(void *arg, struct backup_keys *keys, const struct error *err))
{
    const struct backup_keys_request request = {
        .client = lookup->options.client,
        .secrets = lookup->options.secrets,
        .ns = lookup->ns,
        .destination = destination,
        .encryption = encryption,
        .path = PATH,
        .done = done,
        .arg = lookup,
    };
    lookup->keys_reading = backup_keys_read(lookup->options.loop, &request);
}

static void drop_task(struct restore_lookup *lookup)
{
    backup_task_release(&lookup->task);
    lookup->has_task = false;
}

static void look(struct restore_lookup *lookup)
{
    stop(lookup);
    lookup->looking = true;
    if (lookup->wish.source == RESTORE_SOURCE_BACKUP)
        look_at_backup(lookup);
    else
        read_keys(lookup, lookup->wish.destination, lookup->wish.encryption, on_store_keys);
}

void restore_lookup_want(struct restore_lookup *lookup, const struct restore_spec *spec)
{
    if (lookup->answer.found.from && json_equal(lookup->answer.found.from, spec->document))
        return;
    _cleanup_(json_decrefp) json_t *whole = json_object();
    if (spec->destination)
        json_object_set_new(whole, "destination", json_deep_copy(spec->destination));
    if (spec->encryption)
        json_object_set_new(whole, "encryption", json_deep_copy(spec->encryption));
    /* In one document of our own, be the destination spec.backup's: the wish outlives the snapshot. */
    _cleanup_(json_decrefp) json_t *from = json_deep_copy(spec->document);
    json_decref(lookup->spec);
    lookup->spec = json_build("{s:O, s:O}", "restoreFrom", from, "backup", whole);
    restore_spec_read(lookup->spec, &lookup->wish);
    restore_answer_release(&lookup->answer);
    lookup->answer.found.from = json_deep_copy(spec->document);
    cluster_restore_release(&lookup->restore); /* of another wish; what is tried again from now on is the look */
    drop_task(lookup);
    look(lookup);
}

const struct restore_answer *restore_lookup_answer(const struct restore_lookup *lookup)
{
    return lookup->answer.found.from ? &lookup->answer : NULL;
}

/* ---- the task ---- */

static void copy_text(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
}

static void make_task(struct restore_lookup *lookup, struct backup_keys *keys)
{
    struct backup_task *task = &lookup->task;
    drop_task(lookup);
    task->store = keys->store;
    keys->store = (struct backup_store){.is_volume = false};
    take_door(lookup, &task->store);
    task->sealed = keys->sealed;
    memcpy(task->key, keys->key, sizeof(task->key));
    task->folder = xstrdup(lookup->restore.folder);
    copy_text(task->id, sizeof(task->id), lookup->restore.backup);
    copy_text(task->ns, sizeof(task->ns), lookup->ns);
    copy_text(task->cluster, sizeof(task->cluster), lookup->cluster);
    copy_text(task->digest, sizeof(task->digest), lookup->restore.digest);
    if (*lookup->restore.binlogs)
        task->binlogs_folder = xstrdup(lookup->restore.binlogs);
    task->until_gtid = xstrdup(cluster_restore_until_gtid(&lookup->restore));
    task->until_ms = lookup->restore.until_ms;
    lookup->has_task = true;
}

static void on_task_keys(void *arg, struct backup_keys *keys, const struct error *err)
{
    struct restore_lookup *lookup = arg;
    lookup->keys_reading = NULL;
    loop_timer_arm(&lookup->retry, RESTORE_LOOKUP_RETRY_MS);
    copy_text(lookup->task_error, sizeof(lookup->task_error), err ? err->message : "");
    if (!err)
        make_task(lookup, keys);
    tell(lookup);
}

static bool same_document(const json_t *a, const json_t *b)
{
    return a == b || json_equal(a, b);
}

/* All that goes into it: the same backup may be wished for up to another point. */
static bool is_same_task(const struct cluster_restore *a, const struct cluster_restore *b)
{
    return a->phase == b->phase && str_eq(a->backup, b->backup) && str_eq(a->folder, b->folder) &&
        str_eq(a->digest, b->digest) && str_eq(a->binlogs, b->binlogs) &&
        str_eq(cluster_restore_until_gtid(a), cluster_restore_until_gtid(b)) && a->until_ms == b->until_ms &&
        same_document(a->destination, b->destination) && same_document(a->encryption, b->encryption);
}

void restore_lookup_want_task(struct restore_lookup *lookup, const struct cluster_restore *restore)
{
    if (is_same_task(&lookup->restore, restore))
        return;
    stop(lookup);
    loop_timer_cancel(&lookup->retry);
    cluster_restore_release(&lookup->restore);
    cluster_restore_copy(restore, &lookup->restore);
    drop_task(lookup);
    read_keys(lookup, lookup->restore.destination, lookup->restore.encryption, on_task_keys);
}

const struct backup_task *restore_lookup_task(const struct restore_lookup *lookup)
{
    return lookup->has_task ? &lookup->task : NULL;
}

const char *restore_lookup_error(const struct restore_lookup *lookup)
{
    return lookup->task_error;
}

static bool is_same_door(
    const struct restore_lookup *lookup, const struct backup_store *door, const struct http_tls *tls)
{
    return lookup->door_tls == tls && str_eq(lookup->door.connect_to, door->connect_to) &&
        str_eq(lookup->door.server_name, door->server_name);
}

void restore_lookup_set_door(struct restore_lookup *lookup, const struct backup_store *door, struct http_tls *tls)
{
    if (is_same_door(lookup, door, tls))
        return;
    backup_store_release(&lookup->door);
    http_tls_unref(lookup->door_tls);
    lookup->door_tls = http_tls_ref(tls);
    lookup->door.endpoint = xstrdup(door->endpoint);
    lookup->door.bucket = xstrdup(door->bucket);
    lookup->door.connect_to = xstrdup(door->connect_to);
    lookup->door.server_name = xstrdup(door->server_name);
    bool waits = lookup->restore.phase != RESTORE_PHASE_NONE ||
        (lookup->answer.found.from && lookup->answer.finding != RESTORE_FINDING_BACKUP);
    if (waits) /* what was asked for goes by the new door */
        loop_timer_arm(&lookup->retry, 0);
}

/* ---- life ---- */

static void on_retry(void *arg)
{
    struct restore_lookup *lookup = arg;
    if (lookup->restore.phase != RESTORE_PHASE_NONE) {
        backup_keys_cancel(steal_ptr(lookup->keys_reading));
        read_keys(lookup, lookup->restore.destination, lookup->restore.encryption, on_task_keys);
    } else
        look(lookup);
}

static void on_news(void *arg)
{
    struct restore_lookup *lookup = arg;
    if (!lookup->looking)
        stop(lookup);
    lookup->options.changed(lookup->options.arg, lookup->key);
}

struct restore_lookup *restore_lookup_new(const struct restore_lookup_options *options)
{
    struct restore_lookup *lookup = xnew(struct restore_lookup);
    lookup->options = *options;
    lookup->ns = xstrdup(options->ns);
    lookup->cluster = xstrdup(options->cluster);
    lookup->key = kube_key(options->ns, options->cluster);
    strvec_init(&lookup->folders);
    loop_timer_init(&lookup->retry, options->loop, on_retry, lookup);
    loop_timer_init(&lookup->news, options->loop, on_news, lookup);
    return lookup;
}

void restore_lookup_free(struct restore_lookup *lookup)
{
    if (!lookup)
        return;
    stop(lookup);
    loop_timer_release(&lookup->retry);
    loop_timer_release(&lookup->news);
    restore_answer_release(&lookup->answer);
    cluster_restore_release(&lookup->restore);
    drop_task(lookup);
    backup_store_release(&lookup->door);
    http_tls_unref(lookup->door_tls);
    json_decref(lookup->spec);
    free(lookup->ns);
    free(lookup->cluster);
    free(lookup->key);
    free(lookup);
}
