/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_try.h: whether the data volume takes a write: a few bytes over those of the last time in a file of the
 * agent's, brought to the disk. Takes no room, once the file is there, and changes nothing that a journal would have
 * to keep.
 */
#ifndef KM_AGENT_VOLUME_TRY_H
#define KM_AGENT_VOLUME_TRY_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

/* Blocks for as long as the storage does: on a thread of its own only. ERROR: it was refused. */
int volume_try(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;

#endif
