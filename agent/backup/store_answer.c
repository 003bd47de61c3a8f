/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_answer.h"

void store_answer_fault(const struct store_fault *fault, struct strbuf *out)
{
    strbuf_addf(out, "{\"code\":\"%s\",\"message\":", store_code_name(fault->code));
    strbuf_add_json_string(out, fault->message);
    strbuf_adds(out, "}\n");
}

bool store_page_add(void *arg, const struct store_entry *entry)
{
    struct store_page *page = arg;

    if (entry->is_folder)
        strbuf_addf(page->out, "{\"name\":\"%s\"}\n", entry->name);
    else
        strbuf_addf(page->out, "{\"name\":\"%s\",\"bytes\":%llu,\"modified\":%lld}\n", entry->name,
            (unsigned long long)entry->bytes, (long long)entry->modified_ms);
    snprintf(page->last, sizeof(page->last), "%s", entry->name);
    return true;
}

void store_page_end(struct store_page *page, bool more)
{
    if (more)
        strbuf_addf(page->out, "{\"after\":\"%s\"}\n", page->last);
    else
        strbuf_adds(page->out, "{\"end\":true}\n");
}
