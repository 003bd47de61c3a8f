/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.h: HTTP/1.1 and HTTP/2 requests on the loop (libcurl multi, CURLMOPT_SOCKETFUNCTION/TIMERFUNCTION on
 * libevent).
 *
 * A client keeps its connections alive and multiplexes over one HTTP/2 connection per host where the server speaks it
 * (CURLOPT_PIPEWAIT). A request is started with a struct that is copied; its callbacks run on the loop: `data` zero or
 * more times, then `done` exactly once, unless cancelled. Never inside http_client_start, never after
 * http_request_cancel.
 * Redirects are answers like others, proxies of the environment are ignored, nothing is decompressed.
 * https://curl.se/libcurl/c/libcurl-multi.html
 */
#ifndef KM_COMMON_HTTP_CLIENT_H
#define KM_COMMON_HTTP_CLIENT_H

#include "common/base.h"

#include "common/error.h"
#include "common/loop.h"
#include "common/strbuf.h"

struct http_client;
struct http_request;

/* Who we are and whom we trust for one peer. All texts are copied by http_tls_new. */
struct http_tls_options {
    const char *ca_pem;      /* NULL: the system's (ca_bundle.h) */
    const char *cert_pem;    /* client certificate, NULL: none */
    const char *key_pem;     /* secret */
    const char *server_name; /* verify this name instead of the URL's host; NULL: the URL's host */
    bool insecure_skip_verify;
};
/* Shared by many requests; ref-counted. */
struct http_tls;
struct http_tls *http_tls_new(const struct http_tls_options *options);
struct http_tls *http_tls_ref(struct http_tls *tls);
void http_tls_unref(struct http_tls *tls);

/* Why the server's certificate is not taken: then there was no answer, err is UNAVAILABLE or INVALID and has the
 * details. */
enum http_distrust {
    HTTP_DISTRUST_NONE,
    HTTP_DISTRUST_AUTHORITY, /* nobody whom we trust has signed it */
    HTTP_DISTRUST_NAME,      /* it is of another server */
    HTTP_DISTRUST_TIME,      /* not valid yet, or any more, by the clock here */
    HTTP_DISTRUST_ALL,       /* there are no authorities here to hold it against, or they cannot be read */
};

struct http_response {
    int status; /* 0 when there was no answer; then err says why */
    enum http_distrust distrust;
    uint32_t retry_after_ms;  /* Retry-After in seconds or as a date, 0 if absent */
    const char *content_type; /* may be NULL */
    const char *body;         /* what was gathered (no `data` callback), NUL-terminated; "" if nothing */
    size_t body_len;
    bool reused_connection;
    bool sent;        /* false: provably no byte of the request left us, so it can be repeated whatever it is */
    int http_version; /* 10, 11, 20; 0 if there was no answer */
    int64_t total_us; /* start to done */
};

struct http_request_options {
    const char *method; /* "GET", "PATCH", ... */
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated, may be NULL; copied */
    const char *bearer_token;   /* may be NULL; copied, secret */
    const void *body;           /* copied; NULL: none */
    size_t body_len;
    bool body_stays;        /* the body is not copied: it stays as it is until done or cancel */
    struct http_tls *tls;   /* a reference is taken; NULL for http:// or defaults */
    const char *connect_to; /* "IP:port" to dial instead of the URL's authority (TLS and Host keep it); NULL: none */
    int64_t connect_timeout_ms; /* 0: 10,000 */
    int64_t timeout_ms;         /* whole request; 0: none (streams) */
    int64_t idle_timeout_ms;    /* ERROR_TIMEOUT when no byte comes or goes for so long; 0: none. Streams need it. */
    /* gathered 2xx body, 0: HTTP_BODY_MAX; more is ERROR_TOO_LARGE. Others are cut at KUBE_ERROR_BODY_MAX */
    size_t max_body;
    size_t receive_buffer_bytes; /* memory of the request while it lasts, 0: 16 KiB; up to 512 KiB for bulk data */
    /* Streams a 2xx body instead of gathering it (other answers are gathered for the error text).
     * Return -1 to end the request: done gets ERROR_CANCELLED. May be NULL. */
    int (*data)(void *arg, const char *data, size_t len);
    /* err is NULL when an HTTP answer arrived complete, whatever its status; else why not (UNAVAILABLE, TIMEOUT,
     * PROTOCOL, TOO_LARGE, CANCELLED; INVALID for a bad URL or certificate text). err->code is the errno of a failed
     * connect.
     * Both are valid during the call only. The request is freed after it returns. */
    void (*done)(void *arg, const struct http_response *response, const struct error *err);
    void *arg;
};

struct http_client *http_client_new(struct loop *loop);
/* Cancels everything in flight (no callbacks). Not from inside a callback of its own. */
void http_client_free(struct http_client *client);
struct http_request *http_client_start(struct http_client *client, const struct http_request_options *options);
/* Of the answer, while `data` or `done` of this request runs. Header: the last one of that name, NULL if there is none;
 * valid during the callback. */
int http_request_status(const struct http_request *request);
const char *http_request_header(const struct http_request *request, const char *name);
/* Ends it now; no callback follows. Fine from inside its own data callback; not from its done. */
void http_request_cancel(struct http_request *request);
/* Flow control of a streamed body: while paused no data callback runs, the idle time stands still and the peer is held
 * back. libcurl 7.88 then holds back the other streams of the same HTTP/2 connection too once its buffer is full. */
void http_request_pause(struct http_request *request);
void http_request_resume(struct http_request *request);
/* Connections open and requests in flight: metrics. */
void http_client_stats(const struct http_client *client, size_t *ret_connections, size_t *ret_in_flight);
/* The next request dials anew (after a change of certificates, or when the peer seems hung): idle connections are
 * closed now, those in use when their last request is done. */
void http_client_drop_idle(struct http_client *client);

#endif
