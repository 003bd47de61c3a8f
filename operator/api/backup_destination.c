/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/backup_destination.h"

#include "common/json.h"

#define CA_KEY_DEFAULT "ca.crt"
#define ENCRYPTION_KEY_DEFAULT "key"

static void read_s3(const json_t *s3, struct backup_destination *ret)
{
    ret->kind = BACKUP_DESTINATION_S3;
    ret->bucket = json_path_str(s3, "bucket", "");
    ret->prefix = json_path_str(s3, "prefix", "");
    ret->endpoint = json_path_str(s3, "endpoint", "");
    ret->region = json_path_str(s3, "region", "");
    ret->credentials_secret = json_path_str(s3, "credentialsSecret.name", "");
    ret->ca_secret = json_path_str(s3, "caSecret.name", NULL);
    if (ret->ca_secret)
        ret->ca_key = json_path_str(s3, "caSecret.key", CA_KEY_DEFAULT);
    /* What is not AWS is mostly reached by one name: names of buckets are in no DNS and in no certificate there. */
    ret->path_style = json_path_bool(s3, "pathStyle", *ret->endpoint != '\0');
}

void backup_destination_read(const json_t *json, struct backup_destination *ret)
{
    const json_t *s3 = json_object_get(json, "s3");
    const json_t *volume = json_object_get(json, "persistentVolumeClaim");
    *ret = (struct backup_destination){
        .bucket = "", .prefix = "", .endpoint = "", .region = "", .credentials_secret = "", .claim = "", .path = ""};
    if (json_is_object(s3) && !json_is_object(volume))
        read_s3(s3, ret);
    else if (json_is_object(volume) && !json_is_object(s3)) {
        ret->kind = BACKUP_DESTINATION_VOLUME;
        ret->claim = json_path_str(volume, "claimName", "");
        ret->path = json_path_str(volume, "path", "");
        ret->path += *ret->path == '/';
        ret->size = json_object_get(volume, "size");
        if (json_is_null(ret->size))
            ret->size = NULL;
    }
}

int backup_destination_check(const json_t *json, const char *path, struct api_problems *problems)
{
    int before = problems->count;
    if (!json_is_object(json))
        return 0;
    bool s3 = json_is_object(json_object_get(json, "s3"));
    bool volume = json_is_object(json_object_get(json, "persistentVolumeClaim"));
    if (s3 == volume)
        api_problems_add(problems, path,
            s3 ? "must have only one of s3 and persistentVolumeClaim" : "needs either s3 or persistentVolumeClaim");
    const char *endpoint = json_path_str(json, "s3.endpoint", "");
    if (json_path_str(json, "s3.caSecret.name", NULL) && !str_starts_with(endpoint, "https://")) {
        char field[API_PATH_MAX];
        snprintf(field, sizeof(field), "%.120s.s3.caSecret", path);
        api_problems_add(problems, field, "needs an endpoint that begins with https://");
    }
    return problems->count > before ? -1 : 0;
}

bool backup_destination_same_place(const struct backup_destination *a, const struct backup_destination *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == BACKUP_DESTINATION_S3)
        return str_eq(a->bucket, b->bucket) && str_eq(a->prefix, b->prefix) && str_eq(a->endpoint, b->endpoint);
    return str_eq(a->claim, b->claim) && str_eq(a->path, b->path);
}

void backup_destination_location(const struct backup_destination *destination, const char *folder, struct strbuf *out)
{
    bool s3 = destination->kind == BACKUP_DESTINATION_S3;
    const char *below = s3 ? destination->prefix : destination->path;
    strbuf_addf(out, "%s%s", s3 ? "s3://" : "pvc:", s3 ? destination->bucket : destination->claim);
    if (!str_empty(below))
        strbuf_addf(out, "/%s", below);
    if (!str_empty(folder))
        strbuf_addf(out, "/%s", folder);
}

void backup_encryption_read(const json_t *json, struct backup_encryption *ret)
{
    *ret = (struct backup_encryption){.secret = json_path_str(json, "keySecret.name", NULL)};
    if (ret->secret)
        ret->key = json_path_str(json, "keySecret.key", ENCRYPTION_KEY_DEFAULT);
}
