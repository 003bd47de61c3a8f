/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_header.h: ustar's header block as it lies in an archive (IEEE Std 1003.1, pax, "ustar Interchange Format"). For
 * tar_write.c and tar_read.c only.
 */
#ifndef KM_AGENT_BACKUP_TAR_HEADER_H
#define KM_AGENT_BACKUP_TAR_HEADER_H

#include "common/base.h"

#define TAR_FILE '0'
#define TAR_FOLDER '5'
#define TAR_RECORDS 'x'
#define TAR_MAGIC "ustar" /* with its NUL */
#define TAR_VERSION "00"  /* without */
/* Eleven octal digits. */
#define TAR_SIZE_MAX ((uint64_t)077777777777)

struct tar_header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char device[16];
    char prefix[155];
    char rest[12];
};
_Static_assert(sizeof(struct tar_header) == 512, "a block");

#endif
