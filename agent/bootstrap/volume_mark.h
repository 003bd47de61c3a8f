/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_mark.h: a word on the volume (state_dir/mark) for whoever starts there next: this member has left, or its data
 * is to be replaced.
 *
 * A mark stays until the data was replaced or the operator has said in so many words that it is to be kept.
 */
#ifndef KM_AGENT_BOOTSTRAP_VOLUME_MARK_H
#define KM_AGENT_BOOTSTRAP_VOLUME_MARK_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_order.h"
#include "common/error.h"

/* No file: AGENT_MARK_NONE. A word that is not known (of a newer agent) is AGENT_MARK_RESEED: the one that trusts
 * least. */
int volume_mark_read(const struct agent_paths *paths, enum agent_mark *ret, struct error *err) KM_MUST_CHECK;
/* On the disk when it returns. AGENT_MARK_NONE removes it. */
int volume_mark_write(const struct agent_paths *paths, enum agent_mark mark, struct error *err) KM_MUST_CHECK;

#endif
