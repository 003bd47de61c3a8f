/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_task.h: whether restored data can be used: every table is checked (CHECK TABLE), and that the server has what
 * the backup stood for. JSON.
 *
 *   PUT    /v1/check   operator only. Body: a task. 200: it is in force, also when it was. One of another id replaces
 *                      what runs. 400 names what is wrong.
 *   DELETE /v1/check   nothing is checked any more, and nothing is told of it. 200, also when there was none.
 *
 * A standing task: the operator repeats it until the status shows its id, and after a restart of the agent (another
 * boot_id), which begins anew. It begins once the server answers and ends by itself; the report stays. The work is a
 * child's (`kube-mysql-agent check-data`), one table after another, names in pages: memory does not grow with the data.
 */
#ifndef KM_COMMON_CHECK_TASK_H
#define KM_COMMON_CHECK_TASK_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_order.h"
#include "common/error.h"
#include "common/strbuf.h"

#define CHECK_TASK_MAX ((size_t)(8 * KM_KIB))

struct check_task {
    char id[128];                  /* stands for all of it */
    char gtid[POSITION_TOLD_SIZE]; /* what the server must have executed; "" nothing */
};
void check_task_encode(const struct check_task *task, struct strbuf *out);
int check_task_decode(const char *text, size_t len, struct check_task *ret, struct error *err) KM_MUST_CHECK;

enum check_phase { CHECK_PHASE_NONE, CHECK_PHASE_RUNNING, CHECK_PHASE_PASSED, CHECK_PHASE_FAILED, CHECK_PHASE_COUNT };
extern const char *const check_phase_names[CHECK_PHASE_COUNT];

#define CHECK_TABLES_DAMAGED "TablesDamaged"
#define CHECK_POSITION_MISSING "PositionMissing"
#define CHECK_FAILED "CheckFailed" /* it could not be found out: the server or the process ended */

/* Part of an agent's status ("check"). */
struct check_report {
    char task[128]; /* id of the task in force; "" none */
    enum check_phase phase;
    uint64_t tables; /* that are whole */
    char table[400]; /* "database.table": the one that is looked at; Failed: the one where it ended; "" none */
    char reason[48]; /* Failed */
    char message[256];
    char gtid[POSITION_TOLD_SIZE]; /* Passed: executed; told (position.h) */
};
json_t *check_report_encode(const struct check_report *report); /* NULL when there is no task */
int check_report_decode(const json_t *object, struct check_report *ret, struct error *err) KM_MUST_CHECK;
bool check_report_same(const struct check_report *a, const struct check_report *b);
uint64_t check_report_digest(const struct check_report *report);

#endif
