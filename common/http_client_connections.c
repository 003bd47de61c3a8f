/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/http_client_connections.h"

#include <curl/curl.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/alloc.h"

/* Streams per HTTP/2 connection: one connection carries every watch and every write (libcurl's own default is 100). */
#define STREAMS_MAX 1000L
/* libcurl opens another connection for each request beyond the streams that the server allows (often 100), and one for
 * each that a server without HTTP/2 has to serve at a time. Further ones wait. */
#define CONNECTIONS_PER_HOST_MAX 128L
/* A host that vanished is noticed after so long, whether data is under way (TCP_USER_TIMEOUT) or not (keep-alive). */
#define KEEPALIVE_IDLE_S 10L
#define KEEPALIVE_INTERVAL_S 5L
#define DEAD_PEER_MS 20000U

struct socket_watch {
    struct list_node node;
    struct http_connections *set;
    struct event *event;
    int fd;
    long local_port; /* 0: not known yet */
    long peer_port;
};

static void drive(struct http_connections *set, curl_socket_t fd, int what)
{
    int running;
    set->enter(set->arg);
    curl_multi_socket_action(set->multi, fd, what, &running);
    set->leave(set->arg);
}

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
    const struct socket_watch *watch = arg;
    drive(watch->set, fd, ((what & EV_READ) ? CURL_CSELECT_IN : 0) | ((what & EV_WRITE) ? CURL_CSELECT_OUT : 0));
}

static void on_curl_timer(void *arg)
{
    drive(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_again_timer(void *arg)
{
    struct http_connections *set = arg;
    int running;
    set->enter(set->arg);
    /* What is noted meanwhile is for the next round. */
    size_t left = set->again_count;
    while (left-- > 0) {
        const int fd = set->again[0];
        set->again_count--;
        memmove(set->again, set->again + 1, set->again_count * sizeof(*set->again));
        curl_multi_socket_action(set->multi, fd, CURL_CSELECT_IN, &running); /* unknown ones are ignored */
    }
    set->leave(set->arg);
}

static void socket_watch_free(struct socket_watch *watch)
{
    list_remove(&watch->node);
    if (watch->event)
        event_free(watch->event);
    free(watch);
}

/* CURLMOPT_SOCKETFUNCTION: libcurl says which readiness of which socket it waits for. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    UNUSED(easy);
    struct http_connections *set = arg;
    struct socket_watch *watch = socket_arg;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            socket_watch_free(watch);
        curl_multi_assign(set->multi, fd, NULL);
        return 0;
    }
    if (!watch) {
        watch = xnew(struct socket_watch);
        watch->set = set;
        watch->fd = fd;
        list_push_back(&set->sockets, &watch->node);
        curl_multi_assign(set->multi, fd, watch);
    }
    const short events =
        (short)(EV_PERSIST | ((what & CURL_POLL_IN) ? EV_READ : 0) | ((what & CURL_POLL_OUT) ? EV_WRITE : 0));
    if (watch->event)
        event_free(watch->event);
    watch->event = event_new(loop_base(set->loop), fd, events, on_socket_ready, watch);
    if (!watch->event || event_add(watch->event, NULL) < 0)
        abort();
    return 0;
}

/* CURLMOPT_TIMERFUNCTION */
static int want_timer(CURLM *multi, long timeout_ms, void *arg)
{
    UNUSED(multi);
    struct http_connections *set = arg;
    if (timeout_ms < 0)
        loop_timer_cancel(&set->timer);
    else
        loop_timer_arm(&set->timer, timeout_ms);
    return 0;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    UNUSED(purpose);
    struct http_connections *set = arg;
    const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    const unsigned dead_peer_ms = DEAD_PEER_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_peer_ms, sizeof(dead_peer_ms));
    set->open++;
    return fd;
}

static int close_socket(void *arg, curl_socket_t fd)
{
    struct http_connections *set = arg;
    set->open--;
    return close(fd);
}

struct http_connections *http_connections_new(
    struct loop *loop, void (*enter)(void *arg), void (*leave)(void *arg), void *arg)
{
    struct http_connections *set = xnew(struct http_connections);
    set->loop = loop;
    set->enter = enter;
    set->leave = leave;
    set->arg = arg;
    list_init(&set->node);
    list_init(&set->sockets);
    loop_timer_init(&set->timer, loop, on_curl_timer, set);
    loop_timer_init(&set->again_timer, loop, on_again_timer, set);
    set->multi = curl_multi_init();
    if (!set->multi)
        abort();
    curl_multi_setopt(set->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(set->multi, CURLMOPT_SOCKETDATA, set);
    curl_multi_setopt(set->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(set->multi, CURLMOPT_TIMERDATA, set);
    curl_multi_setopt(set->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(set->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_MAX);
    curl_multi_setopt(set->multi, CURLMOPT_MAX_HOST_CONNECTIONS, CONNECTIONS_PER_HOST_MAX);
    return set;
}

void http_connections_free(struct http_connections *set)
{
    list_remove(&set->node);
    curl_multi_cleanup(set->multi);
    struct list_node *pos;
    struct list_node *tmp;
    list_for_each_safe(pos, tmp, &set->sockets)
        socket_watch_free(container_of(pos, struct socket_watch, node));
    loop_timer_release(&set->timer);
    loop_timer_release(&set->again_timer);
    free(set->again);
    free(set);
}

const char *http_connections_add(struct http_connections *set, void *easy)
{
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, set);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, set);
    /* A pod that comes back has another address under the same name: only who resolves it anew finds it. */
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    const CURLMcode code = curl_multi_add_handle(set->multi, easy);
    if (code != CURLM_OK)
        return curl_multi_strerror(code);
    set->in_flight++;
    return NULL;
}

void http_connections_remove(struct http_connections *set, void *easy, bool completed)
{
    const int fd = completed ? -1 : http_connections_socket_of(set, easy);
    curl_multi_remove_handle(set->multi, easy);
    set->in_flight--;
    http_connections_look_again(set, fd);
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return 0;
}

static void learn_ports(struct socket_watch *watch)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    if (getsockname(watch->fd, (struct sockaddr *)&address, &len) == 0)
        watch->local_port = port_of(&address);
    len = sizeof(address);
    if (getpeername(watch->fd, (struct sockaddr *)&address, &len) == 0)
        watch->peer_port = port_of(&address);
}

/* CURLINFO_ACTIVESOCKET knows the socket only when the transfer is over, so the ports have to tell. The socket asked
 * for goes to the front of the list: an HTTP/2 connection is asked for again and again, thousands of others never. */
int http_connections_socket_of(struct http_connections *set, void *easy)
{
    long local_port = 0;
    long peer_port = 0;
    struct list_node *pos;
    struct list_node *tmp;
    curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &local_port);
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &peer_port);
    list_for_each_safe(pos, tmp, &set->sockets) {
        struct socket_watch *watch = container_of(pos, struct socket_watch, node);
        if (watch->peer_port == 0)
            learn_ports(watch);
        if (watch->local_port != local_port || watch->peer_port != peer_port)
            continue;
        list_remove(&watch->node);
        list_push_front(&set->sockets, &watch->node);
        return watch->fd;
    }
    return -1;
}

void http_connections_look_again(struct http_connections *set, int fd)
{
    if (fd < 0)
        return;
    for (size_t i = 0; i < set->again_count; i++)
        if (set->again[i] == fd)
            return;
    if (set->again_count == set->again_capacity) {
        set->again_capacity = MAX_OF(2 * set->again_capacity, 4);
        set->again = xreallocarray(set->again, set->again_capacity, sizeof(*set->again));
    }
    set->again[set->again_count++] = fd;
    loop_timer_arm(&set->again_timer, 0);
}

void *http_connections_next_finished(struct http_connections *set, int *ret_code)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(set->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        *ret_code = (int)message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
