/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_check.h: CHECK TABLE over every table that people made: those of all schemas but the server's own; views have
 * no data. Blocking, read-only as far as tables are whole.
 *
 * Names are read in pages, in the order of their bytes, so memory does not grow with their number. The first damaged
 * table ends it: a server may stop at such a table, and then its name is what people need. Engines that cannot check a
 * table say so by a note, which is no damage. What CHECK TABLE says: a row of Msg_type "status" with OK (or "Table is
 * already up to date") is good; one of type "error", or with another status, is damage; notes and warnings are words
 * (MySQL 8.0 and MariaDB 10.11 manuals, CHECK TABLE).
 */
#ifndef KM_AGENT_MYSQL_TABLE_CHECK_H
#define KM_AGENT_MYSQL_TABLE_CHECK_H

#include "common/base.h"

#include "agent/mysql/session.h"
#include "common/error.h"

#define TABLE_NAME_SIZE 200 /* 64 characters of up to three bytes */
#define TABLE_CHECK_PAGE 100

struct table_check {
    uint64_t tables; /* that are whole */
    /* The one that is looked at, or where it ended. */
    char schema[TABLE_NAME_SIZE], table[TABLE_NAME_SIZE];
    /* Before each table; may be NULL. */
    void (*progress)(void *arg, const struct table_check *check);
    void *arg;
};

/* 0: all are whole. -1: ERROR_INVALID: the table named in *check is damaged, with the server's words; others: it could
 * not be found out. */
int table_check_run(struct session *session, struct table_check *check, struct error *err) KM_MUST_CHECK;

/* Pure: one row of CHECK TABLE. Whether it tells of damage. */
bool table_check_is_damage(const char *type, const char *text);

#endif
