/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/binding_data.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "common/tls.h"

#define URI_MAX ((size_t)(64 * KM_KIB))

/* All but RFC 3986's unreserved characters, so that it stands for itself in every part of a URI, and in JDBC's
 * properties, where '+' is a space. */
static void add_encoded(struct strbuf *out, const char *text)
{
    static const char unreserved[] = "-._~";
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool is_alphanumeric = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (is_alphanumeric || strchr(unreserved, *c))
            strbuf_addc(out, (char)*c);
        else
            strbuf_addf(out, "%%%02X", *c);
    }
}

static void put_encoded(json_t *data, const char *key, const char *value)
{
    _cleanup_(secret_freep) char *encoded = tls_base64_encode(value, strlen(value));
    json_put_str(data, key, encoded);
}

/* mysql://USER:PASSWORD@HOST:PORT/DATABASE */
static void put_uri(json_t *data, const struct binding *binding)
{
    _cleanup_(strbuf_release_secret) struct strbuf uri;
    strbuf_init(&uri, URI_MAX);
    strbuf_adds(&uri, "mysql://");
    add_encoded(&uri, binding->username);
    strbuf_addc(&uri, ':');
    add_encoded(&uri, binding->password);
    strbuf_addf(&uri, "@%s:%d/", binding->host, binding->port);
    add_encoded(&uri, binding->database);
    put_encoded(data, "uri", uri.buf);
}

/* jdbc:mysql://HOST:PORT/DATABASE?user=USER&password=PASSWORD */
static void put_jdbc_uri(json_t *data, const struct binding *binding)
{
    _cleanup_(strbuf_release_secret) struct strbuf uri;
    strbuf_init(&uri, URI_MAX);
    strbuf_addf(&uri, "jdbc:mysql://%s:%d/", binding->host, binding->port);
    add_encoded(&uri, binding->database);
    strbuf_adds(&uri, "?user=");
    add_encoded(&uri, binding->username);
    strbuf_adds(&uri, "&password=");
    add_encoded(&uri, binding->password);
    put_encoded(data, "jdbc-uri", uri.buf);
}

json_t *binding_secret_data(const struct binding *binding)
{
    char port[16];
    snprintf(port, sizeof(port), "%d", binding->port);
    json_t *data = json_object();
    put_encoded(data, "type", BINDING_TYPE);
    put_encoded(data, "provider", BINDING_PROVIDER);
    put_encoded(data, "host", binding->host);
    put_encoded(data, "port", port);
    put_encoded(data, "username", binding->username);
    put_encoded(data, "password", binding->password);
    put_encoded(data, "database", binding->database);
    put_encoded(data, "ca.crt", binding->ca_pem);
    put_uri(data, binding);
    put_jdbc_uri(data, binding);
    return data;
}

json_t *binding_bundle_data(const char *ca_pem)
{
    return json_build("{s:s}", "ca.crt", ca_pem);
}
