/* SPDX-License-Identifier: Apache-2.0 */
/* http_latency PORT PATH CLIENTS SECONDS: CLIENTS keep-alive connections to 127.0.0.1, each asking again as soon as it
 * has its answer. Prints "requests N per_second N p50_us N p99_us N max_us N status CODE". For agent_bench.sh. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1024
#define SAMPLES_MAX 4000000

static int64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int dial(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        perror("connect");
        exit(1);
    }
    return fd;
}

int main(int argc, char **argv)
{
    static struct pollfd polls[CLIENTS_MAX];
    static int64_t started_us[CLIENTS_MAX];
    char request[512];
    char answer[4096];
    int status = 0;

    if (argc != 5 || atoi(argv[3]) > CLIENTS_MAX)
        return 2;
    int clients = atoi(argv[3]);
    int len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: bench\r\n\r\n", argv[2]);
    uint32_t *samples = malloc(SAMPLES_MAX * sizeof(*samples));
    size_t count = 0;
    int64_t begin_us = now_us();
    int64_t end_us = begin_us + atoll(argv[4]) * 1000000;
    for (int i = 0; i < clients; i++) {
        polls[i] = (struct pollfd){.fd = dial(atoi(argv[1])), .events = POLLIN};
        started_us[i] = now_us();
        if (write(polls[i].fd, request, (size_t)len) != len)
            return 1;
    }
    while (now_us() < end_us && count < SAMPLES_MAX) {
        poll(polls, (nfds_t)clients, 100);
        for (int i = 0; i < clients && count < SAMPLES_MAX; i++) {
            if (!polls[i].revents)
                continue;
            ssize_t got = read(polls[i].fd, answer, sizeof(answer) - 1); /* answers are one small segment */
            if (got <= 0) {
                fprintf(stderr, "the server closed a connection\n");
                return 1;
            }
            answer[got] = '\0';
            sscanf(answer, "HTTP/1.1 %d", &status);
            int64_t now = now_us();
            samples[count++] = (uint32_t)(now - started_us[i]);
            started_us[i] = now;
            if (write(polls[i].fd, request, (size_t)len) != len)
                return 1;
        }
    }
    double seconds = (double)(now_us() - begin_us) / 1e6;
    qsort(samples, count, sizeof(*samples), compare);
    if (count == 0)
        return 1;
    printf("requests %zu per_second %.0f p50_us %u p99_us %u max_us %u status %d\n", count, (double)count / seconds,
        samples[count / 2], samples[count * 99 / 100], samples[count - 1], status);
    free(samples);
    return 0;
}
