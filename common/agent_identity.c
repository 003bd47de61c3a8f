/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_identity.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."

static bool is_plain(const char *text)
{
    return !str_empty(text) && text[strspn(text, NAME_CHARACTERS)] == '\0';
}

void agent_identity_add(struct strbuf *url, const char *pod, const char *uid)
{
    if (!is_plain(pod))
        return;
    strbuf_addf(url, "%cto=%s", strchr(url->buf, '?') ? '&' : '?', pod);
    if (is_plain(uid))
        strbuf_addf(url, "&uid=%s", uid);
}

void agent_identity_of_host(const char *host, char ret[static AGENT_POD_NAME_SIZE])
{
    size_t label = strcspn(host, ".");
    bool is_address = strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';

    ret[0] = '\0';
    if (!is_address && host[label] == '.')
        snprintf(ret, AGENT_POD_NAME_SIZE, "%.*s", (int)MIN_OF(label, (size_t)AGENT_POD_NAME_SIZE - 1), host);
}

static bool differs(const char *meant, const char *is)
{
    return !str_empty(meant) && !str_empty(is) && !str_eq(meant, is);
}

bool agent_identity_is(const char *meant_pod, const char *meant_uid, const char *pod, const char *uid)
{
    return !differs(meant_pod, pod) && !differs(meant_uid, uid);
}
