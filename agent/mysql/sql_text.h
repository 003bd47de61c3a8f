/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_text.h: names and strings in SQL text.
 *
 * Sessions of the agent run with utf8mb4 and an sql_mode without NO_BACKSLASH_ESCAPES and ANSI_QUOTES (session.h), so
 * the rules here are the server's: https://dev.mysql.com/doc/refman/8.0/en/string-literals.html. Pure.
 */
#ifndef KM_AGENT_MYSQL_SQL_TEXT_H
#define KM_AGENT_MYSQL_SQL_TEXT_H

#include "common/base.h"

#include "common/strbuf.h"

/* 'text' with quotes, backslashes and control characters escaped. */
void sql_add_string(struct strbuf *out, const char *text);
/* `name` with backticks doubled. */
void sql_add_identifier(struct strbuf *out, const char *name);
/* `name` as the database of a GRANT, where _ and % are wildcards unless the server runs with partial_revokes. */
void sql_add_grant_database(struct strbuf *out, const char *name, bool partial_revokes);
/* 'user'@'host' */
void sql_add_account(struct strbuf *out, const char *user, const char *host);
/* What mysql_native_password stores: '*' and SHA1(SHA1(password)) in upper-case hex. */
#define SQL_NATIVE_HASH_SIZE 42
void sql_native_password_hash(const char *password, char out[static SQL_NATIVE_HASH_SIZE]);

#endif
