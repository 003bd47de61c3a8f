/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/backup_keys.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/json.h"
#include "common/tls.h"
#include "operator/api/backup_destination.h"

#define VALUE_MAX (64 * KM_KIB)

enum stage { STAGE_CREDENTIALS, STAGE_CA, STAGE_SEAL, STAGE_DONE };

struct backup_keys_reading {
    struct backup_keys_request request;
    char *ns, *path;
    json_t *destination_json, *encryption_json;
    struct backup_destination destination;
    struct backup_encryption encryption;
    struct backup_keys keys;
    enum stage stage;
    struct kube_request *reading;
    struct loop_timer next; /* done is never called from inside backup_keys_read */
};

void backup_keys_release(struct backup_keys *keys)
{
    backup_store_release(&keys->store);
    OPENSSL_cleanse(keys, sizeof(*keys));
}

static void reading_free(struct backup_keys_reading *reading)
{
    loop_timer_release(&reading->next);
    backup_keys_release(&reading->keys);
    json_decref(reading->destination_json);
    json_decref(reading->encryption_json);
    free(reading->ns);
    free(reading->path);
    free(reading);
}

void backup_keys_cancel(struct backup_keys_reading *reading)
{
    if (!reading)
        return;
    if (reading->reading)
        kube_request_cancel(reading->reading);
    reading_free(reading);
}

static void finish(struct backup_keys_reading *reading, const struct error *err)
{
    const struct backup_keys_request request = reading->request;
    struct backup_keys keys = reading->keys;
    reading->keys = (struct backup_keys){.sealed = false};
    reading_free(reading);
    request.done(request.arg, err ? NULL : &keys, err);
    backup_keys_release(&keys);
}

/* ---- one Secret ---- */

static const char *secret_of(const struct backup_keys_reading *reading, const char **ret_field)
{
    static const char *const fields[] = {
        [STAGE_CREDENTIALS] = "destination.s3.credentialsSecret",
        [STAGE_CA] = "destination.s3.caSecret",
        [STAGE_SEAL] = "encryption.keySecret",
    };
    const char *names[] = {
        [STAGE_CREDENTIALS] = reading->destination.credentials_secret,
        [STAGE_CA] = reading->destination.ca_secret,
        [STAGE_SEAL] = reading->encryption.secret,
    };
    *ret_field = fields[reading->stage];
    return names[reading->stage];
}

/* NULL: it is not there. Freed by secret_free. */
static char *value_of(const json_t *secret, const char *key, size_t *ret_len)
{
    const char *text = json_string_value(json_object_get(json_object_get(secret, "data"), key));
    return text && strlen(text) <= VALUE_MAX ? tls_base64_decode(text, strlen(text), ret_len, NULL) : NULL;
}

static char *text_of(const json_t *secret, const char *key, const char *other_key)
{
    size_t len = 0;
    char *text = value_of(secret, key, &len);
    if (!text && other_key)
        text = value_of(secret, other_key, &len);
    if (text)
        text[strcspn(text, "\r\n")] = '\0'; /* `kubectl create secret --from-file` leaves line ends */
    return text;
}

static int take_credentials(struct backup_keys_reading *reading, const json_t *secret, struct error *err)
{
    struct backup_store *store = &reading->keys.store;
    store->access_key = text_of(secret, "accessKey", "AWS_ACCESS_KEY_ID");
    store->secret_key = text_of(secret, "secretKey", "AWS_SECRET_ACCESS_KEY");
    store->session_token = text_of(secret, "sessionToken", "AWS_SESSION_TOKEN");
    if (str_empty(store->access_key) || str_empty(store->secret_key))
        return error_set(err, ERROR_INVALID, "has no accessKey and secretKey");
    return 0;
}

static int take_ca(struct backup_keys_reading *reading, const json_t *secret, struct error *err)
{
    size_t len = 0;
    reading->keys.store.ca_pem = value_of(secret, reading->destination.ca_key, &len);
    if (str_empty(reading->keys.store.ca_pem))
        return error_set(err, ERROR_INVALID, "has no key %s", reading->destination.ca_key);
    return 0;
}

static int take_seal(struct backup_keys_reading *reading, const json_t *secret, struct error *err)
{
    size_t len = 0;
    char *value = value_of(secret, reading->encryption.key, &len);
    if (!value)
        return error_set(err, ERROR_INVALID, "has no key %s", reading->encryption.key);
    int rc = backup_key_parse(value, len, reading->keys.key, err);
    OPENSSL_cleanse(value, len);
    free(value);
    reading->keys.sealed = rc == 0;
    return rc;
}

static int take(struct backup_keys_reading *reading, const json_t *secret, struct error *err)
{
    switch (reading->stage) {
    case STAGE_CREDENTIALS:
        return take_credentials(reading, secret, err);
    case STAGE_CA:
        return take_ca(reading, secret, err);
    default:
        return take_seal(reading, secret, err);
    }
}

static void on_secret(void *arg, const struct kube_answer *answer, const struct error *failure)
{
    struct backup_keys_reading *reading = arg;
    struct error err = ERROR_INIT;
    const char *field;
    const char *name = secret_of(reading, &field);
    reading->reading = NULL;
    if (failure)
        err = *failure;
    if (failure && failure->kind == ERROR_NOT_FOUND)
        error_set(&err, ERROR_NOT_FOUND, "%s.%s: there is no Secret %s", reading->path, field, name);
    else if (failure)
        error_prefix(&err, "%s.%s: Secret %s", reading->path, field, name);
    else if (take(reading, answer->object, &err) < 0)
        error_prefix(&err, "%s.%s: Secret %s", reading->path, field, name);
    if (err.kind != ERROR_NONE) {
        finish(reading, &err);
        return;
    }
    reading->stage++;
    loop_timer_arm(&reading->next, 0);
}

static void on_next(void *arg)
{
    struct backup_keys_reading *reading = arg;
    const char *field;
    while (reading->stage < STAGE_DONE && str_empty(secret_of(reading, &field)))
        reading->stage++;
    if (reading->stage == STAGE_DONE) {
        finish(reading, NULL);
        return;
    }
    reading->reading = kube_get(
        reading->request.client, reading->request.secrets, reading->ns, secret_of(reading, &field), on_secret, reading);
}

static void describe(struct backup_keys_reading *reading)
{
    const struct backup_destination *destination = &reading->destination;
    struct backup_store *store = &reading->keys.store;
    store->is_volume = destination->kind == BACKUP_DESTINATION_VOLUME;
    store->prefix = xstrdup(str_or_empty(store->is_volume ? destination->path : destination->prefix));
    if (store->is_volume)
        return;
    store->bucket = xstrdup(destination->bucket);
    store->endpoint = xstrdup(destination->endpoint);
    store->region = xstrdup(destination->region);
    store->path_style = destination->path_style;
}

struct backup_keys_reading *backup_keys_read(struct loop *loop, const struct backup_keys_request *request)
{
    struct backup_keys_reading *reading = xnew(struct backup_keys_reading);
    reading->request = *request;
    reading->ns = xstrdup(request->ns);
    reading->path = xstrdup(request->path);
    reading->destination_json = json_deep_copy(request->destination);
    reading->encryption_json = json_deep_copy(request->encryption);
    backup_destination_read(reading->destination_json, &reading->destination);
    backup_encryption_read(reading->encryption_json, &reading->encryption);
    describe(reading);
    loop_timer_init(&reading->next, loop, on_next, reading);
    loop_timer_arm(&reading->next, 0);
    return reading;
}
