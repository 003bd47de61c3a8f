/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.h: what a changed my.cnf changes, and whether the running server can take it over by SET GLOBAL.
 *
 * All or nothing: when one variable wants a restart (or is refused), none is changed, those set before it are set back.
 * Whether a variable can be changed is found out by setting it to what it is. Options with the prefix loose_ that the
 * server does not know count as changed.
 */
#ifndef KM_AGENT_MYSQL_VARIABLES_H
#define KM_AGENT_MYSQL_VARIABLES_H

#include "common/base.h"

#include "agent/mysql/session.h"
#include "common/error.h"
#include "common/strvec.h"

#define VARIABLES_MAX 512

struct variable_change {
    char *name;  /* normalised: '_', no loose_ */
    char *value; /* as written; NULL: the option is gone, the server's default counts */
    bool loose;
    bool bare;     /* without "= value" */
    bool repeated; /* given more than once: a list, not a variable */
};
struct variable_changes {
    struct variable_change *v;
    size_t n;
};
void variable_changes_release(struct variable_changes *changes);

/* Pure. Options of [mysqld] sections that differ between two whole files, where the last setting of an option
 * counts. */
int variables_diff(
    const char *old_text, const char *new_text, struct variable_changes *ret, struct error *err) KM_MUST_CHECK;
/* Pure. "SET GLOBAL x = 33554432" for 32M; false: only a restart can. */
struct strbuf;
bool variables_sql(const struct variable_change *change, struct strbuf *out);

/* Adds the names of those that need a restart; nothing is changed. Of a value that the server would refuse that is not
 * known. An error only if the server cannot be asked. */
int variables_preview(struct session *session, const struct variable_changes *changes, struct strvec *needs_restart,
    struct error *err) KM_MUST_CHECK;
/* Names are added to one of the two. An error only if the server cannot be asked. */
int variables_apply(struct session *session, const struct variable_changes *changes, struct strvec *applied,
    struct strvec *needs_restart, struct error *err) KM_MUST_CHECK;

#endif
