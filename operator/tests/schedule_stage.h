/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule_stage.h: the controller of schedules alone, against an API server inside the test, with a clock that the
 * test moves; a story is a list of steps.
 *
 * One cluster: ns1/shop.
 */
#ifndef KM_SCHEDULE_STAGE_H
#define KM_SCHEDULE_STAGE_H

#include "common/base.h"

#include "operator/runtime/manager.h"
#include "operator/tests/kube_api_double.h"

#define SCHEDULE_BACKUPS "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/"

struct schedule_stage;
/* Called again and again; true: what it waited for is so, what it wanted to do is done. */
typedef bool (*schedule_step_fn)(struct schedule_stage *stage);

struct schedule_stage {
    struct loop *loop;
    struct kube_api_double *api;
    struct manager *manager;
    struct loop_timer timer;
    int64_t now_ms;                /* of the operator's wall clock */
    const schedule_step_fn *steps; /* NULL at the end */
    int step;
    int64_t until_ms, quiet_since_ms;
    size_t writes, writes_then;
    size_t kill_after; /* that many writes in all; 0: never */
    bool is_dead;
    char failure[512];
};

/* now: of the operator's wall clock, RFC 3339. */
struct schedule_stage *schedule_stage_new(const char *now);
void schedule_stage_free(struct schedule_stage *stage);
/* Until the last step is through; an operator that was killed (kill_after) has a successor. Fails the test. */
void schedule_stage_run(struct schedule_stage *stage, const schedule_step_fn *steps);

/* ---- the world ---- */

/* backup: more members of spec.backup; more: of the spec, after a comma. */
void schedule_stage_put_cluster(struct schedule_stage *stage, const char *backup, const char *more);
/* A merge patch. */
void schedule_stage_edit(struct schedule_stage *stage, const char *path, const char *text);
const char *schedule_stage_cluster_str(const struct schedule_stage *stage, const char *member);
bool schedule_stage_is_next(const struct schedule_stage *stage, const char *next);
/* NULL: there is none. */
const json_t *schedule_stage_backup_of(const struct schedule_stage *stage, const char *name);
size_t schedule_stage_count_backups(const struct schedule_stage *stage);
bool schedule_stage_move_clock(struct schedule_stage *stage, const char *now);
/* A completed one. labels: members. */
void schedule_stage_put_backup(
    struct schedule_stage *stage, const char *name, const char *when, const char *uid, const char *labels);
bool schedule_stage_has_event(const struct schedule_stage *stage, const char *reason);
/* Nothing was written for a while in which the operator looked again and again. */
bool schedule_stage_is_quiet(struct schedule_stage *stage);

#endif
