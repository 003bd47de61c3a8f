/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json_note.h"

#include <string.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"

int json_note_write(
    const char *path, const struct json_field *fields, size_t count, const void *record, struct error *err)
{
    _cleanup_(json_decrefp) json_t *object = json_object();

    json_fields_encode(fields, count, record, object);
    _cleanup_(freep) char *text = json_text(object);
    return fs_write_file_atomic(path, text, strlen(text), 0600, err);
}

int json_note_read(const char *path, size_t max, const struct json_field *fields, size_t count,
    struct position_pool *pool, void *record, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, max);
    if (fs_read_file(path, &text, err) < 0)
        return -1;
    _cleanup_(json_decrefp) json_t *object = json_parse(text.buf, text.len, err);
    if (object && !json_is_object(object))
        return error_set(err, ERROR_PROTOCOL, "%s holds no JSON object", path);
    if (!object || json_fields_decode(fields, count, object, record, err) < 0)
        return -1;
    if (pool)
        json_fields_take(fields, count, pool, record);
    return 0;
}
