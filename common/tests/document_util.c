/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/document_util.h"

#include "common/alloc.h"
#include "common/json.h"

void document_with(const struct strbuf *text, const char *key, json_t *value, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(text->buf, text->len, NULL);

    if (value)
        json_object_set_new(document, key, value);
    else
        json_object_del(document, key);
    json_canonical(document, out);
}

json_t *document_long_text(size_t len)
{
    _cleanup_(freep) char *text = xmalloc(len);

    memset(text, '1', len);
    return json_stringn(text, len);
}

void document_servers(int count, int last, struct strbuf *out)
{
    for (int i = 0; i < count; i++)
        strbuf_addf(out, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-%d", i ? "," : "", i, last);
}
