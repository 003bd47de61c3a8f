/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/tail_client.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/http_client.h"
#include "common/strbuf.h"
#include "common/tls.h"

struct answer {
    bool done;
    int code;
    char text[200];
};

static void on_answer(void *arg, const struct http_response *response, const struct error *err)
{
    struct answer *answer = arg;

    answer->done = true;
    answer->code = err ? 0 : response->status;
    snprintf(answer->text, sizeof(answer->text), "%s", err ? err->message : response->body);
}

char *tail_client_text(const struct agent_rig *rig, const char *name)
{
    struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(rig, name), &text, NULL), 0);
    return strbuf_detach(&text, NULL);
}

static struct http_tls *identity_tls(const struct agent_rig *rig, const char *identity)
{
    _cleanup_(freep) char *ca = tail_client_text(rig, "tls/ca.crt");
    _cleanup_(freep) char *cert_name = xasprintf("%s.crt", str_or_empty(identity));
    _cleanup_(freep) char *key_name = xasprintf("%s.key", str_or_empty(identity));
    _cleanup_(freep) char *cert = identity ? tail_client_text(rig, cert_name) : NULL;
    _cleanup_(freep) char *key = identity ? tail_client_text(rig, key_name) : NULL;
    struct http_tls_options options = {.ca_pem = ca, .cert_pem = cert, .key_pem = key};

    return http_tls_new(&options);
}

int tail_client_ask(struct replication_rig *rig, unsigned member, const char *identity, const char *after)
{
    _cleanup_(freep) char *url =
        xasprintf("https://localhost:%u/v1/binlogs/tail?after=%s", rig->members[member].rig->tls_port, after);
    struct http_tls *tls = identity_tls(rig->members[0].rig, identity);
    struct http_client *client = http_client_new(rig->loop);
    struct answer answer = {0};
    struct http_request_options options = {
        .method = "GET", .url = url, .tls = tls, .timeout_ms = 10000, .done = on_answer, .arg = &answer};

    http_client_start(client, &options);
    while (!answer.done)
        loop_run_once(rig->loop, 1000);
    http_client_free(client);
    http_tls_unref(tls);
    if (answer.code != 200)
        printf("tail: %d %s\n", answer.code, answer.text);
    return answer.code;
}

/* The newest binary log of a member; its server is down. */
char *tail_newest_log(const struct agent_rig *rig)
{
    _cleanup_(freep) char *index = tail_client_text(rig, "vol/data/binlog.index");
    char *last = NULL;

    for (char *at = index; (at = strstr(at, "binlog.")); at++)
        last = at;
    assert_non_null(last);
    if (!last) /* for analysers, who do not know what assert_non_null does */
        return NULL;
    last[strcspn(last, "\n")] = '\0';
    return xasprintf("vol/data/%s", last);
}

void tail_change_log(const struct agent_rig *rig, const char *name, long at, const void *bytes, size_t len)
{
    FILE *file = fopen(agent_rig_path(rig, name), "r+e");

    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

void tail_append_log(const struct agent_rig *rig, const char *name, const void *bytes, size_t len)
{
    FILE *file = fopen(agent_rig_path(rig, name), "ae");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}
