/* SPDX-License-Identifier: Apache-2.0 */
/* volume_answer.c: what the service in front of a volume answers (volume_store.h). */
#include "common/base.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/volume_store.h"

static void copy_clean(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\x7f')
            *p = ' ';
}

int volume_refusal_read(int status, const char *text, size_t len, struct object_refusal *ret)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, NULL);
    const char *code = json_path_str(document, "code", "");
    *ret = (struct object_refusal){.code = ""};
    if (!*code && status == 404) {
        copy_clean(ret->code, sizeof(ret->code), "OtherProtocol");
        copy_clean(ret->message, sizeof(ret->message), "the pod that serves the volume is of another version");
        return 0;
    }
    if (!*code)
        return -1;
    copy_clean(ret->code, sizeof(ret->code), code);
    copy_clean(ret->message, sizeof(ret->message), json_path_str(document, "message", ""));
    return 0;
}

int volume_ended_read(const char *text, size_t len, size_t *ret, struct error *err)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    const int64_t ended = json_path_int(document, "ended", -1);
    if (!document)
        return -1;
    if (ended < 0)
        return error_set(err, ERROR_PROTOCOL, "it does not say how many uploads were ended");
    *ret = (size_t)ended;
    return 0;
}

/* ---- lists ---- */

struct page {
    int (*each)(void *arg, const struct object_found *found);
    void *arg;
    bool handing_out; /* else it is only looked whether all can be read */
    bool ended;       /* by its last line */
    char *after;
};

static int wrong_line(struct error *err)
{
    return error_set(err, ERROR_PROTOCOL, "a line of a list that cannot be read");
}

/* 1: the receiver wants no more. */
static int take_name(struct page *page, const json_t *line, const char *name, struct error *err)
{
    const size_t len = strlen(name);
    const struct object_found found = {.key = name,
        .is_prefix = len > 0 && name[len - 1] == '/',
        .bytes = (uint64_t)json_path_int(line, "bytes", 0),
        .modified_ms = json_path_int(line, "modified", 0)};
    /* Files may be of 1970, or before it. */
    const bool whole =
        found.is_prefix || (json_path_int(line, "bytes", -1) >= 0 && json_is_integer(json_path(line, "modified")));
    if (len == 0 || !whole)
        return wrong_line(err);
    return page->handing_out && page->each(page->arg, &found) < 0;
}

static int take_line(struct page *page, const char *text, size_t len, struct error *err)
{
    _cleanup_(json_decrefp) json_t *line = json_parse(text, len, err);
    if (!line)
        return -1;
    const char *name = json_path_str(line, "name", NULL);
    const char *after = json_path_str(line, "after", NULL);
    if (page->ended)
        return wrong_line(err);
    if (name)
        return take_name(page, line, name, err);
    page->ended = true;
    str_replace(&page->after, after);
    return str_empty(after) && !json_path_bool(line, "end", false) ? wrong_line(err) : 0;
}

static int walk_page(struct page *page, const char *text, size_t len, struct error *err)
{
    const char *end = text + len;
    int rc = 0;
    while (text < end && rc == 0) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            return error_set(err, ERROR_PROTOCOL, "a list that is cut off");
        rc = take_line(page, text, (size_t)(newline - text), err);
        text = newline + 1;
    }
    if (rc < 0)
        return -1;
    return rc == 0 && !page->ended ? error_set(err, ERROR_PROTOCOL, "a list that does not say how it ends") : 0;
}

/* Twice: once to see that it is whole, then for what it says. */
int volume_list_read(const char *text, size_t len, int (*each)(void *arg, const struct object_found *found), void *arg,
    char **ret_after, struct error *err)
{
    struct page rehearsal = {.handing_out = false};
    struct page page = {.each = each, .arg = arg, .handing_out = true};
    int rc = walk_page(&rehearsal, text, len, err);
    if (rc == 0)
        rc = walk_page(&page, text, len, err);
    free(page.after);
    if (rc == 0)
        *ret_after = steal_ptr(rehearsal.after);
    free(rehearsal.after);
    return rc;
}
