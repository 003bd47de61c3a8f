/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_answer.h: what the store answers: JSON. Pure.
 *
 * A refusal is {"code":"NoSuchObject","message":"..."}. A list has one line for each name,
 *   {"name":"a/b","bytes":7,"modified":1700000000123}     an object; milliseconds since 1970
 *   {"name":"a/c/"}                                       a folder
 * and one that says how it ends, so that one that was cut off is never taken for a whole one:
 *   {"end":true}   or, where there is more,   {"after":"a/c/"}
 */
#ifndef KM_AGENT_BACKUP_STORE_ANSWER_H
#define KM_AGENT_BACKUP_STORE_ANSWER_H

#include "common/base.h"

#include "agent/backup/store_fault.h"
#include "agent/backup/store_list.h"
#include "common/strbuf.h"

void store_answer_fault(const struct store_fault *fault, struct strbuf *out);

/* One page of a list. */
struct store_page {
    struct strbuf *out; /* borrowed */
    char last[STORE_NAME_SIZE];
};
/* As store_list wants it; arg: the page. Names have nothing that JSON would have escaped. */
bool store_page_add(void *arg, const struct store_entry *entry);
void store_page_end(struct store_page *page, bool more);

#endif
