/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/check_command.h"

#include "agent/bootstrap/init.h"
#include "agent/bootstrap/server_trial.h"
#include "agent/mysql/session.h"
#include "agent/termination_log.h"
#include "common/log.h"
#include "common/strbuf.h"

static int start(const struct agent_options *options, const struct init_checked *checked, struct strbuf *cut,
    struct strbuf *adjusted, struct error *err)
{
    session_library_init();
    int rc = server_trial(&options->paths, &checked->binary, checked->user, cut, adjusted, err);
    session_library_end();
    return rc;
}

int check_command_run(const struct agent_options *options, struct error *err)
{
    struct init_options init = {
        .paths = &options->paths, .pod_name = options->pod_name, .mysql_port = options->mysql_port};
    _cleanup_(init_checked_release) struct init_checked checked = {0};
    _cleanup_(strbuf_release) struct strbuf adjusted, cut;

    strbuf_init(&adjusted, SUBPROCESS_STDERR_MAX);
    strbuf_init(&cut, SUBPROCESS_STDERR_MAX);
    if (init_check(&init, &checked, &adjusted, err) < 0)
        return -1;
    if (checked.start && start(options, &checked, &cut, &adjusted, err) < 0)
        return -1;
    if (adjusted.len > 0)
        log_warn("the server takes other values than those of my.cnf", LOG_STR("adjusted", adjusted.buf));
    if (cut.len > 0)
        strbuf_addf(&adjusted, AGENT_CHECK_CUT "%s", cut.buf);
    if (adjusted.len > 0)
        termination_log_write(options->paths.termination_log, adjusted.buf);
    return 0;
}
