/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/api_problems.h"

#include "common/limits.h"

/* Ends a text that snprintf cut with an ellipsis. `written` is snprintf's answer. */
static void mark_cut(char *buf, size_t size, int written)
{
    if (written < 0 || (size_t)written < size)
        return;
    memcpy(buf + size - sizeof("..."), "...", sizeof("..."));
}

int api_problems_add(struct api_problems *problems, const char *path, const char *fmt, ...)
{
    if (problems->count == API_PROBLEMS_MAX) {
        problems->dropped++;
        return -1;
    }
    struct api_problem *problem = &problems->items[problems->count++];
    mark_cut(problem->path, sizeof(problem->path), snprintf(problem->path, sizeof(problem->path), "%s", path));
    va_list ap;
    va_start(ap, fmt);
    mark_cut(problem->message, sizeof(problem->message), vsnprintf(problem->message, sizeof(problem->message), fmt, ap));
    va_end(ap);
    return -1;
}

bool api_problems_any(const struct api_problems *problems)
{
    return problems->count > 0;
}

void api_problems_text(const struct api_problems *problems, struct strbuf *out)
{
    for (int i = 0; i < problems->count; i++)
        strbuf_addf(out, "%s%s: %s", i ? "; " : "", problems->items[i].path, problems->items[i].message);
    if (problems->dropped > 0)
        strbuf_addf(out, "; and %d more", problems->dropped);
}

int api_problems_to_error(const struct api_problems *problems, struct error *err)
{
    if (!api_problems_any(problems))
        return 0;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, 16 * KM_KIB);
    api_problems_text(problems, &text);
    return error_set(err, ERROR_INVALID, "%s", text.buf);
}
