/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_back_part.h: of what was set aside before a start has cut off the end of the binary log, the part that is to be
 * taken back (put_back.h): what the next primary had, and what is executed here no more. Blocking.
 */
#ifndef KM_AGENT_PUT_BACK_PART_H
#define KM_AGENT_PUT_BACK_PART_H

#include "common/base.h"

#include "common/error.h"
#include "common/gtid.h"

/* log: of the set. ret_any false: nothing is lacking; else `spool` is the part, as relay_apply.h takes it. -1: what is
 * lacking the set does not hold, or not without a gap. */
int put_back_part_write(const char *log, const struct gtid_set *executed, const struct gtid_set *up_to,
    const char *spool, bool *ret_any, struct error *err) KM_MUST_CHECK;

#endif
