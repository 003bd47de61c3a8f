/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_child.h: what the processes that move a backup (`kube-mysql-agent upload`, `download`) share, and how the
 * agent speaks with them.
 *
 * A child of its own, so that the agent that guards the server does no bulk work and holds no keys longer than it must.
 * It is told by lines on descriptor 3:
 *   a task (backup_task.h)             the first line
 *   {"keys":{"accessKey":…}}           credentials were rotated
 *   {"commit":{"gtid":…}}              upload: the tool has ended well and this is what its data is
 * The end of descriptor 3 without a commit ends an upload: nothing is left of it. It tells by lines: of struct
 * backup_report as JSON, twice a second, the last one says Completed or Failed. Secrets are in the task only: the
 * process dumps no core and nobody of the same user can trace it.
 */
#ifndef KM_AGENT_BACKUP_BACKUP_CHILD_H
#define KM_AGENT_BACKUP_BACKUP_CHILD_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/object_store.h"

#define BACKUP_CHILD_FD 3
#define BACKUP_CHILD_LINE_MAX ((size_t)(BACKUP_TASK_MAX + KM_KIB))
/* How often progress is told. */
#define BACKUP_CHILD_TELL_MS 500
/* An upload whose keys are refused in its middle: the operator reads their Secret every 15 s, so new ones have come by
 * then, or do not come. */
#define UPLOAD_KEYS_GRACE_MS 60000

struct backup_child_options {
    const char *tls_dir;   /* ca.crt, tls.crt, tls.key: the member's own, for the door of a volume */
    int64_t keys_grace_ms; /* as in object_target */
};

/* ---- lines ---- */

struct backup_commit {
    const char *gtid; /* NULL counts as "" */
    char flavour[16];
    char server_version[64];
    char donor[64];
    uint64_t data_bytes;
    enum stream_method stream;
};
/* With the line break, as the others. */
void backup_commit_encode(const struct backup_commit *commit, struct strbuf *out);
void backup_keys_encode(const struct backup_store *store, struct strbuf *out);

struct backup_word {
    bool is_commit, has_keys;
    struct backup_commit commit;
    struct position_pool *positions; /* of the commit */
    struct backup_store keys;
};
void backup_word_release(struct backup_word *word);
/* A line but the first. ERROR_PROTOCOL. Release what was decoded. */
int backup_word_decode(const char *line, size_t len, struct backup_word *ret, struct error *err) KM_MUST_CHECK;

/* One line of a report. */
void backup_report_line(const struct backup_report *report, struct strbuf *out);
int backup_report_parse(const char *line, struct backup_report *ret, struct error *err) KM_MUST_CHECK;

/* ---- in the child ---- */

/* First of all. */
void backup_child_hide(void);
/* Blocking: whether *rest, which may hold one already, begins with a line of descriptor 3 now; *ret_len: without its
 * break. Whoever has read it wipes and consumes it. */
int backup_child_read_line(struct strbuf *rest, size_t *ret_len, struct error *err) KM_MUST_CHECK;
/* Blocking: the first line of descriptor 3. What came behind it stays in *rest (init by the caller with
 * BACKUP_CHILD_LINE_MAX). */
int backup_child_read_task(struct backup_task *ret, struct strbuf *rest, struct error *err) KM_MUST_CHECK;
struct object_store *backup_child_open_store(
    struct loop *loop, const struct backup_child_options *options, const struct backup_store *store, struct error *err);
/* StoreRefused: somebody must change something; StoreUnavailable: it may go another time; Cancelled; KeyInvalid. */
const char *backup_child_reason(const struct error *err);
/* Writes a line. When it must not wait, one that does not fit is left out. */
void backup_child_tell(int fd, const struct backup_report *report, bool wait);

#endif
