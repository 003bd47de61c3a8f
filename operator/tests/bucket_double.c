/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/bucket_double.h"

#include "common/alloc.h"
#include "common/http_server.h"
#include "common/strbuf.h"
#include "common/tls.h"

#define OBJECTS_MAX 256

struct bucket_double {
    struct http_server *server, *tls_server; /* tls_server NULL: none */
    char endpoint[64];
    struct {
        char *name, *body; /* name NULL: free */
    } objects[OBJECTS_MAX];
    int fail_status;
};

static int find(const struct bucket_double *s3, const char *name)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        if (str_eq(s3->objects[i].name, name) && name)
            return i;
    }
    return -1;
}

/* As the service in front of a volume is asked; else as a bucket is. */
static bool is_of_volume(const struct http_exchange *exchange)
{
    return str_starts_with(http_exchange_path(exchange), "/v1/");
}

static void reply_error(struct http_exchange *exchange, int status, const char *code)
{
    bool volume = is_of_volume(exchange);
    _cleanup_(freep) char *text = xasprintf(volume ? "{\"code\":\"%s\",\"message\":\"of the test\"}\n"
                                                   : "<Error><Code>%s</Code><Message>of the test</Message></Error>",
        code);
    http_reply(exchange, status, volume ? "application/json" : "application/xml", text, strlen(text));
}

/* "/BUCKET/NAME" without the bucket; "" for the bucket itself. */
static const char *name_of(const struct http_exchange *exchange)
{
    const char *slash = strchr(http_exchange_path(exchange) + (is_of_volume(exchange) ? strlen("/v1/") : 1), '/');
    return slash ? slash + 1 : "";
}

static bool fails(const struct bucket_double *s3, struct http_exchange *exchange)
{
    if (s3->fail_status > 0)
        reply_error(exchange, s3->fail_status, s3->fail_status == 403 ? "AccessDenied" : "InternalError");
    return s3->fail_status > 0;
}

static void list_as_xml(const struct bucket_double *s3, const char *prefix, bool uploads, struct strbuf *text)
{
    strbuf_adds(text,
        uploads ? "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>"
                : "<ListBucketResult><IsTruncated>false</IsTruncated>");
    for (int i = 0; i < OBJECTS_MAX && !uploads; i++) {
        const char *name = s3->objects[i].name;
        if (name && str_starts_with(name, prefix))
            strbuf_addf(text,
                "<Contents><Key>%s</Key><LastModified>2026-11-21T12:00:00.000Z</LastModified><Size>%zu</Size></Contents>",
                name, strlen(s3->objects[i].body));
    }
    strbuf_adds(text, uploads ? "</ListMultipartUploadsResult>" : "</ListBucketResult>");
}

static void list_as_lines(const struct bucket_double *s3, const char *prefix, struct strbuf *text)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        const char *name = s3->objects[i].name;
        if (name && str_starts_with(name, prefix))
            strbuf_addf(text, "{\"name\":\"%s\",\"bytes\":%zu,\"modified\":1795262400000}\n", name,
                strlen(s3->objects[i].body));
    }
    strbuf_adds(text, "{\"end\":true}\n");
}

static void reply_list(const struct bucket_double *s3, struct http_exchange *exchange)
{
    const char *prefix = str_or_empty(http_exchange_query(exchange, "prefix"));
    struct strbuf text;
    strbuf_init(&text, KM_MIB);
    if (is_of_volume(exchange))
        list_as_lines(s3, prefix, &text);
    else
        list_as_xml(s3, prefix, http_exchange_query(exchange, "uploads") != NULL, &text);
    http_reply(exchange, 200, is_of_volume(exchange) ? "application/json" : "application/xml", text.buf, text.len);
    strbuf_release(&text);
}

static void handle_get(struct http_exchange *exchange, void *arg)
{
    const struct bucket_double *s3 = arg;
    const char *name = name_of(exchange);
    if (fails(s3, exchange))
        return;
    int i = find(s3, name);
    if (*name == '\0')
        reply_list(s3, exchange);
    else if (i < 0)
        reply_error(exchange, 404, is_of_volume(exchange) ? "NoSuchObject" : "NoSuchKey");
    else {
        http_exchange_add_header(exchange, "ETag", "\"1\"");
        http_reply(exchange, 200, "application/json", s3->objects[i].body, strlen(s3->objects[i].body));
    }
}

static void handle_delete(struct http_exchange *exchange, void *arg)
{
    struct bucket_double *s3 = arg;
    if (fails(s3, exchange))
        return;
    if (str_eq(http_exchange_path(exchange), "/v1/uploads")) {
        http_reply(exchange, 200, "application/json", "{\"ended\":0}\n", strlen("{\"ended\":0}\n"));
        return;
    }
    bucket_double_remove(s3, name_of(exchange));
    http_reply(exchange, 204, NULL, "", 0);
}

static const struct http_route routes[] = {
    {"GET", "/*", handle_get},
    {"DELETE", "/*", handle_delete},
    {.method = NULL},
};

struct bucket_double *bucket_double_new(struct loop *loop)
{
    struct bucket_double *s3 = xnew(struct bucket_double);
    struct error err = ERROR_INIT;
    uint16_t port = 0;
    s3->server = http_server_new(loop, NULL, routes, s3);
    if (http_server_listen(s3->server, "127.0.0.1", 0, &port, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    snprintf(s3->endpoint, sizeof(s3->endpoint), "http://127.0.0.1:%u", port);
    return s3;
}

bool bucket_double_listen_tls(
    struct bucket_double *s3, struct loop *loop, struct tls_server *tls, const char *address, uint16_t port)
{
    s3->tls_server = http_server_new(loop, tls, routes, s3);
    return http_server_listen(s3->tls_server, address, port, NULL, NULL) == 0;
}

void bucket_double_free(struct bucket_double *s3)
{
    if (!s3)
        return;
    http_server_free(s3->server);
    http_server_free(s3->tls_server);
    for (int i = 0; i < OBJECTS_MAX; i++) {
        free(s3->objects[i].name);
        free(s3->objects[i].body);
    }
    free(s3);
}

const char *bucket_double_endpoint(const struct bucket_double *s3)
{
    return s3->endpoint;
}

void bucket_double_remove(struct bucket_double *s3, const char *name)
{
    int i = find(s3, name);
    if (i < 0)
        return;
    str_replace(&s3->objects[i].name, NULL);
    str_replace(&s3->objects[i].body, NULL);
}

void bucket_double_put(struct bucket_double *s3, const char *name, const char *body)
{
    bucket_double_remove(s3, name);
    for (int i = 0; i < OBJECTS_MAX; i++) {
        if (s3->objects[i].name)
            continue;
        s3->objects[i].name = xstrdup(name);
        s3->objects[i].body = xstrdup(body);
        return;
    }
    abort();
}

size_t bucket_double_count(const struct bucket_double *s3, const char *prefix)
{
    size_t count = 0;
    for (int i = 0; i < OBJECTS_MAX; i++)
        count += s3->objects[i].name && str_starts_with(s3->objects[i].name, prefix);
    return count;
}

void bucket_double_fail(struct bucket_double *s3, int status)
{
    s3->fail_status = status;
}
