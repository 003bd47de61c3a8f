/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_log.h: the last lines of a server's log, as people want to read them in a status: pure.
 *
 * Kubernetes keeps the end of a container's log as its last words (terminationMessagePolicy FallbackToLogsOnError: 2048
 * bytes or 80 lines). MariaDB and MySQL write one event a line, "TIME THREAD [Note|Warning|System|ERROR] ...".
 */
#ifndef KM_SERVER_LOG_H
#define KM_SERVER_LOG_H

#include "common/base.h"

/* In place. With lines of kind ERROR: what these say, joined by "; ", without their times, and without that of giving
 * up ("Aborting"), which follows every one of them. Else the lines that are of no kind. A text without any of these
 * marks stays as it is. */
void server_log_errors(char *text);

#endif
