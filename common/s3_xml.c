/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/s3_xml.h"

#include "common/strbuf.h"

#define PATH_SIZE 256

struct walk {
    const char *p;
    const char *end;
    char path[PATH_SIZE];
    size_t path_len;
    size_t starts[S3_XML_DEPTH_MAX]; /* where in the path each open element begins */
    unsigned depth;
    bool root_seen;
    struct strbuf text;
    const struct s3_xml_ops *ops;
    void *arg;
    struct error *err;
};

static int broken(struct walk *w, const char *why)
{
    return error_set(w->err, ERROR_PROTOCOL, "not an XML answer: %s", why);
}

static bool at(const struct walk *w, const char *what)
{
    const size_t len = strlen(what);
    return (size_t)(w->end - w->p) >= len && memcmp(w->p, what, len) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-.:", c));
}

/* ---- text ---- */

static int put_text(struct walk *w, const char *data, size_t len)
{
    if (w->depth == 0) {
        for (size_t i = 0; i < len; i++)
            if (!is_blank(data[i]))
                return broken(w, "text outside of the document");
        return 0;
    }
    if (memchr(data, '\0', len))
        return broken(w, "a NUL byte");
    strbuf_add(&w->text, data, len);
    return w->text.overflowed ? broken(w, "a text that is too long") : 0;
}

static int put_code_point(struct walk *w, uint32_t c)
{
    char out[4];
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return broken(w, "an impossible character reference");
    if (c < 0x80) {
        out[0] = (char)c;
        return put_text(w, out, 1);
    }
    const size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(marks[len] | c);
    return put_text(w, out, len);
}

static int numeric_reference(struct walk *w, const char *digits, size_t len)
{
    const bool hex = len > 0 && *digits == 'x';
    const uint32_t base = hex ? 16 : 10;
    uint32_t value = 0;
    if (len == (hex ? 1 : 0) || len > 9)
        return broken(w, "a bad character reference");
    for (size_t i = hex ? 1 : 0; i < len; i++) {
        const char c = digits[i];
        uint32_t digit = 99;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            digit = (uint32_t)((c | 0x20) - 'a') + 10;
        if (digit >= base || value > 0x10ffff)
            return broken(w, "a bad character reference");
        value = value * base + digit;
    }
    return put_code_point(w, value);
}

static const struct {
    const char *name;
    char value;
} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};

/* At '&'. */
static int walk_reference(struct walk *w)
{
    const char *name = w->p + 1;
    const size_t room = MIN_OF((size_t)(w->end - name), (size_t)12);
    const char *stop = memchr(name, ';', room);
    if (!stop)
        return broken(w, "a reference without an end");
    const size_t len = (size_t)(stop - name);
    w->p = stop + 1;
    if (len > 0 && *name == '#')
        return numeric_reference(w, name + 1, len - 1);
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (strlen(entities[i].name) == len && memcmp(entities[i].name, name, len) == 0)
            return put_text(w, &entities[i].value, 1);
    return broken(w, "an unknown entity");
}

static int walk_text(struct walk *w)
{
    if (*w->p == '&')
        return walk_reference(w);
    const char *start = w->p;
    while (w->p < w->end && *w->p != '<' && *w->p != '&')
        w->p++;
    return put_text(w, start, (size_t)(w->p - start));
}

/* ---- tags ---- */

/* Past `mark`, which lies at or behind p + skip. */
static int skip_to(struct walk *w, size_t skip, const char *mark, const char **ret_start)
{
    const char *start = w->p + skip;
    const char *found = memmem(start, (size_t)(w->end - start), mark, strlen(mark));
    if (!found)
        return broken(w, "it is cut off");
    if (ret_start)
        *ret_start = start;
    w->p = found + strlen(mark);
    return 0;
}

static int walk_declaration(struct walk *w)
{
    const char *start = NULL;
    if (at(w, "<?"))
        return skip_to(w, 2, "?>", NULL);
    if (at(w, "<!--"))
        return skip_to(w, 4, "-->", NULL);
    if (!at(w, "<![CDATA["))
        return broken(w, "a DOCTYPE");
    if (skip_to(w, strlen("<![CDATA["), "]]>", &start) < 0)
        return -1;
    return put_text(w, start, (size_t)(w->p - strlen("]]>") - start));
}

/* At the first character of a name; without its namespace's prefix. */
static int walk_name(struct walk *w, const char **ret_name, size_t *ret_len)
{
    const char *start = w->p;
    const char *local = start;
    for (; w->p < w->end && is_name_char(*w->p); w->p++)
        if (*w->p == ':')
            local = w->p + 1;
    *ret_name = local;
    *ret_len = (size_t)(w->p - local);
    return *ret_len > 0 ? 0 : broken(w, "a tag without a name");
}

static int push_element(struct walk *w, const char *name, size_t len)
{
    if (w->depth == S3_XML_DEPTH_MAX || w->path_len + len + 2 > sizeof(w->path))
        return broken(w, "it is nested too deep");
    if (w->depth == 0 && w->root_seen)
        return broken(w, "more than one document");
    w->root_seen = true;
    w->starts[w->depth++] = w->path_len;
    if (w->path_len > 0)
        w->path[w->path_len++] = '/';
    memcpy(w->path + w->path_len, name, len);
    w->path_len += len;
    w->path[w->path_len] = '\0';
    strbuf_reset(&w->text);
    if (w->ops && w->ops->open)
        w->ops->open(w->arg, w->path);
    return 0;
}

static void pop_element(struct walk *w)
{
    if (w->ops)
        w->ops->close(w->arg, w->path, w->text.buf);
    strbuf_reset(&w->text);
    w->path_len = w->starts[--w->depth];
    w->path[w->path_len] = '\0';
}

/* Attributes, up to and with '>'. */
static int skip_attributes(struct walk *w, bool *ret_empty)
{
    char quote = '\0';
    bool slash = false;
    for (; w->p < w->end; w->p++) {
        if (quote) {
            quote = *w->p == quote ? '\0' : quote;
        } else if (*w->p == '>') {
            w->p++;
            *ret_empty = slash;
            return 0;
        } else if (*w->p == '"' || *w->p == '\'') {
            quote = *w->p;
        } else if (*w->p == '<') {
            return broken(w, "a tag inside of a tag");
        }
        slash = !quote && *w->p == '/';
    }
    return broken(w, "it is cut off");
}

static int walk_open(struct walk *w)
{
    const char *name;
    size_t len;
    bool empty = false;
    w->p++;
    if (walk_name(w, &name, &len) < 0 || skip_attributes(w, &empty) < 0 || push_element(w, name, len) < 0)
        return -1;
    if (empty)
        pop_element(w);
    return 0;
}

static int walk_close(struct walk *w)
{
    const char *name;
    size_t len;
    w->p += 2;
    if (walk_name(w, &name, &len) < 0)
        return -1;
    while (w->p < w->end && is_blank(*w->p))
        w->p++;
    if (w->p == w->end || *w->p != '>')
        return broken(w, "it is cut off");
    w->p++;
    if (w->depth == 0)
        return broken(w, "an end without a beginning");
    const char *open = w->path + w->starts[w->depth - 1];
    open += *open == '/';
    if (strlen(open) != len || memcmp(open, name, len) != 0)
        return broken(w, "tags that do not match");
    pop_element(w);
    return 0;
}

static int walk_step(struct walk *w)
{
    if (*w->p != '<')
        return walk_text(w);
    if (at(w, "</"))
        return walk_close(w);
    if (at(w, "<?") || at(w, "<!"))
        return walk_declaration(w);
    return walk_open(w);
}

int s3_xml_walk(const char *text, size_t len, const struct s3_xml_ops *ops, void *arg, struct error *err)
{
    struct walk w = {.p = text, .end = text + len, .ops = ops, .arg = arg, .err = err};
    int rc = 0;
    strbuf_init(&w.text, S3_XML_TEXT_MAX);
    while (rc == 0 && w.p < w.end)
        rc = walk_step(&w);
    if (rc == 0 && (w.depth > 0 || !w.root_seen))
        rc = broken(&w, w.root_seen ? "it is cut off" : "it is empty");
    strbuf_release(&w.text);
    return rc;
}
