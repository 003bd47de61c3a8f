/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf_check.h: asks the image's own server whether it would take a my.cnf.
 */
#ifndef KM_AGENT_BOOTSTRAP_MYCNF_CHECK_H
#define KM_AGENT_BOOTSTRAP_MYCNF_CHECK_H

#include "common/base.h"

#include "agent/bootstrap/server_binary.h"
#include "common/error.h"
#include "common/strbuf.h"

#define MYCNF_CHECK_TIMEOUT_MS 20000
/* MySQL ends with the first option that it does not take: it is asked again without that, so often and so long at
 * most. */
#define MYCNF_CHECK_ROUNDS_MAX 24
#define MYCNF_CHECK_ROUNDS_MS 10000

/* Blocking. path: a complete my.cnf, as run_mycnf_compose makes it; a file beside it is made and removed.
 * ERROR_INVALID when the server refuses it, with the server's error messages, which name each key that is at fault;
 * another kind when it could not be asked. adjusted (may be NULL) gets what mycnf_check_adjusted finds. */
int mycnf_check(
    const struct server_binary *binary, const char *path, struct strbuf *adjusted, struct error *err) KM_MUST_CHECK;

/* Pure. Appends to `rest` the my.cnf without the options that a reason of mycnf_check_reason names. Where it names
 * but the value ("Unknown character set: 'utf8'"), "(character_set_server = utf8)" is appended to the reason. False
 * if it names no option. */
bool mycnf_check_without(const char *mycnf, char *reason, size_t size, struct strbuf *rest);

/* Pure. Appends those warnings of a server's standard error that say that it takes another value than the one that is
 * given, in its words: "option 'max_allowed_packet': unsigned value 5368709120 adjusted to 1073741824". */
void mycnf_check_adjusted(const char *server_stderr, struct strbuf *out);

/* Pure. The line of a server's standard error that says what is wrong, without time stamps, or "" if no line does. */
void mycnf_check_reason(const char *server_stderr, char *ret, size_t size);

#endif
