/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_stream.h: a donor's copy arrives: GET /v1/backup over mutual TLS, frames checked as they come, their data
 * unpacked by the image's own tool. Lives on the loop.
 *
 * The unpacking tool's pace is the donor's: what its pipe does not take stops the transfer; at most one receive buffer
 * of data waits here. Nothing that was unpacked is worth anything before `done` came without an error: the trailer was
 * good, and the tool has written all of it (I8).
 */
#ifndef KM_AGENT_BOOTSTRAP_CLONE_STREAM_H
#define KM_AGENT_BOOTSTRAP_CLONE_STREAM_H

#include "common/base.h"

#include "agent/bootstrap/server_binary.h"
#include "common/error.h"
#include "common/frame_stream.h"
#include "common/http_client.h"
#include "common/loop.h"

struct clone_stream;

struct clone_stream_options {
    struct loop *loop;
    struct http_tls *tls;                /* a reference is taken */
    const char *donor_host;              /* copied, as the rest */
    uint32_t donor_port;                 /* its agent's TLS door */
    const char *const *argv;             /* reads the data from its standard input */
    const struct server_version *server; /* what the copy must fit */
    enum stream_method method;           /* what argv reads: XBSTREAM or SQL; asked for by ?method= */
    bool takes_statements; /* XBSTREAM: the donor may answer AGENT_COPY_BY_STATEMENTS, which is the error's code then */
    /* The header is known. 0: go on; 1: wait for clone_stream_continue; -1: end with *err. */
    int (*header)(void *arg, const struct stream_header *header, struct error *err);
    /* Once; not after clone_stream_free. The stream is still there to be asked and freed. */
    void (*done)(void *arg, const struct stream_trailer *trailer, const struct error *err);
    void *arg;
};

struct clone_stream *clone_stream_start(const struct clone_stream_options *options);
void clone_stream_continue(struct clone_stream *stream);
/* Ends transfer and tool. NULL is fine. */
void clone_stream_free(struct clone_stream *stream);
uint64_t clone_stream_bytes(const struct clone_stream *stream); /* of data, so far */

/* Pure: same family and series, or the copy could not be made ready by this image's tools, and in the way that was
 * asked for. */
int clone_stream_check_header(const struct stream_header *header, const struct server_version *server,
    enum stream_method method, struct error *err) KM_MUST_CHECK;

#endif
