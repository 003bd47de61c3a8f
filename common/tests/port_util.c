/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/port_util.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST 12000
#define COUNT 20000
/* So many ports lie between the places at which processes with neighbouring pids begin. */
#define STRIDE 37

static bool is_free(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

    close(fd);
    return is_bound;
}

uint16_t free_port(void)
{
    static unsigned next;

    if (next == 0)
        next = (unsigned)getpid() * STRIDE;
    for (int tries = 0; tries < COUNT; tries++) {
        uint16_t port = (uint16_t)(FIRST + next++ % COUNT);
        if (is_free(port))
            return port;
    }
    abort();
}
