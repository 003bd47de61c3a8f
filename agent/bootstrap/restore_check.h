/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_check.h: whether a stored backup can become this member's data, said before anything is touched; and what
 * kind of failure a failed restore is. Pure.
 *
 * A backup is made ready by the tools of its own series (prepare, or system tables in a dump): an older one is restored
 * with an image of its series, which is changed afterwards. MySQL's files (tar) go forward within their series, too,
 * never back to an older release of it.
 */
#ifndef KM_AGENT_BOOTSTRAP_RESTORE_CHECK_H
#define KM_AGENT_BOOTSTRAP_RESTORE_CHECK_H

#include "common/base.h"

#include "agent/bootstrap/server_binary.h"
#include "common/backup_manifest.h"
#include "common/error.h"
#include "common/restore_reason.h"

/* ERROR_INVALID: it is of another family, series, or method than this image can take. has_tools: the image holds
 * mariadb-backup and mbstream (of MariaDB alone that matters). */
int restore_check_manifest(const struct backup_manifest *manifest, const struct server_version *server, bool has_tools,
    struct error *err) KM_MUST_CHECK;

/* What is to follow from a failure. */
enum restore_retry {
    RESTORE_RETRY,        /* with the usual back-off: the store or the network may be better in a moment */
    RESTORE_RETRY_SLOWLY, /* something outside may be mended by a person: rights, a piece, the size of a volume */
    RESTORE_GIVE_UP,      /* the same bytes with the same key: another task or order must come */
};
struct restore_failure {
    enum restore_retry retry;
    enum restore_reason reason;
};

/* Less than this is left: whatever a tool said, it had no room. Not zero: a server gives back what it began to take. */
#define RESTORE_FULL_BYTES ((uint64_t)(16 * KM_MIB))

/* Where it happened: kinds mean different things there. */
enum restore_place {
    RESTORE_AT_MANIFEST, /* reading it; its mac is checked with the key */
    RESTORE_AT_CHECK,    /* restore_check_manifest, room on the volume */
    RESTORE_AT_DATA,     /* download; UNAUTHORIZED: the key of the encryption */
    RESTORE_AT_TOOLS,    /* unpacking, loading, preparing */
    RESTORE_AT_COPY,     /* a server on MySQL's files (agent/seed_settle.h) */
};
struct restore_failure restore_classify(enum restore_place place, const struct error *err);
/* Each tool reports a full volume with another message: of a failure RESTORE_AT_TOOLS or RESTORE_AT_COPY, at once after
 * it. It becomes TOO_LARGE if the volume is full. */
void restore_check_full(enum restore_place place, uint64_t free_bytes, struct error *err);
/* Of a reason that a child says; one that is of no failure, or not known, is TOOL_FAILED. */
struct restore_failure restore_failure_of(enum restore_reason reason);

#endif
