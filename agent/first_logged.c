/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/first_logged.h"

#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "common/strbuf.h"
#include "common/strvec.h"

struct first {
    enum gtid_flavour flavour;
    struct strbuf text;
};

/* The scan ends with it. */
static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct first *first = arg;

    gtid_one_print(first->flavour, &transaction->gtid, &first->text);
    return error_set(err, ERROR_CANCELLED, "the first transaction is enough");
}

/* binlog.000017 */
static uint32_t number_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? (uint32_t)strtoul(dot + 1, NULL, 10) : 0;
}

void first_logged_look(const char *data_dir, enum gtid_flavour flavour, struct replication_facts *facts)
{
    _cleanup_(strvec_release) struct strvec files;
    struct first first = {.flavour = flavour};
    struct binlog_head head;
    struct error ignored = ERROR_INIT;

    facts->oldest_log = 0;
    facts->first_logged[0] = '\0';
    strvec_init(&files);
    if (binlog_tail_files(data_dir, &files, NULL) < 0 || files.n == 0)
        return;
    facts->oldest_log = number_of(files.v[0]);
    strbuf_init(&first.text, sizeof(facts->first_logged));
    (void)(binlog_file_scan(files.v[0], flavour, &head, on_transaction, &first, &ignored) == 0);
    binlog_head_release(&head);
    if (!first.text.overflowed)
        snprintf(facts->first_logged, sizeof(facts->first_logged), "%s", str_or_empty(first.text.buf));
    strbuf_release(&first.text);
}
