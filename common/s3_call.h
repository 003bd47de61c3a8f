/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_call.h: one request to S3, signed, repeated until there is an answer that counts. Private to object_*.c.
 *
 * A try that got no answer, or one that promises more (500, 503, SlowDown …), is followed by another one after a pause, at most OBJECT_TRIES_MAX in all; each is signed
 * anew, with the keys that are known by then. Keys that were taken before and are refused now may have been rotated: new ones are waited for. A call whose `data` has taken bytes is not repeated here: only its owner knows how to go on.
 */
#ifndef KM_COMMON_S3_CALL_H
#define KM_COMMON_S3_CALL_H

#include "common/base.h"

#include "common/backoff.h"
#include "common/error.h"
#include "common/http_client.h"
#include "common/list.h"
#include "common/loop.h"
#include "common/object_store.h"
#include "common/s3_xml.h"

#define S3_CALL_HEADERS_MAX 2

struct object_store {
    struct loop *loop;
    struct http_client *client;
    char *base_url; /* "https://bucket.host:port" or without the bucket */
    char *host;     /* as in base_url: the header */
    char *bucket;
    char *root;   /* path of the bucket: "/bucket" or "" */
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
int s3_target_fill(struct object_store *store, const struct object_target *target, struct error *err) KM_MUST_CHECK;
void s3_target_release(struct object_store *store);
/* They become headers; none may be NULL. The error does not show them. */
int s3_keys_check(
    const char *access_key, const char *secret_key, const char *session_token, struct error *err) KM_MUST_CHECK;
/* Names, prefixes: letters, digits, "-_./", no empty segment, no "." and "..". A folder may end in a slash. */
int s3_name_check(const char *name, bool folder, struct error *err) KM_MUST_CHECK;

struct s3_call;

struct s3_answer {
    int status; /* 0: none */
    const char *body;
    size_t len;
    const char *code;          /* of S3's error; "" */
    bool unsure;               /* an earlier try may have had its effect without our knowing */
    bool worth_a_retry;        /* the error may be gone next time */
    struct http_request *http; /* for its headers; NULL: there was no request */
};

enum s3_verdict { S3_GOOD, S3_RETRY, S3_BAD };

struct s3_call_options {
    const char *method;
    const char *name;                         /* relative to the prefix; NULL: the bucket itself */
    const char *query;                        /* made by s3_query_add; NULL: none */
    const char *headers[S3_CALL_HEADERS_MAX]; /* "Range: …"; not signed */
    const void *body;                         /* stays until done, NULL: none */
    size_t body_len;
    const unsigned char *sha256; /* of the body, 32 bytes; NULL: worked out here */
    size_t max_body;             /* of the answer */
    bool slow;                   /* the server may think for minutes */
    uint32_t delay_ms;           /* before the first try */
    int (*data)(
        void *arg, struct http_request *http, const char *data, size_t len); /* as in http_client.h; may be NULL */
    /* A 2xx answer is not always a good one. NULL: it is. */
    enum s3_verdict (*judge)(void *arg, const struct s3_answer *answer, struct error *err);
    /* err is NULL for a 2xx that was judged good. The call ends when it returns. */
    void (*done)(void *arg, const struct s3_answer *answer, const struct error *err);
    void *arg;
};

/* Never calls back from inside. */
struct s3_call *s3_call_start(struct object_store *store, const struct s3_call_options *options);
/* Ends with this error, from the loop: what was asked for is wrong. */
struct s3_call *s3_call_fail(struct object_store *store, const struct error *err,
    void (*done)(void *arg, const struct s3_answer *answer, const struct error *err), void *arg);
/* No callback follows. Fine from inside its own data and done; NULL is fine. */
void s3_call_cancel(struct s3_call *call);
void s3_call_set_paused(struct s3_call *call, bool paused); /* NULL is fine */

/* Refused for its keys: other keys may help. */
bool s3_blames_keys(const struct s3_answer *answer, const struct error *err);
/* The server's certificate was not taken: err becomes INVALID with what to do about it. NONE: it stays. */
void s3_explain_distrust(const struct object_store *store, enum http_distrust distrust, struct error *err);
/* What an Error document means. */
enum s3_verdict s3_refusal(
    const struct object_store *store, int status, const struct s3_error *refusal, struct error *err);

#endif
