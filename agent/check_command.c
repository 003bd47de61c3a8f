/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/check_command.h"

#include "agent/bootstrap/init.h"
#include "agent/termination_log.h"
#include "common/log.h"
#include "common/strbuf.h"

int check_command_run(const struct agent_options *options, struct error *err)
{
    struct init_options init = {
        .paths = &options->paths, .pod_name = options->pod_name, .mysql_port = options->mysql_port};
    _cleanup_(strbuf_release) struct strbuf adjusted;

    strbuf_init(&adjusted, SUBPROCESS_STDERR_MAX);
    if (init_check(&init, &adjusted, err) < 0)
        return -1;
    if (adjusted.len > 0) {
        log_warn("the server takes other values than those of my.cnf", LOG_STR("adjusted", adjusted.buf));
        termination_log_write(options->paths.termination_log, adjusted.buf);
    }
    return 0;
}
