/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_segment.h: what is archived of a cluster's binary logs: a chain of segments, each some whole transactions of
 * one primary. Pure.
 *
 *   FOLDER/EEEEEEEEEE-SSSSSSSSSS-20261121T204512Z.log     packed (backup_pack.h): one binary log as binlog_tail.h gives
 *                                                         it (`relay`), whole transactions only
 *   FOLDER/EEEEEEEEEE-SSSSSSSSSS-20261121T204512Z.json    written after it, removed before it: makes the segment exist
 *
 * FOLDER is NAMESPACE/CLUSTER/binlogs/UID below the destination's prefix; UID is the MysqlCluster's: a cluster of the
 * same name that is made anew begins another chain. E is the epoch of the primary that wrote it, S counts from 1 in
 * each epoch, the time is when it was archived (UTC), all fixed in width: names sort in the order of the chain.
 *
 * The chain. `after` is what had been executed before a segment's first transaction, `until` what is with its last one.
 * Within an epoch each segment begins where the one before it ends: same GTIDs, and its `previous` is the SHA-256 of
 * that one's .json as stored. The first segment of an epoch has `previous` ""; it begins where the archive ended, or
 * earlier: a primary's log may have held transactions at its end that nobody had acknowledged, and that the next
 * primary never had. So what a chain says is: of each epoch everything up to the `after` of the next epoch's first
 * segment. A segment that begins where nothing ends is the other side of a gap (`gap`): no restore goes over it.
 * (Within an epoch it has a `previous`, too.) The first one of a folder begins where its server's logs do, and is no
 * gap.
 *
 * Two writers of one epoch (an agent that was restarted while its child went on) make the same sequence number twice,
 * with different times: the one that a successor names in `previous` counts, else, at the end of an epoch, the one that
 * goes further (`until`).
 *
 * A sealed segment carries a mac as a backup's manifest does, and its own salt: its log is sealed with a key of its
 * own.
 */
#ifndef KM_COMMON_BINLOG_SEGMENT_H
#define KM_COMMON_BINLOG_SEGMENT_H

#include "common/base.h"

#include "common/backup_manifest.h"
#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

#define BINLOG_SEGMENT_FORMAT 1
/* Two positions, and the rest. Earlier versions refuse more than 16 KiB. */
#define BINLOG_SEGMENT_META_MAX (2 * POSITION_TEXT_MAX + (size_t)(16 * KM_KIB))
#define BINLOG_SEGMENT_POSITIONS_MAX (2 * POSITION_TEXT_MAX)
/* Raw bytes of transactions in one segment, but for a single transaction that is larger. */
#define BINLOG_SEGMENT_BYTES ((uint64_t)(64 * KM_MIB))
#define BINLOG_SEGMENT_NAME_SIZE 64

struct binlog_segment_name {
    uint64_t epoch, sequence; /* sequence from 1 */
    int64_t archived_ms;      /* whole seconds */
};
/* Without the ending. */
void binlog_segment_name_print(const struct binlog_segment_name *name, char out[static BINLOG_SEGMENT_NAME_SIZE]);
/* text: the last part of an object's name, with its ending. False: it is no segment's .json (is_meta) or .log. */
bool binlog_segment_name_parse(const char *text, struct binlog_segment_name *ret, bool *ret_is_meta);
/* <0, 0, >0 as strcmp: epoch, sequence, time. */
int binlog_segment_name_compare(const struct binlog_segment_name *a, const struct binlog_segment_name *b);
/* Same epoch and sequence. */
bool binlog_segment_name_same_place(const struct binlog_segment_name *a, const struct binlog_segment_name *b);
/* "NAMESPACE/CLUSTER/binlogs/UID". */
void binlog_folder_of(const char *ns, const char *cluster, const char *uid, struct strbuf *out);

struct binlog_segment {
    struct binlog_segment_name name; /* in the document, too: it must be the object's */
    /* The first segment of the chain up to this one in which nothing is missing and that one key opens; so an archive's
     * newest segment tells where it begins, unless retention has removed that. sequence 0: it does not say. */
    struct binlog_segment_name chain;
    char ns[64], cluster[64], cluster_uid[64];
    char writer[64]; /* the member */
    char flavour[16], server_version[64];
    const char *after, *until;
    char previous[65];         /* SHA-256 of the .json before it in this epoch; "" the epoch's first */
    bool gap;                  /* what is between the archive and `after` was in no binary log any more */
    int64_t first_ms, last_ms; /* when its first and last transaction were committed, by their events (whole seconds) */
    uint64_t count;            /* transactions */
    uint64_t raw_bytes, stored_bytes; /* of the log, before and after packing */
    char sha256[65];                  /* of the .log object */
    enum backup_compression compression;
    bool sealed;
    char key_id[17];
    unsigned char salt[BACKUP_SALT_BYTES];
};

/* user_key: of a sealed one; else NULL. */
void binlog_segment_encode(
    const struct binlog_segment *segment, const unsigned char user_key[BACKUP_KEY_BYTES], struct strbuf *out);
/* Errors as backup_manifest_decode: everything that one document can show by itself is checked, GTIDs included
 * (`until` holds more than `after`). Owns nothing: positions are taken into the pool. */
int binlog_segment_decode(const char *text, size_t len, const unsigned char user_key[BACKUP_KEY_BYTES],
    struct position_pool *positions, struct binlog_segment *ret, struct error *err) KM_MUST_CHECK;

#endif
