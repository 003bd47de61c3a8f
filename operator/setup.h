/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h: which kinds the operator uses and which controllers it runs.
 */
#ifndef KM_OPERATOR_SETUP_H
#define KM_OPERATOR_SETUP_H

#include "common/base.h"

#include "common/error.h"
#include "operator/runtime/manager.h"

struct operator_options;

/* Before manager_run. Of the kinds that are opt-in only those that the options name: the others' CRDs need not be
 * there. */
void operator_use_kinds(struct manager *manager, const struct operator_options *options);
/* A manager_setup_fn; arg is the struct operator_options. */
int operator_setup(void *arg, struct manager *manager, struct error *err);

#endif
