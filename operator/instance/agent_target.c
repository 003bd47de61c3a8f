/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/agent_target.h"

#include "common/agent_identity.h"
#include "common/alloc.h"
#include "common/strbuf.h"

#define URL_MAX (size_t)(2 * KM_KIB)

void agent_target_copy(const struct agent_target *from, struct agent_target *ret)
{
    *ret = (struct agent_target){
        .address = xstrdup(from->address),
        .server_name = xstrdup(from->server_name),
        .port = from->port,
        .tls = http_tls_ref(from->tls),
        .may_tell = from->may_tell,
        .may_tell_arg = from->may_tell_arg,
        .silence_ms = from->silence_ms,
        .pod = xstrdup(str_or_empty(from->pod)),
        .uid = xstrdup(str_or_empty(from->uid)),
    };
}

void agent_target_release(struct agent_target *target)
{
    free((char *)target->address);
    free((char *)target->server_name);
    free((char *)target->pod);
    free((char *)target->uid);
    http_tls_unref(target->tls);
    *target = (struct agent_target){.address = NULL};
}

bool agent_target_may_tell(const struct agent_target *target)
{
    return !target->may_tell || target->may_tell(target->may_tell_arg);
}

bool agent_target_same(const struct agent_target *a, const struct agent_target *b)
{
    return str_eq(a->address, b->address) && str_eq(a->server_name, b->server_name) && a->port == b->port &&
        a->tls == b->tls && a->silence_ms == b->silence_ms && str_eq(str_or_empty(a->pod), str_or_empty(b->pod)) &&
        str_eq(str_or_empty(a->uid), str_or_empty(b->uid));
}

struct http_request *agent_target_start(
    const struct agent_target *target, struct http_client *http, const char *path, struct http_request_options options)
{
    _cleanup_(strbuf_release) struct strbuf url;
    strbuf_init(&url, URL_MAX);
    strbuf_addf(&url, "https://%s:%u%s", target->server_name, target->port, path);
    agent_identity_add(&url, target->pod, target->uid);
    bool ipv6 = strchr(target->address, ':') != NULL;
    _cleanup_(freep) char *dial = xasprintf(ipv6 ? "[%s]:%u" : "%s:%u", target->address, target->port);
    options.url = url.buf;
    options.tls = target->tls;
    options.connect_to = dial;
    return http_client_start(http, &options);
}
