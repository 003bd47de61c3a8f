/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the command line of the agent.
 *
 * All places default to those of agent_api.h; tests move them. The pod's name comes from the environment (POD_NAME) by
 * the downward API, its UID from where its volumes are mounted from (pod_uid.h).
 */
#ifndef KM_AGENT_OPTIONS_H
#define KM_AGENT_OPTIONS_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_identity.h"
#include "common/error.h"
#include "common/log.h"

enum agent_command {
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_COPY,
    COMMAND_INIT,
    COMMAND_CHECK,
    COMMAND_SERVER,
    COMMAND_RUN,
    COMMAND_PRE_STOP,
    COMMAND_LINGER,
    COMMAND_UPLOAD,
    COMMAND_DOWNLOAD,
    COMMAND_REPLAY,
    COMMAND_ARCHIVE,
    COMMAND_COPY_OUT,
    COMMAND_UNPACK,
    COMMAND_CHECK_DATA,
    COMMAND_STORE,
};

struct agent_options {
    enum agent_command command;
    const char *copy_dir;
    const char *store_dir; /* store: NULL if not given */
    struct agent_paths paths;
    const char *pod_name;
    char pod_uid[AGENT_POD_UID_SIZE]; /* "" not known */
    const char *bind;
    uint16_t plain_port;
    uint16_t tls_port;
    uint16_t mysql_port;
    uint64_t max_bytes;       /* unpack: 0: any */
    uint64_t tmp_bytes;       /* run: what the server's temporary files may take; 0: tmp_room.h says it */
    uint64_t ephemeral_bytes; /* run: what the pod may write onto the node's disk; 0: there is no limit */
    int wait_seconds;         /* pre-stop, linger: at most */
    enum log_level log_level;
    enum log_format log_format;
};

/* Strings point into argv and the environment. ERROR_INVALID names what is wrong. */
int agent_options_parse(int argc, char **argv, struct agent_options *ret, struct error *err) KM_MUST_CHECK;
void agent_options_release(struct agent_options *options);
/* Of a container's process, not a container's own. */
bool agent_command_is_child(enum agent_command command);
/* Of those, one that is run as an image's own tools are (copy_process.h): it says itself why it failed, in plain
 * text. */
bool agent_command_is_tool(enum agent_command command);
extern const char agent_options_help[];

#endif
