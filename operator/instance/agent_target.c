#include "common/base.h"

#include "operator/instance/agent_target.h"

#include "common/alloc.h"

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
    };
}

void agent_target_release(struct agent_target *target)
{
    free((char *)target->address);
    free((char *)target->server_name);
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
        a->tls == b->tls && a->silence_ms == b->silence_ms;
}

struct http_request *agent_target_start(
    const struct agent_target *target, struct http_client *http, const char *path, struct http_request_options options)
{
    _cleanup_(freep) char *url = xasprintf("https://%s:%u%s", target->server_name, target->port, path);
    bool ipv6 = strchr(target->address, ':') != NULL;
    _cleanup_(freep) char *dial = xasprintf(ipv6 ? "[%s]:%u" : "%s:%u", target->address, target->port);
    options.url = url;
    options.tls = target->tls;
    options.connect_to = dial;
    return http_client_start(http, &options);
}
