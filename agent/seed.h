/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed.h: `kube-mysql-agent init`: prepares the configuration, then is a server on the TLS door until the operator has
 * said what becomes of the data and that is done (design, section 5).
 *
 * It never decides by itself whether there is to be a new database: an empty volume may be a lost one. It waits for the
 * order without a time limit, tries again with back-off for as long as the order stands, and follows a newer order at
 * any time. Its status has phase Seeding. An attempt that the kernel ends for want of memory ends `init`, too.
 */
#ifndef KM_AGENT_SEED_H
#define KM_AGENT_SEED_H

#include "common/base.h"

#include "agent/options.h"
#include "common/agent_api.h"
#include "common/error.h"

/* Returns 0 when `data` holds what was ordered; fails for what an order cannot mend (configuration, memory, foreign
 * data), and by a signal. ret_fault: set in that case, what it is the fault of. */
int seed_run(const struct agent_options *options, enum agent_init_fault *ret_fault, struct error *err) KM_MUST_CHECK;

#endif
