/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_rig_util.h: an agent_watch against an HTTP server with mutual TLS, as an agent has one: the test says the
 * agent's words and sees what it is ordered.
 */
#ifndef KM_WATCH_RIG_UTIL_H
#define KM_WATCH_RIG_UTIL_H

#include "common/base.h"

#include "common/clock.h"
#include "common/http_server.h"
#include "operator/instance/agent_watch.h"
#include "operator/instance/tests/agent_pki_util.h"

#define WATCH_RIG_WAIT_MS 10000
#define WATCH_RIG_SERVER "m-0.shop-mysql.ns1.svc"

struct watch_rig {
    struct loop *loop;
    struct http_client *http;
    struct agent_pki pki;
    struct http_server *server;
    uint16_t port;
    struct http_exchange *stream; /* the open one; NULL: none */
    int streams;                  /* opened so far */
    int refuse_status;            /* answer this instead of a stream */
    struct agent_watch *watch;
    struct position_pool *positions; /* of all that was read */
    struct agent_status status;
    int news;
    /* orders */
    int puts;
    char put_hash[17]; /* of the last one */
    bool put_last;     /* its nobody_stays */
    int put_answer;    /* 0: 200 */
    const char *put_text;
    bool hold_puts; /* answer when the test says so */
    bool muzzled;   /* the operator may tell nothing */
    struct http_exchange *held;
    /* Whom the last request of each kind was for, "POD UID", as it said. */
    char status_to[128], put_to[128], put_boot[40];
};

#define RUN_UNTIL(rig, condition)                                     \
    do {                                                              \
        int64_t until_ms_ = clock_monotonic_ms() + WATCH_RIG_WAIT_MS; \
        while (!(condition) && clock_monotonic_ms() < until_ms_)      \
            loop_run_once((rig)->loop, 20);                           \
        assert_true(condition);                                       \
    } while (0)

/* For cmocka: *state is the rig; nothing watches yet. */
int watch_rig_set_up(void **state);
int watch_rig_tear_down(void **state);

struct agent_target watch_rig_target_of(const struct watch_rig *rig, const char *server_name);
void watch_rig_start(struct watch_rig *rig, const char *server_name);
/* And waits until it has said that it has such an order, as boot1. */
void watch_rig_start_with(struct watch_rig *rig, const char *order_hash);
void watch_rig_run_for(struct watch_rig *rig, int64_t ms);
/* What the watch has heard; NULL: nothing yet. */
const struct agent_status *watch_rig_status_of(struct watch_rig *rig);
struct agent_order watch_rig_order_of(uint64_t epoch);

/* ---- the agent's side: its stream is open ---- */

void watch_rig_say(struct watch_rig *rig, const char *text);
void watch_rig_say_status(struct watch_rig *rig, const char *reason, const char *gtid);
void watch_rig_say_order(struct watch_rig *rig, const char *boot_id, const char *order_hash);
/* Says it and waits until it has arrived. */
void watch_rig_tell(struct watch_rig *rig, struct agent_status *status);
/* Of an order that was held. */
void watch_rig_answer_put(struct watch_rig *rig, struct http_exchange *exchange);

#endif
