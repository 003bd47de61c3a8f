/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h: every maximum of both processes, each with its reason. A peer can make a request fail; it can
 * never make us grow (invariant I12).
 */
#ifndef KM_COMMON_LIMITS_H
#define KM_COMMON_LIMITS_H

#define KM_KIB 1024L
#define KM_MIB (1024L * 1024L)

/* error.h: one line for people; longer server texts are cut with an ellipsis. */
#define ERROR_MESSAGE_MAX 512

/* log.h: one record; the kernel writes up to PIPE_BUF (4096) bytes of a pipe atomically. */
#define LOG_RECORD_MAX 4096

/* fs.h: the largest file we read whole: kubeconfig, certificates, tokens. */
#define FS_READ_MAX (1 * KM_MIB)
#define FS_NOTE_MAX 512 /* one sector */

/* json.h: nesting depth that we follow; Kubernetes objects stay under 40. */
#define JSON_DEPTH_MAX 128

/* kube: etcd's own request limit is 1.5 MiB, so no single object is larger. */
#define KUBE_OBJECT_MAX (2 * KM_MIB)
/* kube: error bodies are metav1.Status; what is beyond is not needed to report the failure. */
#define KUBE_ERROR_BODY_MAX (64 * KM_KIB)
/* kube: page size of a list: bounds what the server holds for us and what we lose when a page fails. */
#define KUBE_LIST_PAGE 500
/* kube: requests in flight; further ones wait in a queue of KUBE_QUEUE_MAX. */
#define KUBE_INFLIGHT_MAX 64
#define KUBE_QUEUE_MAX 65536

/* kube: names. RFC 1123 subdomain and label, as metadata.name and label values demand. */
#define KUBE_NAME_MAX 253
#define KUBE_LABEL_MAX 63
#define KUBE_KEY_MAX (KUBE_NAME_MAX + 1 + KUBE_LABEL_MAX + 1)

/* http_client: response header block; nginx and Go use 8 KiB to 1 MiB. */
#define HTTP_HEADERS_MAX (64 * KM_KIB)
/* http_client: a response body gathered in memory unless the request names its own maximum. */
#define HTTP_BODY_MAX (4 * KM_MIB)

/* http_server: the agent's doors take small requests from few peers. */
#define HTTP_SERVER_CONNECTIONS_MAX 128
#define HTTP_SERVER_HEADERS_MAX (8 * KM_KIB)
#define HTTP_SERVER_BODY_MAX (256 * KM_KIB)
/* http_server: of bodies that are larger than a piece, so many at a time; the others are told to come again (503). */
#define HTTP_SERVER_PIECE_MAX (64 * KM_KIB)
#define HTTP_SERVER_LARGE_BODIES_MAX 8
#define HTTP_SERVER_IDLE_TIMEOUT_MS 30000
/* http_server: unsent bytes of one streaming response before its producer must pause; one larger piece goes alone. */
#define HTTP_SERVER_STREAM_BUFFER_MAX (256 * KM_KIB)

/* worker: jobs waiting for one thread; more is a bug of the caller and refused. */
#define WORKER_QUEUE_MAX 64

/* subprocess: what is kept of a tool's standard error (the tail, where the reason stands). */
#define SUBPROCESS_STDERR_MAX (16 * KM_KIB)

/* agent_api: one status document; three positions of POSITION_TEXT_MAX are three quarters of it. */
#define AGENT_STATUS_MAX (256 * KM_KIB)

#endif
