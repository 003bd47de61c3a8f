/*
 * init.h: the init container: an empty volume becomes a database, the server's configuration and init-file are written.
 *
 * Every step can be repeated; a crash at any point is mended by the next run (I10).
 */
#ifndef KM_AGENT_BOOTSTRAP_INIT_H
#define KM_AGENT_BOOTSTRAP_INIT_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

struct init_options {
    const struct agent_paths *paths;
    const char *pod_name;
    uint16_t mysql_port; /* 0: MYSQL_PORT */
};

int init_run(const struct init_options *options, struct error *err) KM_MUST_CHECK;

/* The check pod: whether this image has a server and that server takes the my.cnf. Makes no database. ERROR_INVALID names the key. */
int init_check(const struct init_options *options, struct error *err) KM_MUST_CHECK;

/* The name of the user this process runs as, as the server will see it. The caller frees. */
int init_user_name(char **ret, struct error *err) KM_MUST_CHECK;

#endif
