/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zones.h: the server's tables of time zones, filled from the agent's own zone files.
 *
 * A server knows Europe/Berlin only once mysql.time_zone* hold it; until then it refuses to start with
 * default_time_zone = Europe/Berlin, and CONVERT_TZ answers NULL. Images fill the tables by their own start scripts,
 * which do not run here, and many have no zone files. So the agent brings an archive (images/zoneinfo.sh --archive),
 * which `kube-mysql-agent copy` puts beside the program: ustar, one member for each zone, links for further names of
 * it.
 *
 * Zones are read as RFC 8536 describes: of the first block, of 32-bit times, which the archive's files all have (zic -b
 * fat). It ends in 2037, as TIMESTAMP and CONVERT_TZ do, and nothing before 1970 is asked for either. 600 names, 340
 * zones: some 25,000 rows.
 */
#ifndef KM_AGENT_BOOTSTRAP_ZONES_H
#define KM_AGENT_BOOTSTRAP_ZONES_H

#include "common/base.h"

#include "agent/mysql/session.h"
#include "common/error.h"
#include "common/strbuf.h"

#define ZONES_ARCHIVE_NAME "zoneinfo.tar"
#define ZONES_SQL_MAX ((size_t)(8 * KM_MIB))

/* Pure. An archive as statements, each on a line of its own, which can be repeated; time_zone_name is filled last.
 * ERROR_PROTOCOL: it is damaged. */
int zones_sql(const char *archive, size_t len, struct strbuf *out, struct error *err) KM_MUST_CHECK;

/* The archive beside this program; the caller frees. NULL: there is none. */
char *zones_archive_find(void);
/* Into the folder of another copy of this program; nothing to do where there is none. Blocking. */
int zones_archive_copy(const char *folder, struct error *err) KM_MUST_CHECK;
/* Appends the statements of that archive; nothing without one. Blocking. */
int zones_sql_of_archive(struct strbuf *out, struct error *err) KM_MUST_CHECK;

/* A primary whose tables are empty (its data is older than this, or came otherwise) fills them; replicas get them from
 * it. Blocking. */
int zones_fill(struct session *session, struct error *err) KM_MUST_CHECK;

#endif
