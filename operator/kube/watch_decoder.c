/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/watch_decoder.h"

#include "common/alloc.h"
#include "common/strbuf.h"

/* What a quiet watch may keep allocated: larger buffers are given back after the event that needed them. */
#define KEEP_BUFFER_BYTES (4 * KM_KIB)
/* {"type":"MODIFIED","object":...} around the object. */
#define ENVELOPE_BYTES KM_KIB

struct watch_decoder {
    watch_event_fn event;
    void *arg;
    struct strbuf partial; /* the begin of a line whose end has not come yet */
};

static const char *const type_names[] = {
    [WATCH_ADDED] = "ADDED",
    [WATCH_MODIFIED] = "MODIFIED",
    [WATCH_DELETED] = "DELETED",
    [WATCH_BOOKMARK] = "BOOKMARK",
    [WATCH_ERROR] = "ERROR",
};

struct watch_decoder *watch_decoder_new(watch_event_fn event, void *arg)
{
    struct watch_decoder *decoder = xnew(struct watch_decoder);
    decoder->event = event;
    decoder->arg = arg;
    strbuf_init(&decoder->partial, KUBE_OBJECT_MAX + ENVELOPE_BYTES);
    return decoder;
}

void watch_decoder_free(struct watch_decoder *decoder)
{
    if (!decoder)
        return;
    strbuf_release(&decoder->partial);
    free(decoder);
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    }
    return true;
}

static int handle_line(struct watch_decoder *decoder, const char *line, size_t len, struct error *err)
{
    if (is_blank(line, len))
        return 0;
    const char *end = json_skip_value(line, line + len);
    if (!end || !is_blank(end, (size_t)(line + len - end)))
        return error_set(err, ERROR_PROTOCOL, "a watch event is not one JSON document");
    struct json_slice event = {.data = line, .len = (size_t)(end - line)};
    struct json_slice type = json_slice_member(event, "type");
    struct json_slice object = json_slice_member(event, "object");
    if (!object.data || *object.data != '{')
        return error_set(err, ERROR_PROTOCOL, "a watch event without an object");
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
        if (json_slice_str_eq(type, type_names[i]))
            return decoder->event(decoder->arg, (enum watch_event_type)i, object, err);
    }
    return error_set(err, ERROR_PROTOCOL, "a watch event of unknown type %.*s", (int)MIN_OF(type.len, 32U),
        type.data ? type.data : "");
}

static int keep(struct watch_decoder *decoder, const char *data, size_t len, struct error *err)
{
    if (len == 0)
        return 0;
    strbuf_add(&decoder->partial, data, len);
    if (decoder->partial.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "a watch event is larger than %ld bytes", KUBE_OBJECT_MAX);
    return 0;
}

static int handle_kept(struct watch_decoder *decoder, struct error *err)
{
    int rc = handle_line(decoder, decoder->partial.buf, decoder->partial.len, err);
    if (decoder->partial.capacity > KEEP_BUFFER_BYTES)
        strbuf_release(&decoder->partial);
    else
        strbuf_reset(&decoder->partial);
    return rc;
}

int watch_decoder_feed(struct watch_decoder *decoder, const char *data, size_t len, struct error *err)
{
    const char *end = data + len;
    while (data < end) {
        const char *newline = memchr(data, '\n', (size_t)(end - data));
        if (!newline)
            return keep(decoder, data, (size_t)(end - data), err);
        size_t line_len = (size_t)(newline - data);
        if (decoder->partial.len == 0) { /* whole inside this chunk: no copy */
            if (line_len > KUBE_OBJECT_MAX + ENVELOPE_BYTES)
                return error_set(err, ERROR_TOO_LARGE, "a watch event is larger than %ld bytes", KUBE_OBJECT_MAX);
            if (handle_line(decoder, data, line_len, err) < 0)
                return -1;
        } else if (keep(decoder, data, line_len, err) < 0 || handle_kept(decoder, err) < 0) {
            return -1;
        }
        data = newline + 1;
    }
    return 0;
}

int watch_decoder_finish(struct watch_decoder *decoder, struct error *err)
{
    if (is_blank(decoder->partial.buf, decoder->partial.len))
        return 0;
    return error_set(err, ERROR_PROTOCOL, "the watch ended inside an event");
}
