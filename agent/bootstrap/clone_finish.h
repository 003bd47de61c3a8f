/*
 * clone_finish.h: a complete copy in data.new becomes `data`. Blocking; for a worker's thread.
 */
#ifndef KM_AGENT_BOOTSTRAP_CLONE_FINISH_H
#define KM_AGENT_BOOTSTRAP_CLONE_FINISH_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/server_binary.h"
#include "common/error.h"
#include "common/strvec.h"

/* mariadb-backup --prepare of data.new: what to run after it was unpacked. ERROR_NOT_FOUND: this image has no such tool. */
int clone_prepare_command(const struct agent_paths *paths, struct strvec *argv, struct error *err) KM_MUST_CHECK;
/* mbstream into data.new. */
int clone_unpack_command(const struct agent_paths *paths, struct strvec *argv, struct error *err) KM_MUST_CHECK;

struct clone_origin {
    const char *donor;
    const char *server_version; /* of the donor: whose system tables the copy holds */
    const char *gtid;           /* as the trailer says; must be what the copy's own files say */
    bool replace;               /* the database that is there goes */
};

/* Position and version go into data.new, then it gets its name. */
int clone_finish_mariadb(
    const struct agent_paths *paths, const struct clone_origin *origin, struct error *err) KM_MUST_CHECK;

#endif
