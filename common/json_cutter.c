/* SPDX-License-Identifier: Apache-2.0 */
/* The incremental half of json_scan.h. */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json_scan.h"
#include "common/json_value_scan.h"

enum cutter_state {
    CUT_ROOT,          /* wants { */
    CUT_FIRST_KEY,     /* wants a key or } */
    CUT_KEY,           /* wants a key */
    CUT_COLON,         /* wants : */
    CUT_VALUE,         /* wants a value */
    CUT_AFTER_VALUE,   /* wants , or } */
    CUT_FIRST_ELEMENT, /* wants an element or ] */
    CUT_ELEMENT,       /* wants an element */
    CUT_AFTER_ELEMENT, /* wants , or ] */
    CUT_DONE,          /* wants nothing but white space */
    CUT_IN_KEY,        /* from here on: inside a value that json_value_scan follows */
    CUT_IN_VALUE,
    CUT_IN_ELEMENT,
};

/* Top-level keys of API objects are a dozen bytes; with quotes. */
enum { CUT_KEY_MAX = 1024 };

struct json_cutter {
    struct json_cutter_ops ops;
    void *arg;
    char *array_key;
    size_t max_element;
    enum cutter_state state;
    struct json_value_scan scan;
    bool wanted;        /* the value being scanned will be handed on */
    struct strbuf text; /* the part of it that came with earlier chunks */
    struct strbuf key;  /* of the current member */
    uint64_t offset;    /* of the current chunk in the document */
    bool failed;
    struct error failure;
};

struct json_cutter *json_cutter_new(
    const char *array_key, size_t max_element, const struct json_cutter_ops *ops, void *arg)
{
    struct json_cutter *cutter = xnew(struct json_cutter);
    cutter->ops = *ops;
    cutter->arg = arg;
    cutter->array_key = xstrdup(array_key);
    cutter->max_element = max_element;
    strbuf_init(&cutter->text, MAX_OF(max_element, (size_t)CUT_KEY_MAX));
    strbuf_init(&cutter->key, CUT_KEY_MAX);
    return cutter;
}

void json_cutter_free(struct json_cutter *cutter)
{
    if (!cutter)
        return;
    strbuf_release(&cutter->text);
    strbuf_release(&cutter->key);
    free(cutter->array_key);
    free(cutter);
}

static int report_failure(struct json_cutter *cutter, struct error *err)
{
    cutter->failed = true;
    if (err)
        *err = cutter->failure;
    return -1;
}

static int too_large(struct json_cutter *cutter, size_t max)
{
    return error_set(&cutter->failure, ERROR_TOO_LARGE, "JSON: a part of the document is larger than %zu bytes", max);
}

static bool is_array_member(const struct json_cutter *cutter)
{
    return cutter->key.len == strlen(cutter->array_key) &&
        memcmp(cutter->key.buf, cutter->array_key, cutter->key.len) == 0;
}

static int key_done(struct json_cutter *cutter, struct json_slice quoted)
{
    strbuf_reset(&cutter->key);
    strbuf_add(&cutter->key, quoted.data + 1, quoted.len - 2);
    cutter->state = CUT_COLON;
    return 0;
}

static int value_done(struct json_cutter *cutter, struct json_slice value)
{
    struct json_slice key = {.data = cutter->key.buf, .len = cutter->key.len};
    cutter->state = CUT_AFTER_VALUE;
    return cutter->wanted ? cutter->ops.member(cutter->arg, key, value, &cutter->failure) : 0;
}

/* The scanned value is complete. */
static int deliver(struct json_cutter *cutter, struct json_slice value)
{
    switch (cutter->state) {
    case CUT_IN_KEY:
        return key_done(cutter, value);
    case CUT_IN_VALUE:
        return value_done(cutter, value);
    default:
        cutter->state = CUT_AFTER_ELEMENT;
        return cutter->ops.element(cutter->arg, value, &cutter->failure);
    }
}

/* Scans on in the current value. Only a value that spans chunks is copied. */
static int scan_on(struct json_cutter *cutter, const char **p, const char *end)
{
    const char *start = *p;
    const char *stop = json_value_scan_run(&cutter->scan, start, end);
    *p = stop ? stop : end;
    struct json_slice value = {.data = start, .len = (size_t)(*p - start)};
    if (cutter->wanted && (!stop || cutter->text.len > 0)) {
        strbuf_add(&cutter->text, value.data, value.len);
        value = (struct json_slice){.data = cutter->text.buf, .len = cutter->text.len};
    }
    size_t max = cutter->state == CUT_IN_KEY ? CUT_KEY_MAX : cutter->max_element;
    if (cutter->wanted && (cutter->text.overflowed || value.len > max))
        return too_large(cutter, max);
    if (!stop)
        return 0;
    int rc = deliver(cutter, value);
    strbuf_reset(&cutter->text);
    return rc;
}

/* A value begins with c; it is not consumed. */
static bool begin_value(struct json_cutter *cutter, char c, enum cutter_state inside, bool wanted)
{
    cutter->state = inside;
    cutter->wanted = wanted;
    return json_value_scan_begin(&cutter->scan, c);
}

/* Consumes pair[0] (then `next`) or pair[1] (then `closed`). */
static bool punctuation(
    struct json_cutter *cutter, const char **p, const char *pair, enum cutter_state next, enum cutter_state closed)
{
    char c = *(*p)++;
    if (c != pair[0] && c != pair[1])
        return false;
    cutter->state = c == pair[0] ? next : closed;
    return true;
}

static bool key_begins(struct json_cutter *cutter, const char **p)
{
    if (**p == '}' && cutter->state == CUT_FIRST_KEY)
        return punctuation(cutter, p, "}", CUT_DONE, CUT_DONE);
    return **p == '"' && begin_value(cutter, **p, CUT_IN_KEY, true);
}

static bool member_begins(struct json_cutter *cutter, const char **p)
{
    if (!is_array_member(cutter))
        return begin_value(cutter, **p, CUT_IN_VALUE, cutter->ops.member != NULL);
    if (**p == '[')
        return punctuation(cutter, p, "[", CUT_FIRST_ELEMENT, CUT_FIRST_ELEMENT);
    return **p == 'n' && begin_value(cutter, **p, CUT_IN_VALUE, false); /* Go writes a nil slice as null */
}

static bool element_begins(struct json_cutter *cutter, const char **p)
{
    if (**p == ']' && cutter->state == CUT_FIRST_ELEMENT)
        return punctuation(cutter, p, "]", CUT_AFTER_VALUE, CUT_AFTER_VALUE);
    return begin_value(cutter, **p, CUT_IN_ELEMENT, true);
}

/* Between values, *p is no white space. False: malformed. */
static bool step_between(struct json_cutter *cutter, const char **p)
{
    switch (cutter->state) {
    case CUT_ROOT:
        return **p == '{' && punctuation(cutter, p, "{", CUT_FIRST_KEY, CUT_FIRST_KEY);
    case CUT_FIRST_KEY:
    case CUT_KEY:
        return key_begins(cutter, p);
    case CUT_COLON:
        return **p == ':' && punctuation(cutter, p, ":", CUT_VALUE, CUT_VALUE);
    case CUT_VALUE:
        return member_begins(cutter, p);
    case CUT_AFTER_VALUE:
        return punctuation(cutter, p, ",}", CUT_KEY, CUT_DONE);
    case CUT_FIRST_ELEMENT:
    case CUT_ELEMENT:
        return element_begins(cutter, p);
    case CUT_AFTER_ELEMENT:
        return punctuation(cutter, p, ",]", CUT_ELEMENT, CUT_AFTER_VALUE);
    default:
        return false;
    }
}

int json_cutter_feed(struct json_cutter *cutter, const void *data, size_t len, struct error *err)
{
    if (cutter->failed)
        return report_failure(cutter, err);
    const char *p = data, *end = p + len;
    while (p < end) {
        if (cutter->state >= CUT_IN_KEY) {
            if (scan_on(cutter, &p, end) != 0)
                return report_failure(cutter, err);
        } else if (json_is_space(*p)) {
            p++;
        } else {
            uint64_t at = cutter->offset + (uint64_t)(p - (const char *)data);
            if (step_between(cutter, &p))
                continue;
            error_set(&cutter->failure, ERROR_PROTOCOL, "JSON: a syntax error at byte %llu", (unsigned long long)at);
            return report_failure(cutter, err);
        }
    }
    cutter->offset += len;
    return 0;
}

int json_cutter_finish(struct json_cutter *cutter, struct error *err)
{
    if (cutter->failed)
        return report_failure(cutter, err);
    if (cutter->state == CUT_DONE)
        return 0;
    error_set(&cutter->failure, ERROR_PROTOCOL, "JSON: the document ends early, after %llu bytes",
        (unsigned long long)cutter->offset);
    return report_failure(cutter, err);
}
