/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replication_writer.h: a client that inserts one row after another, into whichever member takes it, and remembers
 * which were acknowledged and when. A process of its own.
 */
#ifndef KM_AGENT_TESTS_REPLICATION_WRITER_H
#define KM_AGENT_TESTS_REPLICATION_WRITER_H

#include "common/base.h"

#include "agent/tests/replication_rig.h"

struct writer;

/* table: with a column id BIGINT PRIMARY KEY; ids from 0 on. */
struct writer *writer_start(struct replication_rig *rig, const char *table);
/* Into one member, whatever it says, as this account. */
struct writer *writer_start_at(
    struct replication_rig *rig, unsigned member, const char *user, const char *password, const char *table);
void writer_stop(struct writer *writer);
void writer_free(struct writer *writer);

uint64_t writer_acknowledged(const struct writer *writer);
/* Counts the acknowledged rows that are there. */
void writer_check_sql(const struct writer *writer, const char *table, struct strbuf *out);
/* Acknowledged rows that are not among ids, a line each: to standard output, with the time of the acknowledgement after
 * since_us. */
void writer_print_missing(const struct writer *writer, const char *table, const char *ids, int64_t since_us);
/* Of the `count` longest gaps between two acknowledged writes, the percentile. */
int64_t writer_gap_ms(const struct writer *writer, unsigned count, unsigned percentile);

#endif
