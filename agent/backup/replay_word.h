/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_word.h: how init and its child `kube-mysql-agent replay` speak. Pure.
 *
 * The child is told on descriptor 3 (backup_child.h): a task, then one line of struct replay_told, then one line for
 * each batch that was applied. It says lines of struct replay_word on standard error, between those of its log.
 */
#ifndef KM_AGENT_BACKUP_REPLAY_WORD_H
#define KM_AGENT_BACKUP_REPLAY_WORD_H

#include "common/base.h"

#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

/* A position, and the rest. */
#define REPLAY_LINE_MAX (POSITION_TEXT_MAX + (size_t)(16 * KM_KIB))

struct replay_told {
    char flavour[16];  /* agent_flavour_name of this member's server */
    const char *gtid;  /* what the restored backup holds; NULL counts as "" */
    int64_t backup_ms; /* when it was begun */
    char spool[512];   /* folder for the batches; "": only the plan is made */
};
void replay_told_encode(const struct replay_told *told, struct strbuf *out); /* with the line break */
/* Its position is taken into the pool. */
int replay_told_decode(const char *line, size_t len, struct position_pool *positions, struct replay_told *ret,
    struct error *err) KM_MUST_CHECK;

enum replay_said {
    REPLAY_SAID_NOTHING,
    REPLAY_SAID_PLAN, /* segments, total_bytes */
    /* number: its file is there, whole; gtid: all that there is once it is applied; at_ms: of its last transaction */
    REPLAY_SAID_BATCH,
    REPLAY_SAID_END,    /* there are no more; gtid, at_ms: as of the last batch */
    REPLAY_SAID_FAILED, /* reason, message */
    REPLAY_SAID_COUNT,
};
struct replay_word {
    enum replay_said said;
    uint64_t number;             /* of batches, from 1 */
    uint64_t segment, segments;  /* so many of so many are in the batches up to this one */
    uint64_t bytes, total_bytes; /* of the logs of those */
    int64_t at_ms;
    const char *gtid;                /* NULL counts as "" */
    struct position_pool *positions; /* holds that, if it was decoded: a reference is owned */
    char reason[48];                 /* CamelCase, as restore_check.h has them */
    char message[512];
};
void replay_word_encode(const struct replay_word *word, struct strbuf *out); /* with the line break */
/* False: a line of the log. Release what was decoded. */
bool replay_word_decode(const char *line, struct replay_word *ret);
void replay_word_release(struct replay_word *word);
/* Releases *to, which becomes a copy with a reference of its own. */
void replay_word_keep(struct replay_word *to, const struct replay_word *from);

/* "DIR/kube-mysql-replay.000001": a relay log. Beside it ".part", while it is written, and ".segment". */
#define REPLAY_SPOOL_NAME "kube-mysql-replay"
char *replay_batch_path(const char *dir, uint64_t number);

#endif
