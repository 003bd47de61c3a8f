/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/addressee.h"

#include "common/agent_identity.h"

bool addressee_check(const struct agent_status *own, struct http_exchange *exchange)
{
    const char *to = http_exchange_query(exchange, "to");
    const char *uid = http_exchange_query(exchange, "uid");
    const char *boot = http_exchange_query(exchange, "boot");

    if (agent_identity_is(to, uid, own->instance, own->pod_uid)) {
        if (agent_identity_is(boot, NULL, own->boot_id, NULL))
            return true;
        http_replyf(exchange, AGENT_IDENTITY_MISDIRECTED, "this is process %s of %s, not %s", own->boot_id,
            own->instance, boot);
        return false;
    }
    http_replyf(exchange, AGENT_IDENTITY_MISDIRECTED, "this is %s %s, not %s %s", own->instance, own->pod_uid,
        str_or_empty(to), str_or_empty(uid));
    return false;
}
