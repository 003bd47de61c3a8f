/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_secrets.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/tls.h"

#define PATH_CREDENTIALS "destination.s3.credentialsSecret"
#define PATH_CA "destination.s3.caSecret"
#define PATH_KEY "encryption.keySecret"

struct reading {
    struct kube_client *client;
    const struct kube_resource *secret;
    const struct mysql_backup *backup;
    const char *path;
    struct cluster_names names;
    struct task_keys keys;
    size_t next; /* of lookups */
    backup_secrets_done_fn done;
    void *arg;
};

void task_keys_release(struct task_keys *keys)
{
    secret_free(keys->access_key);
    secret_free(keys->secret_key);
    secret_free(keys->session_token);
    free(keys->ca_pem);
    http_tls_unref(keys->tls);
    OPENSSL_cleanse(keys, sizeof(*keys));
}

void task_keys_take(struct task_keys *keys, struct task_keys *from)
{
    task_keys_release(keys);
    *keys = *from;
    *from = (struct task_keys){.access_key = NULL};
}

static void KM_PRINTF(3, 4) refuse(struct reading *reading, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t len = (size_t)snprintf(reading->keys.message, sizeof(reading->keys.message), "%s.", reading->path);
    vsnprintf(reading->keys.message + len, sizeof(reading->keys.message) - len, fmt, ap);
    va_end(ap);
    snprintf(reading->keys.reason, sizeof(reading->keys.reason), "%s", reason);
}

/* New text, NULL if the Secret has no such key. Secret. */
static char *text_of(const json_t *secret, const char *key, size_t *ret_len)
{
    const char *encoded = json_string_value(json_object_get(json_object_get(secret, "data"), key));
    return encoded ? tls_base64_decode(encoded, strlen(encoded), ret_len, NULL) : NULL;
}

static char *either_of(const json_t *secret, const char *key, const char *other)
{
    char *text = text_of(secret, key, NULL);
    if (str_empty(text)) {
        secret_free(text);
        text = text_of(secret, other, NULL);
    }
    if (text)
        text[strcspn(text, "\r\n")] = '\0'; /* `kubectl create secret --from-file` leaves line ends */
    return text;
}

uint64_t backup_secrets_meant(const json_t *spec)
{
    static const char *const members[] = {"destination", "encryption"};
    uint64_t ret = HASH64_INIT;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *member = json_object_get(spec, members[i]);
        uint64_t part = json_hash(json_is_object(member) ? member : NULL);
        ret = hash64(ret, &part, sizeof(part));
    }
    return ret;
}

/* ---- what is looked up, in this order ---- */

static const char *name_of_credentials(const struct reading *reading)
{
    const struct backup_destination *destination = &reading->backup->destination;
    return destination->kind == BACKUP_DESTINATION_S3 ? destination->credentials_secret : NULL;
}

static void take_credentials(struct reading *reading, const json_t *secret)
{
    struct task_keys *keys = &reading->keys;
    keys->access_key = either_of(secret, "accessKey", "AWS_ACCESS_KEY_ID");
    keys->secret_key = either_of(secret, "secretKey", "AWS_SECRET_ACCESS_KEY");
    keys->session_token = either_of(secret, "sessionToken", "AWS_SESSION_TOKEN");
    if (str_empty(keys->access_key) || str_empty(keys->secret_key))
        refuse(reading, "SecretKeyMissing", PATH_CREDENTIALS ": Secret %s has no key %s", name_of_credentials(reading),
            str_empty(keys->access_key) ? "accessKey" : "secretKey");
}

static const char *name_of_ca(const struct reading *reading)
{
    return reading->backup->destination.ca_secret;
}

static void take_ca(struct reading *reading, const json_t *secret)
{
    const char *key = reading->backup->destination.ca_key;
    reading->keys.ca_pem = text_of(secret, key, NULL);
    if (str_empty(reading->keys.ca_pem))
        refuse(reading, "SecretKeyMissing", PATH_CA ": Secret %s has no key %s", name_of_ca(reading), key);
}

static const char *name_of_key(const struct reading *reading)
{
    return reading->backup->encryption.secret;
}

static void take_key(struct reading *reading, const json_t *secret)
{
    struct error err = ERROR_INIT;
    struct task_keys *keys = &reading->keys;
    const char *key = reading->backup->encryption.key;
    size_t len = 0;
    char *text = text_of(secret, key, &len);
    if (!text)
        refuse(reading, "SecretKeyMissing", PATH_KEY ": Secret %s has no key %s", name_of_key(reading), key);
    else if (backup_key_parse(text, len, keys->key, &err) < 0)
        refuse(reading, "KeyInvalid", PATH_KEY ": key %s of Secret %s: %s", key, name_of_key(reading), err.message);
    else {
        keys->sealed = true;
        backup_key_id(keys->key, keys->key_id);
    }
    if (text)
        OPENSSL_cleanse(text, len);
    free(text);
}

static const char *name_of_own(const struct reading *reading)
{
    return reading->backup->destination.kind == BACKUP_DESTINATION_VOLUME ? reading->names.ca : NULL;
}

static void take_own(struct reading *reading, const json_t *secret)
{
    char *ca = text_of(secret, "ca.crt", NULL), *cert = text_of(secret, "client.crt", NULL),
         *key = text_of(secret, "client.key", NULL);
    const struct http_tls_options options = {.ca_pem = ca, .cert_pem = cert, .key_pem = key};
    if (!str_empty(ca) && !str_empty(cert) && !str_empty(key)) {
        reading->keys.tls = http_tls_new(&options);
        reading->keys.ca_pem = xstrdup(ca);
    } else
        refuse(reading, "ClusterNotReady", "cluster: MysqlCluster %s has no certificates yet", reading->backup->cluster);
    free(ca);
    free(cert);
    secret_free(key);
}

static const struct lookup {
    const char *(*name)(const struct reading *reading); /* NULL: not needed */
    void (*take)(struct reading *reading, const json_t *secret);
    const char *path;
} lookups[] = {
    {name_of_credentials, take_credentials, PATH_CREDENTIALS},
    {name_of_ca, take_ca, PATH_CA},
    {name_of_key, take_key, PATH_KEY},
    {name_of_own, take_own, "cluster"},
};

/* ---- one after the other ---- */

static void read_next(struct reading *reading);

static void finish(struct reading *reading, const struct error *err)
{
    reading->done(reading->arg, &reading->keys, err);
    task_keys_release(&reading->keys);
    free(reading);
}

static void note_version(struct reading *reading, const json_t *secret)
{
    char *version = reading->keys.version;
    size_t len = strlen(version);
    snprintf(version + len, sizeof(reading->keys.version) - len, "%s%s", len > 0 ? "." : "",
        json_path_str(secret, "metadata.resourceVersion", ""));
}

static void on_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct reading *reading = arg;
    const struct lookup *lookup = &lookups[reading->next];
    if (err && err->kind != ERROR_NOT_FOUND) {
        finish(reading, err);
        return;
    }
    if (err)
        refuse(reading, "SecretMissing", "%s: there is no Secret %s", lookup->path, lookup->name(reading));
    else {
        note_version(reading, answer->object);
        lookup->take(reading, answer->object);
    }
    reading->next++;
    read_next(reading);
}

static void read_next(struct reading *reading)
{
    while (reading->next < ARRAY_LEN(lookups) && !lookups[reading->next].name(reading))
        reading->next++;
    if (reading->next == ARRAY_LEN(lookups) || !str_empty(reading->keys.reason)) {
        finish(reading, NULL);
        return;
    }
    kube_get(
        reading->client, reading->secret, reading->backup->ns, lookups[reading->next].name(reading), on_read, reading);
}

void backup_secrets_read(struct kube_client *client, const struct kube_resource *secret,
    const struct mysql_backup *backup, const char *path, backup_secrets_done_fn done, void *arg)
{
    struct reading *reading = xnew(struct reading);
    reading->client = client;
    reading->secret = secret;
    reading->backup = backup;
    reading->path = path;
    reading->done = done;
    reading->arg = arg;
    cluster_names_init(&reading->names, backup->cluster);
    read_next(reading);
}
