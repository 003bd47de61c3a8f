/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.h: what `init` does before it asks anybody: the image's server is found, its configuration and init-file are
 * written, the data folder is looked at.
 *
 * What becomes of the data is the operator's decision: seed.h. Every step can be repeated; a crash at any point is
 * mended by the next run (I10).
 */
#ifndef KM_AGENT_BOOTSTRAP_INIT_H
#define KM_AGENT_BOOTSTRAP_INIT_H

#include "common/base.h"

#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/seed_path.h"
#include "agent/bootstrap/server_binary.h"
#include "common/agent_api.h"
#include "common/error.h"

struct init_options {
    const struct agent_paths *paths;
    const char *pod_name;
    uint16_t mysql_port; /* 0: MYSQL_PORT */
};

struct init_prepared {
    struct server_binary binary;
    enum seed_path path;        /* how a copy would come */
    char *user;                 /* the operating system's and the agent's account's name */
    struct datadir_facts facts; /* DATADIR_EMPTY or DATADIR_DATABASE: the others are errors */
};

/* Blocking. ret_fault: set only on failure, what that is the fault of. */
int init_prepare(const struct init_options *options, struct init_prepared *ret, enum agent_init_fault *ret_fault,
    struct error *err) KM_MUST_CHECK;
void init_prepared_release(struct init_prepared *prepared);

struct init_checked {
    struct server_binary binary;
    char *user;
    bool start; /* the operator wants the server started, too (server_trial.h) */
};
void init_checked_release(struct init_checked *checked);

/* The check pod: whether this image has a server that can read the members' data, and that server takes the my.cnf.
 * Makes no database. ERROR_INVALID names the key; what is said of the image begins with AGENT_CHECK_IMAGE. adjusted
 * (may be NULL): of a my.cnf that is taken, the values that are not taken as they stand (mycnf_check_adjusted). */
int init_check(const struct init_options *options, struct init_checked *ret, struct strbuf *adjusted,
    struct error *err) KM_MUST_CHECK;

/* The name of the user this process runs as, as the server will see it. The caller frees. */
int init_user_name(char **ret, struct error *err) KM_MUST_CHECK;

#endif
