/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h: which kinds the operator uses and which controllers it runs.
 */
#ifndef KM_OPERATOR_SETUP_H
#define KM_OPERATOR_SETUP_H

#include "common/base.h"

#include "common/error.h"
#include "operator/runtime/manager.h"

/* Before manager_run. */
void operator_use_kinds(struct manager *manager);
/* A manager_setup_fn; arg is the struct operator_options. */
int operator_setup(void *arg, struct manager *manager, struct error *err);

#endif
