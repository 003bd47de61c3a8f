/* SPDX-License-Identifier: Apache-2.0 */
/* The domain of the cluster's DNS, as a resolv.conf tells it. */
#include "common/base.h"

#include "operator/cluster_domain.h"

#include <setjmp.h>
#include <cmocka.h>

static void domains_of_resolv_conf(void **state)
{
    UNUSED(state);
    static const struct {
        const char *why, *text, *domain;
    } cases[] = {
        {"a pod",
            "nameserver 10.96.0.10\nsearch ns1.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n",
            "cluster.local"},
        {"another domain", "search ns1.svc.k8s.example.org svc.k8s.example.org k8s.example.org example.org\n",
            "k8s.example.org"},
        {"with dots at the end, tabs, no line end", "search\tns1.svc.corp.\tsvc.corp.", "corp"},
        {"the last list counts", "search svc.one\nsearch svc.two\n", "two"},
        {"a pod of the node's network", "search example.org\n", "cluster.local"},
        {"a namespace called svc is no domain", "search svc.svc.cluster.local svc.cluster.local cluster.local\n",
            "cluster.local"},
        {"what is no name", "search svc.a_b svc.-x svc.good\n", "good"},
        {"no list", "# search svc.commented\nnameserver 1.1.1.1\n", "cluster.local"},
        {"nothing", "", "cluster.local"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char domain[CLUSTER_DOMAIN_MAX + 1];
        cluster_domain_of_resolv_conf(cases[i].text, domain);
        if (!str_eq(domain, cases[i].domain))
            fail_msg("%s: %s", cases[i].why, domain);
    }
}

static void valid_domains(void **state)
{
    UNUSED(state);
    static const char *const good[] = {"cluster.local", "a", "k8s-1.example.org"};
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b", "-a", "a-", "a-.b", "a.-b", "A", "a b", "a,b", "*.a"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(cluster_domain_is_valid(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (cluster_domain_is_valid(bad[i]))
            fail_msg("%s", bad[i]);
    }
}

static void an_unreadable_file_tells_nothing(void **state)
{
    UNUSED(state);
    char domain[CLUSTER_DOMAIN_MAX + 1];
    cluster_domain_find("/nonexistent/resolv.conf", domain);
    assert_string_equal(domain, "cluster.local");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_of_resolv_conf),
        cmocka_unit_test(valid_domains),
        cmocka_unit_test(an_unreadable_file_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
