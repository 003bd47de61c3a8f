/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_stream.h: a stored backup arrives: `kube-mysql-agent download` (told by its descriptor 3 what and with which
 * keys, backup_task.h) with its standard output in a kernel pipe to the image's own tool, which unpacks or loads it.
 * Nothing of the data goes through this process. Lives on the loop.
 *
 * Nothing that was unpacked is worth anything before `done` came without an error: download has found every digest, the
 * number of frames and the end right, and the tool has taken all of it (I8).
 */
#ifndef KM_AGENT_BOOTSTRAP_RESTORE_STREAM_H
#define KM_AGENT_BOOTSTRAP_RESTORE_STREAM_H

#include "common/base.h"

#include "agent/bootstrap/restore_check.h"
#include "common/error.h"
#include "common/loop.h"

struct restore_stream;

struct restore_stream_options {
    struct loop *loop;
    const char *const *download; /* argv; copied, as `tool` */
    const char *const *tool;     /* argv: reads the data from its standard input */
    const char *task;            /* encoded; secret, not kept here once the child has it */
    size_t task_len;
    /* Once, from the loop, not after restore_stream_free. The stream is still there to be asked; the owner frees it,
     * not from inside. err: NULL when the tool has taken everything; else whose fault it was. */
    void (*done)(void *arg, const struct error *err, enum restore_place place);
    void *arg;
};

struct restore_stream *restore_stream_start(const struct restore_stream_options *options, struct error *err);
/* Kills both. NULL is fine. */
void restore_stream_free(struct restore_stream *stream);
uint64_t restore_stream_bytes(const struct restore_stream *stream); /* as the tool gets them, by what download says */

#endif
