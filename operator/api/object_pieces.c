/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/object_pieces.h"

#include "common/alloc.h"

void pieces_add(struct pieces *pieces, size_t offset, char *text)
{
    pieces->texts[pieces->count] = text ? text : xstrdup("");
    pieces->offsets[pieces->count++] = offset;
}

void pieces_add_string(struct pieces *pieces, size_t offset, struct json_slice value, size_t max)
{
    char *text = json_slice_strdup(value);
    if (text && strlen(text) > max)
        text[max] = '\0';
    pieces_add(pieces, offset, text);
}

void pieces_add_object(struct pieces *pieces, size_t offset, struct json_slice value)
{
    bool is_object = value.len > 0 && value.data[0] == '{';
    pieces_add(pieces, offset, is_object ? xstrndup(value.data, value.len) : NULL);
}

void *pieces_build(struct pieces *pieces, size_t size, const struct kube_meta *meta)
{
    size_t bytes = 0;
    char *extra;
    for (int i = 0; i < pieces->count; i++)
        bytes += strlen(pieces->texts[i]) + 1;
    struct kube_object *object = kube_object_new(size, meta, bytes, &extra);
    for (int i = 0; i < pieces->count; i++) {
        size_t len = strlen(pieces->texts[i]) + 1;
        memcpy(extra, pieces->texts[i], len);
        *(const char **)(void *)((char *)object + pieces->offsets[i]) = extra;
        extra += len;
        free(pieces->texts[i]);
    }
    return object;
}

const char *pieces_name(const struct kube_object *object)
{
    const char *slash = strchr(object->key, '/');
    return slash ? slash + 1 : object->key;
}
