/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/server_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool server_socket_accepts(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool accepts = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN;
    close(fd);
    return accepts;
}
