/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/in_place_wish.h"

#include <ctype.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/in_place_status.h"
#include "operator/api/names.h"

#define HOW ANNOTATION_RESTORE_IN_PLACE ": must be the name of a MysqlBackup, or NAME@POINT: "

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!islower(c) && !isdigit(c) && c != '-' && c != '.')
            return false;
    }
    return len > 0 && len <= KUBE_NAME_MAX;
}

static json_t *document_of(const char *text, size_t name_len)
{
    int64_t at_ms = 0;
    const char *point = text[name_len] == '@' ? text + name_len + 1 : NULL;
    _cleanup_(freep) char *name = xasprintf("%.*s", (int)name_len, text);
    json_t *from = json_build("{s:{s:s}}", "backup", "name", name);
    bool is_time = point && (str_eq(point, RESTORE_POINT_LATEST_WORD) || clock_parse_rfc3339(point, &at_ms) == 0);
    if (point)
        json_put_str(from, is_time ? "pointInTime" : "gtid", point);
    return json_build("{s:o}", "restoreFrom", from);
}

void in_place_wish_read(const char *text, struct in_place_wish *ret)
{
    struct api_problems problems = {0};
    *ret = (struct in_place_wish){.text = xstrdup(str_or_empty(text))};
    if (str_empty(text))
        return;
    size_t name_len = strcspn(text, "@");
    if (strlen(text) >= IN_PLACE_WISH_SIZE) {
        snprintf(ret->problem, sizeof(ret->problem), ANNOTATION_RESTORE_IN_PLACE ": is too long");
        return;
    }
    if (!is_name(text, name_len)) {
        snprintf(ret->problem, sizeof(ret->problem), HOW "\"%.40s\" is no name", text);
        return;
    }
    ret->document = document_of(text, name_len);
    restore_spec_read(ret->document, &ret->spec);
    if (restore_spec_check(ret->document, &problems) == 0)
        return;
    snprintf(ret->problem, sizeof(ret->problem),
        HOW "\"%.40s\" is neither a time like 2026-11-21T20:45:12Z, nor " RESTORE_POINT_LATEST_WORD ", nor a GTID set",
        text[name_len] ? text + name_len + 1 : "");
    json_decref(steal_ptr(ret->document));
    ret->spec = (struct restore_spec){.document = NULL};
}

void in_place_wish_release(struct in_place_wish *wish)
{
    free(wish->text);
    json_decref(wish->document);
    *wish = (struct in_place_wish){.text = NULL};
}
