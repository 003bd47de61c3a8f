/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/http_util.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

void outcome_init(struct outcome *outcome)
{
    *outcome = (struct outcome){.status = -1};
    strbuf_init(&outcome->body, 16 * KM_MIB);
    strbuf_init(&outcome->streamed, 64 * KM_MIB);
}

void outcome_release(struct outcome *outcome)
{
    strbuf_release(&outcome->body);
    strbuf_release(&outcome->streamed);
}

void outcome_done(void *arg, const struct http_response *response, const struct error *err)
{
    struct outcome *outcome = arg;
    outcome->done++;
    outcome->status = response->status;
    outcome->retry_after_ms = response->retry_after_ms;
    outcome->reused = response->reused_connection;
    outcome->sent = response->sent;
    outcome->http_version = response->http_version;
    strbuf_reset(&outcome->body);
    strbuf_add(&outcome->body, response->body, response->body_len);
    if (err)
        outcome->err = *err;
    else
        error_clear(&outcome->err);
}

int outcome_data(void *arg, const char *data, size_t len)
{
    struct outcome *outcome = arg;
    outcome->data_calls++;
    strbuf_add(&outcome->streamed, data, len);
    return 0;
}

bool loop_until(struct loop *loop, const int *counter, int value)
{
    const int64_t end_ms = clock_monotonic_ms() + 20000;
    while (*counter < value && clock_monotonic_ms() < end_ms)
        loop_run_once(loop, 20);
    return *counter >= value;
}

bool connections_become(struct loop *loop, const struct http_server *server, size_t count)
{
    const int64_t end_ms = clock_monotonic_ms() + 20000;
    while (http_server_connections(server) != count && clock_monotonic_ms() < end_ms)
        loop_run_once(loop, 20);
    return http_server_connections(server) == count;
}

void loop_for(struct loop *loop, int64_t ms)
{
    const int64_t end_ms = clock_monotonic_ms() + ms;
    while (clock_monotonic_ms() < end_ms)
        loop_run_once(loop, 5);
}

struct tls_keypair test_ca(const char *name)
{
    const int64_t now_ms = clock_realtime_ms();
    const struct tls_cert_request request = {
        .common_name = name, .not_before_ms = now_ms - 60000, .not_after_ms = now_ms + 3600000};
    struct tls_keypair pair = {.key_pem = NULL};
    if (tls_make_ca(&request, &pair, NULL) < 0)
        abort();
    return pair;
}

struct tls_keypair test_leaf(const struct tls_keypair *ca, const char *const *dns_names)
{
    const int64_t now_ms = clock_realtime_ms();
    const struct tls_cert_request request = {.common_name = "leaf",
        .dns_names = dns_names,
        .server_auth = true,
        .client_auth = true,
        .not_before_ms = now_ms - 60000,
        .not_after_ms = now_ms + 3600000};
    struct tls_keypair pair = {.key_pem = NULL};
    if (tls_issue(ca, &request, &pair, NULL) < 0)
        abort();
    return pair;
}

int raw_connect(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        abort();
    return fd;
}

void raw_exchange(struct loop *loop, int fd, const char *request, size_t len, struct strbuf *answer)
{
    char chunk[4096];
    if (len > 0 && send(fd, request, len, MSG_NOSIGNAL) < 0)
        return;
    int64_t last_ms = clock_monotonic_ms();
    while (clock_monotonic_ms() - last_ms < 300) {
        loop_run_once(loop, 5);
        const ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return;
        if (n > 0) {
            strbuf_add(answer, chunk, (size_t)n);
            last_ms = clock_monotonic_ms();
        }
    }
}

int count_open_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}
