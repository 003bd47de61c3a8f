/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/s3_xml.h"

#include <expat.h>
#include <stdlib.h>

#include "common/strbuf.h"

#define PATH_SIZE 256

struct walk {
    XML_Parser parser;
    char path[PATH_SIZE];
    size_t path_len;
    size_t starts[S3_XML_DEPTH_MAX]; /* where in the path each open element begins */
    unsigned depth;
    const char *refusal; /* ours; NULL: none */
    struct strbuf text;
    const struct s3_xml_ops *ops;
    void *arg;
};

/* The parser hands out nothing more, but for the end of an empty element whose beginning was refused. */
static void refuse(struct walk *w, const char *why)
{
    if (!w->refusal)
        w->refusal = why;
    XML_StopParser(w->parser, XML_FALSE);
}

static const char *without_prefix(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void on_open(void *arg, const XML_Char *full_name, const XML_Char **attributes)
{
    struct walk *w = arg;
    const char *name = without_prefix(full_name);
    size_t len = strlen(name);
    UNUSED(attributes);
    if (w->refusal)
        return;
    if (len == 0) {
        refuse(w, "a tag without a name");
        return;
    }
    if (w->depth == S3_XML_DEPTH_MAX || w->path_len + len + 2 > sizeof(w->path)) {
        refuse(w, "it is nested too deep");
        return;
    }
    w->starts[w->depth++] = w->path_len;
    if (w->path_len > 0)
        w->path[w->path_len++] = '/';
    memcpy(w->path + w->path_len, name, len + 1);
    w->path_len += len;
    strbuf_reset(&w->text);
    if (w->ops && w->ops->open)
        w->ops->open(w->arg, w->path);
}

static void on_close(void *arg, const XML_Char *name)
{
    struct walk *w = arg;
    UNUSED(name);
    if (w->refusal)
        return;
    if (w->ops)
        w->ops->close(w->arg, w->path, w->text.buf);
    strbuf_reset(&w->text);
    w->path_len = w->starts[--w->depth];
    w->path[w->path_len] = '\0';
}

static void on_text(void *arg, const XML_Char *text, int len)
{
    struct walk *w = arg;
    if (w->refusal)
        return;
    strbuf_add(&w->text, text, (size_t)len);
    if (w->text.overflowed)
        refuse(w, "a text that is too long");
}

static void on_doctype(
    void *arg, const XML_Char *name, const XML_Char *system, const XML_Char *public, int has_internal_subset)
{
    UNUSED(name);
    UNUSED(system);
    UNUSED(public);
    UNUSED(has_internal_subset);
    refuse(arg, "a DOCTYPE");
}

/* Amazon sends blanks while it completes an upload, so that the connection lives; an XML declaration behind them is
 * none to a parser. */
static size_t count_blanks(const char *text, size_t len)
{
    size_t count = 0;
    while (count < len && text[count] && strchr(" \t\r\n", text[count]))
        count++;
    return count;
}

int s3_xml_walk(const char *text, size_t len, const struct s3_xml_ops *ops, void *arg, struct error *err)
{
    struct walk w = {.parser = XML_ParserCreate(NULL), .ops = ops, .arg = arg};
    size_t blanks = count_blanks(text, len);
    if (!w.parser)
        abort();
    if (len > INT32_MAX) {
        XML_ParserFree(w.parser);
        return error_set(err, ERROR_TOO_LARGE, "an XML answer of %zu bytes", len);
    }
    strbuf_init(&w.text, S3_XML_TEXT_MAX);
    XML_SetUserData(w.parser, &w);
    XML_SetElementHandler(w.parser, on_open, on_close);
    XML_SetCharacterDataHandler(w.parser, on_text);
    XML_SetStartDoctypeDeclHandler(w.parser, on_doctype);
    int rc = 0;
    if (XML_Parse(w.parser, text + blanks, (int)(len - blanks), XML_TRUE) != XML_STATUS_OK) {
        const char *why = w.refusal ? w.refusal : XML_ErrorString(XML_GetErrorCode(w.parser));
        rc = error_set(err, ERROR_PROTOCOL, "not an XML answer: %s", why);
    }
    strbuf_release(&w.text);
    XML_ParserFree(w.parser);
    return rc;
}
