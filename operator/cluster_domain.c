/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster_domain.h"

#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define RESOLV_CONF_MAX ((size_t)(64 * KM_KIB))

bool cluster_domain_is_valid(const char *domain)
{
    size_t len = strlen(domain);
    if (len == 0 || len > CLUSTER_DOMAIN_MAX)
        return false;
    char before = '.';
    for (const char *c = domain; *c; before = *c++) {
        bool is_inner = *c == '-' || *c == '.';
        if ((*c < 'a' || *c > 'z') && (*c < '0' || *c > '9') && !is_inner)
            return false;
        if ((before == '.' && is_inner) || (before == '-' && *c == '.'))
            return false;
    }
    return before != '.' && before != '-';
}

/* "search shops.svc.cluster.local svc.cluster.local cluster.local"; other lines tell nothing. */
static void take_search_list(const char *line, char ret[static CLUSTER_DOMAIN_MAX + 1])
{
    static const char prefix[] = "svc.";
    struct strvec words;
    strvec_init(&words);
    strvec_split(&words, line, " \t\r");
    bool is_list = words.n > 0 && str_eq(words.v[0], "search");
    if (is_list)
        ret[0] = '\0';
    for (size_t i = 1; is_list && i < words.n; i++) {
        size_t len = strlen(words.v[i]);
        if (len > 0 && words.v[i][len - 1] == '.')
            words.v[i][len - 1] = '\0';
        const char *domain = words.v[i] + sizeof(prefix) - 1;
        bool is_domain = str_starts_with(words.v[i], prefix) && cluster_domain_is_valid(domain);
        if (is_domain && (!*ret || strlen(domain) < strlen(ret))) /* a namespace may be called svc, too */
            snprintf(ret, CLUSTER_DOMAIN_MAX + 1, "%s", domain);
    }
    strvec_release(&words);
}

void cluster_domain_of_resolv_conf(const char *text, char ret[static CLUSTER_DOMAIN_MAX + 1])
{
    struct strvec lines;
    ret[0] = '\0';
    strvec_init(&lines);
    strvec_split(&lines, text, "\n");
    for (size_t i = 0; i < lines.n; i++)
        take_search_list(lines.v[i], ret);
    strvec_release(&lines);
    if (!*ret)
        snprintf(ret, CLUSTER_DOMAIN_MAX + 1, "%s", CLUSTER_DOMAIN_DEFAULT);
}

void cluster_domain_find(const char *path, char ret[static CLUSTER_DOMAIN_MAX + 1])
{
    struct strbuf text;
    strbuf_init(&text, RESOLV_CONF_MAX);
    bool is_read = fs_read_file(path, &text, NULL) == 0;
    cluster_domain_of_resolv_conf(is_read ? text.buf : "", ret);
    strbuf_release(&text);
}
