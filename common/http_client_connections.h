/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client_connections.h: one libcurl multi handle with its connections, driven by the loop. Private to http_client.
 *
 * A client has one set for new requests; http_client_drop_idle starts another and lets the old one run dry, because
 * libcurl 7.88 has no call that closes idle connections. `easy` is a CURL pointer throughout.
 */
#ifndef KM_COMMON_HTTP_CLIENT_CONNECTIONS_H
#define KM_COMMON_HTTP_CLIENT_CONNECTIONS_H

#include "common/base.h"

#include "common/list.h"
#include "common/loop.h"

struct http_connections {
    struct list_node node; /* for the owner's list */
    struct loop *loop;
    void *multi;
    struct loop_timer timer;
    struct list_node sockets;
    /* Called around every entry into libcurl from the loop. */
    void (*enter)(void *arg);
    void (*leave)(void *arg);
    void *arg;
    /* Sockets to be looked at once more, see http_connections_look_again. */
    int *again;
    size_t again_count;
    size_t again_capacity;
    struct loop_timer again_timer;
    size_t in_flight;
    size_t open; /* sockets */
};

struct http_connections *http_connections_new(
    struct loop *loop, void (*enter)(void *arg), void (*leave)(void *arg), void *arg);
/* Closes all. No request may be in it. */
void http_connections_free(struct http_connections *set);
/* Starts the transfer: nothing runs before the next turn. NULL, or why libcurl refused. */
const char *http_connections_add(struct http_connections *set, void *easy);
/* completed: the transfer has ended by itself and well. */
void http_connections_remove(struct http_connections *set, void *easy, bool completed);
/* The descriptor that the running transfer uses, or -1. */
int http_connections_socket_of(struct http_connections *set, void *easy);
/* Acts next turn as if the socket were readable; -1 is ignored. To be called whenever an HTTP/2 transfer has been given
 * data, and when one is taken away: libcurl 7.88 (cf_h2_recv) stops in the middle of what it has read from a connection
 * when the buffer of one stream is full, and after that stream has been served it goes on only when the socket becomes
 * readable again, which may be never. Looking again until that yields nothing delivers the rest. */
void http_connections_look_again(struct http_connections *set, int fd);
/* The next transfer that ended (still to be removed) with its CURLcode, or NULL. */
void *http_connections_next_finished(struct http_connections *set, int *ret_code);

#endif
