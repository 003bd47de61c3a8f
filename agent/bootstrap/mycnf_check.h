/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf_check.h: asks the image's own server whether it would take a my.cnf.
 */
#ifndef KM_AGENT_BOOTSTRAP_MYCNF_CHECK_H
#define KM_AGENT_BOOTSTRAP_MYCNF_CHECK_H

#include "common/base.h"

#include "agent/bootstrap/server_binary.h"
#include "common/error.h"

#define MYCNF_CHECK_TIMEOUT_MS 20000

/* Blocking. path: a complete my.cnf, as run_mycnf_compose makes it. ERROR_INVALID when the server refuses it, with the server's own
 * words (they name the key); another kind when it could not be asked. */
int mycnf_check(const struct server_binary *binary, const char *path, struct error *err) KM_MUST_CHECK;

/* Pure. The line of a server's standard error that says what is wrong, without time stamps, or "" if no line does. */
void mycnf_check_reason(const char *server_stderr, char *ret, size_t size);

#endif
