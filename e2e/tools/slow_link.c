/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_link.c: makes what leaves a network namespace late and lossy, where the kernel has no netem.
 *
 *   slow_link QUEUE DELAY-MS LOSS-PERCENT
 *
 * Packets come by a rule "-j NFQUEUE --queue-num QUEUE" in the namespace it runs in; each is let through DELAY-MS
 * later, in order, or dropped. Prints "ready" when it has the queue. Ends with SIGTERM; the kernel then drops what
 * waits. Netlink as in linux/netfilter/nfnetlink_queue.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAITING_MAX 65536 /* a power of two */

struct message {
    struct nlmsghdr header;
    struct nfgenmsg family;
    struct nlattr attribute;
    char payload[8];
};

static struct {
    uint32_t id; /* network order */
    int64_t due_ns;
} waiting[WAITING_MAX];
static unsigned first, last;
static int fd;
static uint16_t queue;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int tell(uint16_t type, uint16_t attribute, const void *payload, uint16_t size)
{
    struct message message = {
        .header = {.nlmsg_type = (uint16_t)(NFNL_SUBSYS_QUEUE << 8 | type), .nlmsg_flags = NLM_F_REQUEST},
        .family = {.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(queue)},
        .attribute = {.nla_type = attribute, .nla_len = (uint16_t)(sizeof(struct nlattr) + size)},
    };
    memcpy(message.payload, payload, size);
    message.header.nlmsg_len = (uint32_t)(offsetof(struct message, payload) + ((size + 3U) & ~3U));
    return send(fd, &message, message.header.nlmsg_len, 0) < 0 ? -1 : 0;
}

static void decide(uint32_t id, uint32_t verdict)
{
    const struct nfqnl_msg_verdict_hdr header = {.verdict = htonl(verdict), .id = id};
    tell(NFQNL_MSG_VERDICT, NFQA_VERDICT_HDR, &header, sizeof(header));
}

/* The packet's id, the first attribute that the kernel sends. */
static int find_id(const struct nlmsghdr *header, uint32_t *ret)
{
    const char *at = (const char *)NLMSG_DATA(header) + NLMSG_ALIGN(sizeof(struct nfgenmsg));
    const char *end = (const char *)header + header->nlmsg_len;
    while (at + sizeof(struct nlattr) <= end) {
        const struct nlattr *attribute = (const struct nlattr *)at;
        if (attribute->nla_len < sizeof(*attribute) || at + attribute->nla_len > end)
            return -1;
        if ((attribute->nla_type & NLA_TYPE_MASK) == NFQA_PACKET_HDR) {
            *ret = ((const struct nfqnl_msg_packet_hdr *)(at + sizeof(*attribute)))->packet_id;
            return 0;
        }
        at += NLMSG_ALIGN(attribute->nla_len);
    }
    return -1;
}

static void take(char *buffer, ssize_t len, int64_t delay_ns, double loss)
{
    struct nlmsghdr *header = (struct nlmsghdr *)buffer;
    uint32_t id;
    for (; NLMSG_OK(header, (size_t)len); header = NLMSG_NEXT(header, len)) {
        if (header->nlmsg_type != (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET) || find_id(header, &id) < 0)
            continue;
        if (last - first == WAITING_MAX || drand48() * 100 < loss) {
            decide(id, NF_DROP);
            continue;
        }
        waiting[last % WAITING_MAX].id = id;
        waiting[last++ % WAITING_MAX].due_ns = now_ns() + delay_ns;
    }
}

static int open_queue(void)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    const struct nfqnl_msg_config_cmd bind_command = {.command = NFQNL_CFG_CMD_BIND, .pf = htons(AF_INET)};
    const struct nfqnl_msg_config_params params = {.copy_range = htonl(0), .copy_mode = NFQNL_COPY_META};
    const uint32_t length = htonl(WAITING_MAX);
    const int size = 8 << 20, yes = 1;
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &yes, sizeof(yes));
    if (tell(NFQNL_MSG_CONFIG, NFQA_CFG_CMD, &bind_command, sizeof(bind_command)) < 0)
        return -1;
    /* nfqnl_msg_config_params is packed: 5 bytes */
    if (tell(NFQNL_MSG_CONFIG, NFQA_CFG_PARAMS, &params, sizeof(params)) < 0)
        return -1;
    return tell(NFQNL_MSG_CONFIG, NFQA_CFG_QUEUE_MAXLEN, &length, sizeof(length));
}

int main(int argc, char **argv)
{
    static char buffer[1 << 18] __attribute__((aligned(8)));
    if (argc != 4) {
        fprintf(stderr, "usage: slow_link QUEUE DELAY-MS LOSS-PERCENT\n");
        return 2;
    }
    queue = (uint16_t)strtoul(argv[1], NULL, 10);
    const int64_t delay_ns = strtoll(argv[2], NULL, 10) * 1000000;
    const double loss = strtod(argv[3], NULL);
    if (open_queue() < 0) {
        perror("slow_link");
        return 1;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        const int64_t left = first != last ? waiting[first % WAITING_MAX].due_ns - now_ns() : 1000000000;
        const struct timespec timeout = {.tv_nsec = left > 0 ? (left < 999999999 ? left : 999999999) : 0};
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        if (ppoll(&poller, 1, &timeout, NULL) > 0) {
            const ssize_t len = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
            if (len > 0)
                take(buffer, len, delay_ns, loss);
        }
        for (; first != last && waiting[first % WAITING_MAX].due_ns <= now_ns(); first++)
            decide(waiting[first % WAITING_MAX].id, NF_ACCEPT);
    }
}
