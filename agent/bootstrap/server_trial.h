/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_trial.h: starts the image's server for real, to see whether it starts: without network, on scratch data that
 * is made with the cluster's own initial settings, and it has to answer a query.
 *
 * For the check pod, whose volume is empty and its own. What a look at the options cannot find ends here: a time zone
 * that is not known, a folder that is not there, a plugin that the image lacks, values that do not go together.
 */
#ifndef KM_AGENT_BOOTSTRAP_SERVER_TRIAL_H
#define KM_AGENT_BOOTSTRAP_SERVER_TRIAL_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/server_binary.h"
#include "common/error.h"
#include "common/strbuf.h"

/* Blocking: seconds to minutes; ends with ERROR_TIMEOUT once the server neither says nor writes anything any more
 * (data_growth.h). paths->run_mycnf and the init-file are those of a member; run_mycnf is changed as trial_mycnf.h
 * says, and what that cuts is appended to `cut`; to `adjusted`, if it is empty, what mycnf_check_adjusted finds.
 * ERROR_INVALID: it was started and ended by itself. What it said stands behind the options of the cluster's my.cnf
 * that are named there, or behind AGENT_CHECK_START. */
int server_trial(const struct agent_paths *paths, const struct server_binary *binary, const char *user,
    struct strbuf *cut, struct strbuf *adjusted, struct error *err) KM_MUST_CHECK;

#endif
