/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_reason.h: why a restore, or a replay of binary logs, does not go on. The names stand in statuses, conditions
 * and the agent contract (`seedReason`); whoever decides by one decides by the value.
 */
#ifndef KM_RESTORE_REASON_H
#define KM_RESTORE_REASON_H

#include "common/base.h"

enum restore_reason {
    RESTORE_REASON_NONE, /* "": it goes on */
    /* The store, the API server, the tools: it may be better in a moment. */
    RESTORE_REASON_API_UNAVAILABLE,
    RESTORE_REASON_STORE_UNAVAILABLE,
    RESTORE_REASON_TOOL_FAILED,
    /* A person may mend it. */
    RESTORE_REASON_STORE_REFUSED,
    RESTORE_REASON_VOLUME_TOO_SMALL,
    RESTORE_REASON_SECRET_MISSING,
    RESTORE_REASON_SECRET_INVALID,
    RESTORE_REASON_BACKUP_MISSING,
    RESTORE_REASON_BACKUP_INCOMPLETE, /* it is being made */
    RESTORE_REASON_BACKUP_FAILED,
    RESTORE_REASON_BACKUP_UNSUITABLE,  /* it does not tell where its binary logs are */
    RESTORE_REASON_TARGET_INVALID,     /* the moment or GTID that is asked for */
    RESTORE_REASON_TARGET_NOT_COVERED, /* the archive does not reach it, yet */
    RESTORE_REASON_REPLAY_FAILED,      /* the server's applier */
    /* The same bytes with the same key and server: no waiting helps. */
    RESTORE_REASON_KEY_INVALID,
    RESTORE_REASON_BACKUP_DAMAGED,
    RESTORE_REASON_BACKUP_TOO_NEW,
    RESTORE_REASON_SERVER_MISMATCH,
    RESTORE_REASON_COPY_UNUSABLE, /* a server ends by itself on it */
    RESTORE_REASON_GAP_IN_ARCHIVE,
    RESTORE_REASON_OTHER, /* read from a program of another version */
    RESTORE_REASON_COUNT,
};

/* CamelCase; "" for NONE, "Other" for OTHER. Static. */
const char *restore_reason_name(enum restore_reason reason);
/* NULL is "". */
enum restore_reason restore_reason_parse(const char *name);

#endif
