/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database_look.h: whether a database is there, asked before one is made.
 *
 * CREATE DATABASE IF NOT EXISTS asks for an exclusive metadata lock on the schema also where the schema is there. It
 * waits for whatever holds a lock in it (a prepared XA transaction, an ALTER TABLE that takes an hour), and whoever
 * comes behind it waits for it: MySQL lets nobody log in with that database meanwhile (seen with MySQL 9.7). The
 * question asks for no lock.
 */
#ifndef KM_AGENT_MYSQL_DATABASE_LOOK_H
#define KM_AGENT_MYSQL_DATABASE_LOOK_H

#include "agent/mysql/session.h"

/* Names are compared as the server does (lower_case_table_names). Errors: those of session_query. */
int database_look(struct session *session, const char *name, bool *ret_there, struct error *err) KM_MUST_CHECK;

#endif
