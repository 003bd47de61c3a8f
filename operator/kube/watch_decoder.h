/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_decoder.h: the bytes of a watch, one event at a time.
 *
 * A watch answers with JSON documents, one per line: {"type":"ADDED","object":{...}}. Fed with arbitrary chunks; a line
 * longer than KUBE_OBJECT_MAX fails the watch. Pure.
 */
#ifndef KM_WATCH_DECODER_H
#define KM_WATCH_DECODER_H

#include "common/base.h"

#include "common/error.h"
#include "common/json_scan.h"

enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };

struct watch_decoder;
/* object is valid during the call. For WATCH_ERROR it is a metav1.Status. Return -1 to stop. */
typedef int (*watch_event_fn)(void *arg, enum watch_event_type type, struct json_slice object, struct error *err);

struct watch_decoder *watch_decoder_new(watch_event_fn event, void *arg);
void watch_decoder_free(struct watch_decoder *decoder);
int watch_decoder_feed(struct watch_decoder *decoder, const char *data, size_t len, struct error *err) KM_MUST_CHECK;
/* The stream ended; -1 (PROTOCOL) when it ended inside an event. */
int watch_decoder_finish(struct watch_decoder *decoder, struct error *err) KM_MUST_CHECK;

#endif
