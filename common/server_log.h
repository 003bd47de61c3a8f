/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_log.h: why a server ended, by the last lines of its log: pure.
 *
 * MariaDB and MySQL write one event a line, "TIME THREAD [Note|Warning|System|ERROR] ...". The first error is the
 * cause, those after it mostly follow from it: a storage engine that does not come up, a dictionary that cannot be read
 * without it, "Aborting". What stands before the server's last start, or before it was ready, is not why it ended. A
 * server that crashes prints pages of unmarked text, of which the signal tells.
 */
#ifndef KM_SERVER_LOG_H
#define KM_SERVER_LOG_H

#include "common/base.h"

enum server_log_kind {
    SERVER_LOG_UNMARKED,    /* of a tool, of a crash, or cut at its beginning */
    SERVER_LOG_NOTE,        /* nothing that a server ends for: Note, System, Warning, what it prints of itself */
    SERVER_LOG_BEGIN,       /* a note as well: it starts, or is ready */
    SERVER_LOG_ERROR,       /* also a signal that it got */
    SERVER_LOG_CONSEQUENCE, /* an error that follows from another one */
};

enum server_log_kind server_log_kind_of(const char *line);
/* Of an error: what it says, without time, thread and mark. */
const char *server_log_said(const char *line);

/* In place, of the end of a container's log as Kubernetes keeps it (terminationMessagePolicy FallbackToLogsOnError: 2048
 * bytes or 80 lines). What its errors say, the first one first, joined by "; ", without those that follow from them;
 * these alone, if the first one is cut off. Of a crash the signal, or that it was one. Else the lines that are no event
 * of the server's. A text that is none of a server stays as it is. */
void server_log_errors(char *text);

#endif
