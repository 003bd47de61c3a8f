/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/tests/agent_pki_util.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/agent_api.h"
#include "common/clock.h"

void agent_pki_issue(
    const struct tls_keypair *ca, const char *name, const char *dns, bool server, struct tls_keypair *ret)
{
    struct error err = ERROR_INIT;
    const char *const dns_names[] = {dns, NULL};
    const struct tls_cert_request request = {
        .common_name = name,
        .dns_names = dns ? dns_names : NULL,
        .server_auth = server,
        .client_auth = !server,
        .not_before_ms = clock_realtime_ms() - 60000,
        .not_after_ms = clock_realtime_ms() + 3600000,
    };
    if ((ca ? tls_issue(ca, &request, ret, &err) : tls_make_ca(&request, ret, &err)) < 0)
        fail_msg("%s", err.message);
}

struct http_tls *agent_pki_client_tls(const struct agent_pki *pki)
{
    const struct http_tls_options options = {
        .ca_pem = pki->ca.cert_pem, .cert_pem = pki->client.cert_pem, .key_pem = pki->client.key_pem};
    return http_tls_new(&options);
}

void agent_pki_init(struct agent_pki *pki, const char *dns)
{
    struct error err = ERROR_INIT;
    agent_pki_issue(NULL, "ca", NULL, true, &pki->ca);
    agent_pki_issue(&pki->ca, AGENT_COMMON_NAME, dns, true, &pki->leaf);
    agent_pki_issue(&pki->ca, AGENT_OPERATOR_COMMON_NAME, NULL, false, &pki->client);
    pki->server_tls = tls_server_new(&pki->leaf, pki->ca.cert_pem, &err);
    if (!pki->server_tls)
        fail_msg("%s", err.message);
    pki->client_tls = agent_pki_client_tls(pki);
}

void agent_pki_release(struct agent_pki *pki)
{
    tls_server_free(pki->server_tls);
    http_tls_unref(pki->client_tls);
    tls_keypair_release(&pki->ca);
    tls_keypair_release(&pki->leaf);
    tls_keypair_release(&pki->client);
}
