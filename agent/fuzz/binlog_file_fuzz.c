/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/binlog_file.h"

#include <sys/mman.h>
#include <unistd.h>

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    const size_t *size = arg;

    (void)err;
    if (transaction->from >= transaction->to || transaction->to > *size)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("binlog", MFD_CLOEXEC);
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (int flavour = GTID_MYSQL; flavour <= GTID_MARIADB; flavour++) {
        struct binlog_head head;
        struct error err = ERROR_INIT;
        (void)(binlog_file_scan(path, (enum gtid_flavour)flavour, &head, on_transaction, &size, &err) == 0);
        binlog_head_release(&head);
        (void)(binlog_file_scan_from(path, (enum gtid_flavour)flavour, size / 2, &head, on_transaction, &size, &err) ==
            0);
        binlog_head_release(&head);
    }
    close(fd);
    return 0;
}
