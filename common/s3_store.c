/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/s3_store.h"

#include "common/s3_sign.h"
#include "common/s3_xml.h"

#define PAGE_OBJECTS "1000"

static int read_refusal(int status, const char *text, size_t len, struct object_refusal *ret)
{
    UNUSED(status);
    return s3_xml_error(text, len, ret, NULL);
}

static void list_query(const char *under, char delimiter, const char *token, struct strbuf *query)
{
    const char text[] = {delimiter, '\0'};
    if (token)
        s3_query_add(query, "continuation-token", token);
    if (delimiter)
        s3_query_add(query, "delimiter", text);
    s3_query_add(query, "encoding-type", "url");
    s3_query_add(query, "list-type", "2");
    s3_query_add(query, "max-keys", PAGE_OBJECTS);
    s3_query_add(query, "prefix", under);
}

static struct object_request *abort_uploads(
    struct object_store *store, const char *under, size_t *ret_found, object_done_fn done, void *arg)
{
    return s3_abort_uploads(store, under, false, ret_found, done, arg);
}

const struct object_store_ops s3_store_ops = {
    .digest_field = "x-amz-content-sha256",
    .read_refusal = read_refusal,
    .list_query = list_query,
    .list_read = s3_xml_objects,
    .abort_uploads = abort_uploads,
    .upload_begin = s3_upload_begin,
    .upload_part = s3_upload_part,
    .upload_complete = s3_upload_complete,
    .upload_abort = s3_upload_abort,
    .upload_free = s3_upload_free,
};
