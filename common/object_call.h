/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_call.h: one request to a server of objects, repeated until there is an answer that counts; and the store
 * that it is sent to. Private to object_*.c, s3_*.c and volume_*.c.
 *
 * A try that got no answer, or one that promises more (500, 503, SlowDown …), is followed by another one after a
 * pause, at most OBJECT_TRIES_MAX in all; to S3 each is signed anew, with the keys that are known by then. Keys
 * that were taken before and are refused now may have been rotated: new ones are waited for. A call whose `data`
 * has taken bytes is not repeated here: only its owner knows how to go on.
 */
#ifndef KM_COMMON_OBJECT_CALL_H
#define KM_COMMON_OBJECT_CALL_H

#include "common/base.h"

#include "common/backoff.h"
#include "common/error.h"
#include "common/http_client.h"
#include "common/list.h"
#include "common/loop.h"
#include "common/object_answer.h"
#include "common/object_store.h"
#include "common/strbuf.h"

#define OBJECT_CALL_HEADERS_MAX 2

/* What S3 (s3_store.c) and the service in front of a volume (volume_store.c) do each in its own way. */
struct object_store_ops {
    const char *digest_field; /* header with the body's SHA-256 */
    /* Of an answer of 300 and more. -1: nothing that could be read. */
    int (*read_refusal)(int status, const char *text, size_t len, struct object_refusal *ret);
    /* Of a page of names. under: with the store's prefix; token: what the page before gave, NULL: the first. */
    void (*list_query)(const char *under, char delimiter, const char *token, struct strbuf *query);
    /* each: for all of the page, in its order; -1 ends it, without an error. ret_token: heap, where the next page
     * begins; NULL: this is the last one. ERROR_PROTOCOL: not a whole page, and nothing of it is handed out. */
    int (*list_read)(const char *text, size_t len, int (*each)(void *arg, const struct object_found *found), void *arg,
        char **ret_token, struct error *err);
    /* ret_found: how many there were, written before done; may be NULL. */
    struct object_request *(*abort_uploads)(
        struct object_store *store, const char *under, size_t *ret_found, object_done_fn done, void *arg);
    /* object_store.h has what they do. The first member of what begin returns is a struct object_upload. */
    struct object_upload *(*upload_begin)(
        struct object_store *store, const char *name, object_done_fn started, void *arg);
    void (*upload_part)(struct object_upload *upload, int number, const void *data, size_t len,
        const unsigned char *sha256, object_done_fn done, void *arg);
    void (*upload_complete)(struct object_upload *upload, object_done_fn done, void *arg);
    void (*upload_abort)(struct object_upload *upload, object_done_fn done, void *arg);
    void (*upload_free)(struct object_upload *upload);
};

struct object_upload {
    struct list_node node; /* in object_store.uploads */
    struct object_store *store;
};

struct object_store {
    const struct object_store_ops *ops;
    struct loop *loop;
    struct http_client *client;
    char *base_url; /* "https://bucket.host:port" or without the bucket */
    char *host;     /* as in base_url: the header */
    char *bucket;
    char *root;   /* path above names: "/bucket" or "", "/v1/objects" */
    char *shown;  /* for errors, before the path below the root: "s3://bucket" */
    char *prefix; /* "a/b/" or "" */
    char *region;
    char *access_key, *secret_key, *session_token; /* secret; access_key "": nothing is signed */
    char *connect_to;
    struct http_tls *tls;
    unsigned keys_version; /* one more with each set of keys */
    bool keys_proved;      /* they were taken, or the ones before */
    int64_t keys_grace_ms;
    int64_t idle_timeout_ms;
    struct backoff_policy pauses;
    uint64_t random_state;
    struct list_node requests; /* of struct object_request */
    struct list_node uploads;  /* of struct object_upload */
};

/* Fills in what object_target says (all but loop, client and lists). ERROR_INVALID names the field. */
int object_target_fill(struct object_store *store, const struct object_target *target, struct error *err) KM_MUST_CHECK;
void object_target_release(struct object_store *store);
/* They become headers; none may be NULL. The error does not show them. */
int object_keys_check(
    const char *access_key, const char *secret_key, const char *session_token, struct error *err) KM_MUST_CHECK;
/* Names, prefixes: letters, digits, "-_./", no empty segment, no "." and "..". A folder may end in a slash. */
int object_name_check(const char *name, bool folder, struct error *err) KM_MUST_CHECK;

struct object_call;

struct object_answer {
    int status; /* 0: none */
    const char *body;
    size_t len;
    const char *code;          /* of the refusal; "" */
    bool unsure;               /* an earlier try may have had its effect without our knowing */
    bool worth_a_retry;        /* the error may be gone next time */
    struct http_request *http; /* for its headers; NULL: there was no request */
};

enum object_verdict { OBJECT_GOOD, OBJECT_RETRY, OBJECT_BAD };

struct object_call_options {
    const char *method;
    const char *root;                             /* instead of the store's; NULL: that one */
    const char *name;                             /* relative to the prefix; NULL: the root itself */
    const char *query;                            /* made by s3_query_add; NULL: none */
    const char *headers[OBJECT_CALL_HEADERS_MAX]; /* "Range: …"; not signed */
    const void *body;                             /* stays until done, NULL: none */
    size_t body_len;
    const unsigned char *sha256; /* of the body, 32 bytes; NULL: worked out here */
    size_t max_body;             /* of the answer */
    bool slow;                   /* the server may think for minutes */
    uint32_t delay_ms;           /* before the first try */
    int (*data)(
        void *arg, struct http_request *http, const char *data, size_t len); /* as in http_client.h; may be NULL */
    /* A 2xx answer is not always a good one. NULL: it is. */
    enum object_verdict (*judge)(void *arg, const struct object_answer *answer, struct error *err);
    /* err is NULL for a 2xx that was judged good. The call ends when it returns. */
    void (*done)(void *arg, const struct object_answer *answer, const struct error *err);
    void *arg;
};

/* Never calls back from inside. */
struct object_call *object_call_start(struct object_store *store, const struct object_call_options *options);
/* Ends with this error, from the loop: what was asked for is wrong. */
struct object_call *object_call_fail(struct object_store *store, const struct error *err,
    void (*done)(void *arg, const struct object_answer *answer, const struct error *err), void *arg);
/* No callback follows. Fine from inside its own data and done; NULL is fine. */
void object_call_cancel(struct object_call *call);
void object_call_set_paused(struct object_call *call, bool paused); /* NULL is fine */

/* Refused for its keys: other keys may help. */
bool object_blames_keys(const struct object_answer *answer, const struct error *err);
/* The server's certificate was not taken: err becomes INVALID with what to do about it. NONE: it stays. */
void object_explain_distrust(const struct object_store *store, enum http_distrust distrust, struct error *err);
/* What a refusal means. */
enum object_verdict object_judge_refusal(
    const struct object_store *store, int status, const struct object_refusal *refusal, struct error *err);

#endif
