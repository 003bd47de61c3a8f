/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_process.h: `kube-mysql-agent check-data`: the child of a check_keeper. Standard input is a task
 * (common/check_task.h); standard output gets reports of it, each a line of JSON: how far it is, at most one a second,
 * and at last the result. Whoever started it kills it; nothing is left behind.
 */
#ifndef KM_AGENT_CHECK_PROCESS_H
#define KM_AGENT_CHECK_PROCESS_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/check_task.h"
#include "common/error.h"

#define CHECK_LINE_MAX ((size_t)(16 * KM_KIB))

/* -1: the check did not pass, as was said, or could not be begun. Blocking. */
int check_process_run(const struct agent_paths *paths, struct error *err);

#endif
