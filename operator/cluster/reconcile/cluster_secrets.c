/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_secrets.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/strvec.h"
#include "operator/cluster/reconcile/secret_data.h"
#include "operator/plan/ownership.h"

enum secret_id { SECRET_ACCOUNTS, SECRET_CA, SECRET_TLS, SECRET_COUNT };

/* What is known of one Secret of ours. */
struct secret_state {
    char *name;
    char *uid;            /* of the live object; NULL: absent */
    json_t *data;         /* a copy of the live object's data; NULL: absent */
    json_t *adoption;     /* metadata of the patch that takes it over; NULL: it is ours, or will not be */
    struct error refusal; /* whose it is, if it is not ours */
};

/* One pass over the Secrets of a cluster. Steps: read (or assume absent) → work out patches → write → report. */
struct pass {
    struct kube_client *client;
    const struct kube_resource *resource;
    cluster_secrets_done_fn done;
    void *arg;
    char *ns, *uid;
    json_t *metadata;
    struct strvec dns_names;
    char *user_password; /* inline, or read from the user's Secret */
    char *held_password; /* of the user's account, once its Secret is written; NULL: none */
    char *user_secret_name;
    char *user_secret_key;
    bool generate_user_password, keep_user_password, of_root;
    bool adopts;
    bool assumed_absent; /* fresh cluster: nothing was read */
    bool want_client_tls;
    int64_t now_ms;
    struct secret_state secrets[SECRET_COUNT];
    struct tls_keypair ca, client_pair;
    json_t *tls_patch; /* waits until the CA that signed it is stored */
    struct cluster_secrets_facts known, facts;
    bool unchanged; /* the certificates are those of `known`, which has a TLS object of them */
    int pending;
    struct error first_error;
};

/* The answer to one request of a pass. */
struct secret_call {
    struct pass *pass;
    enum secret_id id;
};

static void pass_read(struct pass *pass);
static void pass_work(struct pass *pass);

static void pass_free(struct pass *pass)
{
    http_tls_unref(pass->known.client_tls);
    for (int i = 0; i < SECRET_COUNT; i++) {
        free(pass->secrets[i].name);
        free(pass->secrets[i].uid);
        json_decref(pass->secrets[i].data);
        json_decref(pass->secrets[i].adoption);
    }
    tls_keypair_release(&pass->ca);
    tls_keypair_release(&pass->client_pair);
    json_decref(pass->tls_patch);
    strvec_release(&pass->dns_names);
    json_decref(pass->metadata);
    secret_free(pass->user_password);
    secret_free(pass->held_password);
    free(pass->user_secret_name);
    free(pass->user_secret_key);
    free(pass->ns);
    free(pass->uid);
    free(pass);
}

static void pass_end(struct pass *pass)
{
    bool failed = pass->first_error.kind != ERROR_NONE;
    if (!failed && pass->want_client_tls && pass->unchanged)
        pass->facts.client_tls = http_tls_ref(pass->known.client_tls);
    else if (!failed && pass->want_client_tls) {
        const struct http_tls_options options = {
            .ca_pem = pass->ca.cert_pem,
            .cert_pem = pass->client_pair.cert_pem,
            .key_pem = pass->client_pair.key_pem,
        };
        pass->facts.client_tls = http_tls_new(&options);
        pass->facts.client_tls_digest = hash64(HASH64_INIT, options.ca_pem, strlen(options.ca_pem));
        pass->facts.client_tls_digest =
            hash64(pass->facts.client_tls_digest, options.cert_pem, strlen(options.cert_pem));
    }
    const struct cluster_credentials credentials = {.user_password = pass->held_password, .ca_pem = pass->ca.cert_pem};
    pass->done(pass->arg, &pass->facts, &credentials, failed ? &pass->first_error : NULL);
    pass_free(pass);
}

static void note_error(struct pass *pass, const struct error *err, const char *name)
{
    if (pass->first_error.kind)
        return;
    pass->first_error = *err;
    error_prefix(&pass->first_error, "Secret %s", name);
}

static struct secret_call *call_new(struct pass *pass, enum secret_id id)
{
    struct secret_call *call = xnew(struct secret_call);
    call->pass = pass;
    call->id = id;
    pass->pending++;
    return call;
}

static void secret_learn(const struct pass *pass, struct secret_state *secret, const json_t *object)
{
    const json_t *metadata = pass->metadata;
    str_replace(&secret->uid, json_path_str(object, "metadata.uid", NULL));
    json_decref(secret->data);
    const json_t *data = json_path(object, "data");
    secret->data = data ? json_deep_copy(data) : json_object();
    error_clear(&secret->refusal);
    json_decref(secret->adoption);
    secret->adoption = NULL;
    if (pass->adopts && ownership_is_orphan(object, metadata, kube_client_field_manager(pass->client)))
        secret->adoption = ownership_adoption(object, metadata);
    else if (ownership_check(object, metadata, &secret->refusal) < 0)
        error_prefix(&secret->refusal, "Secret %s", secret->name);
}

/* ---- reading ---- */

static void on_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    _cleanup_(freep) struct secret_call *call = arg;
    struct pass *pass = call->pass;
    struct secret_state *secret = &pass->secrets[call->id];
    if (!err)
        secret_learn(pass, secret, answer->object);
    else if (err->kind != ERROR_NOT_FOUND)
        note_error(pass, err, secret->name);
    if (--pass->pending == 0)
        pass_work(pass);
}

static void take_user_password(struct pass *pass, const json_t *secret)
{
    secret_data_key_names(json_path(secret, "data"), pass->facts.user_keys, sizeof(pass->facts.user_keys));
    _cleanup_(secret_freep) char *password = secret_data_get(json_path(secret, "data"), pass->user_secret_key);
    pass->facts.user_password = !password ? USER_PASSWORD_KEY_MISSING
        : str_empty(password)             ? USER_PASSWORD_EMPTY
                                          : USER_PASSWORD_OK;
    if (!str_empty(password))
        pass->user_password = steal_ptr(password);
}

static void on_user_secret(void *arg, const struct kube_answer *answer, const struct error *err)
{
    _cleanup_(freep) struct secret_call *call = arg;
    struct pass *pass = call->pass;
    if (!err)
        take_user_password(pass, answer->object);
    else if (err->kind == ERROR_NOT_FOUND)
        pass->facts.user_password = USER_PASSWORD_SECRET_MISSING;
    else
        note_error(pass, err, pass->user_secret_name);
    if (--pass->pending == 0)
        pass_work(pass);
}

static void read_user_secret(struct pass *pass)
{
    if (pass->user_secret_name && !pass->user_password)
        kube_get(pass->client, pass->resource, pass->ns, pass->user_secret_name, on_user_secret,
            call_new(pass, SECRET_ACCOUNTS));
}

static void pass_read(struct pass *pass)
{
    for (int i = 0; i < SECRET_COUNT; i++)
        kube_get(
            pass->client, pass->resource, pass->ns, pass->secrets[i].name, on_read, call_new(pass, (enum secret_id)i));
    read_user_secret(pass);
}

/* ---- writing ---- */

static void write_secret(struct pass *pass, enum secret_id id, const json_t *patch);

/* Only now: a certificate must never be out while the CA that signed it may still be lost. */
static bool write_tls(struct pass *pass)
{
    _cleanup_(json_decrefp) json_t *patch = steal_ptr(pass->tls_patch);
    if (patch && !pass->first_error.kind)
        write_secret(pass, SECRET_TLS, patch);
    return pass->pending > 0;
}

static void on_written(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    _cleanup_(freep) struct secret_call *call = arg;
    struct pass *pass = call->pass;
    if (err)
        note_error(pass, err, pass->secrets[call->id].name);
    if (--pass->pending > 0 || write_tls(pass))
        return;
    if (pass->first_error.kind == ERROR_EXISTS && pass->assumed_absent) { /* not so fresh: look, then do it again */
        error_clear(&pass->first_error);
        pass->assumed_absent = false;
        tls_keypair_release(&pass->ca);
        tls_keypair_release(&pass->client_pair);
        pass_read(pass);
        return;
    }
    if (pass->first_error.kind == ERROR_EXISTS) /* made since we looked: whose it is shows the next look */
        pass->first_error.kind = ERROR_CONFLICT;
    pass_end(pass);
}

static void write_new(struct pass *pass, enum secret_id id, const json_t *data)
{
    json_t *object = json_object();
    json_t *metadata = json_deep_copy(pass->metadata);
    json_put_str(metadata, "name", pass->secrets[id].name);
    json_put_str(metadata, "namespace", pass->ns);
    json_put_str(object, "apiVersion", "v1");
    json_put_str(object, "kind", "Secret");
    json_put_str(object, "type", "Opaque");
    json_put(object, "metadata", metadata);
    json_put(object, "data", json_deep_copy(data));
    kube_create(pass->client, pass->resource, pass->ns, object, on_written, call_new(pass, id));
    json_decref(object);
}

static void write_changes(struct pass *pass, enum secret_id id, const json_t *data)
{
    json_t *patch = json_object();
    json_t *metadata = pass->secrets[id].adoption ? json_incref(pass->secrets[id].adoption) : json_object();
    json_put_str(metadata, "uid", pass->secrets[id].uid);
    json_put(patch, "metadata", metadata);
    if (json_object_size(data) > 0)
        json_put(patch, "data", json_deep_copy(data));
    kube_patch(pass->client, pass->resource, pass->ns, pass->secrets[id].name, NULL, KUBE_PATCH_MERGE, patch,
        on_written, call_new(pass, id));
    json_decref(patch);
}

static void write_secret(struct pass *pass, enum secret_id id, const json_t *patch)
{
    struct secret_state *secret = &pass->secrets[id];
    if (!secret->uid)
        write_new(pass, id, patch);
    else if (json_object_size(patch) > 0 || secret->adoption)
        write_changes(pass, id, patch);
}

/* ---- deciding ---- */

static bool any_foreign(struct pass *pass)
{
    for (int i = 0; i < SECRET_COUNT; i++) {
        if (!pass->secrets[i].refusal.kind)
            continue;
        pass->first_error = pass->secrets[i].refusal;
        return true;
    }
    return false;
}

static enum secret_user user_action(const struct pass *pass)
{
    if (pass->user_password)
        return pass->of_root ? SECRET_USER_ROOT : SECRET_USER_GIVEN;
    if (pass->user_secret_name || pass->keep_user_password)
        return SECRET_USER_KEEP;
    return pass->generate_user_password ? SECRET_USER_GENERATE : SECRET_USER_NONE;
}

/* Of all that the certificates' validity hangs on but the time; 0 if a Secret is absent. */
static uint64_t certificates_digest(const struct pass *pass)
{
    static const enum secret_id holders[] = {SECRET_CA, SECRET_TLS};
    uint64_t digest = HASH64_INIT;
    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        const json_t *data = pass->secrets[holders[i]].data;
        if (!data)
            return 0;
        uint64_t part = json_hash(data);
        digest = hash64(digest, &part, sizeof(part));
    }
    for (size_t i = 0; i < pass->dns_names.n; i++)
        digest = hash64(digest, pass->dns_names.v[i], strlen(pass->dns_names.v[i]) + 1);
    return digest;
}

/* Nothing has changed since they were verified, not long ago. A clock that was set back is no reason to believe. */
static bool certificates_are_known(const struct pass *pass, uint64_t digest)
{
    const struct cluster_secrets_facts *known = &pass->known;
    int64_t left_ms = known->good_until_ms - pass->now_ms;
    return digest && digest == known->good_digest && left_ms > 0 && left_ms <= CLUSTER_CERTIFICATES_TRUST_MS;
}

static void take_known(struct pass *pass, json_t *patches[static SECRET_COUNT])
{
    const struct cluster_secrets_facts seen = pass->facts;
    const json_t *ca = pass->secrets[SECRET_CA].data;
    pass->facts = pass->known;
    pass->facts.user_password = seen.user_password;
    pass->facts.password_ends_line = seen.password_ends_line;
    memcpy(pass->facts.user_keys, seen.user_keys, sizeof(seen.user_keys));
    memcpy(pass->facts.accounts_hash, seen.accounts_hash, sizeof(seen.accounts_hash));
    memcpy(pass->facts.account_digests, seen.account_digests, sizeof(seen.account_digests));
    pass->facts.client_tls = NULL;
    pass->unchanged = pass->known.client_tls != NULL;
    pass->ca.cert_pem = secret_data_get(ca, "ca.crt");
    if (!pass->unchanged && pass->want_client_tls) /* the first agents are there */
        pass->client_pair = (struct tls_keypair){
            .cert_pem = secret_data_get(ca, "client.crt"), .key_pem = secret_data_get(ca, "client.key")};
    patches[SECRET_CA] = json_object();
    patches[SECRET_TLS] = json_object();
}

static int verify_certificates(struct pass *pass, json_t *patches[static SECRET_COUNT], struct error *err)
{
    const struct secret_state *secrets = pass->secrets;
    if (secret_data_ca(secrets[SECRET_CA].data, pass->secrets[SECRET_CA].name, pass->now_ms, &patches[SECRET_CA],
            &pass->ca, &pass->client_pair, err) < 0)
        return -1;
    return secret_data_tls(secrets[SECRET_TLS].data, &pass->ca, (const char *const *)pass->dns_names.v, pass->now_ms,
        &patches[SECRET_TLS], &pass->facts.certificate_not_after_ms, err);
}

static bool ends_line(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    return len > 0 && text[len - 1] == '\n';
}

static uint64_t password_digest(const char *uid, const char *password)
{
    if (!password)
        return 0;
    uint64_t digest = hash64(HASH64_INIT, str_or_empty(uid), strlen(str_or_empty(uid)) + 1);
    digest = hash64(digest, password, strlen(password));
    return digest ? digest : 1;
}

/* Of what the Secret holds when the patch is written. */
static void note_accounts(struct pass *pass, const json_t *data, const json_t *patch)
{
    char *passwords[ACCOUNT_KIND_COUNT];
    for (int i = 0; i < ACCOUNT_KIND_COUNT; i++) {
        const char *key = cluster_account_keys[i];
        passwords[i] = secret_data_get(json_object_get(patch, key) ? patch : data, key);
        pass->facts.account_digests[i] = password_digest(pass->uid, passwords[i]);
    }
    const struct agent_account_files files = {.root = passwords[ACCOUNT_ROOT],
        .replication = passwords[ACCOUNT_REPLICATION],
        .monitor = passwords[ACCOUNT_MONITOR],
        .user = passwords[ACCOUNT_USER]};
    agent_accounts_hash(pass->uid, &files, pass->facts.accounts_hash);
    for (int i = 0; i < ACCOUNT_KIND_COUNT; i++)
        secret_free(passwords[i]);
}

static void work_out_accounts(struct pass *pass, json_t *patches[static SECRET_COUNT])
{
    const json_t *data = pass->secrets[SECRET_ACCOUNTS].data;
    json_t *patch = secret_data_accounts(data, user_action(pass), pass->user_password);
    secret_free(pass->held_password);
    pass->held_password = secret_data_get(json_object_get(patch, "user") ? patch : data, "user");
    pass->facts.password_ends_line = ends_line(pass->user_password);
    note_accounts(pass, data, patch);
    patches[SECRET_ACCOUNTS] = patch;
}

static int work_out(struct pass *pass, json_t *patches[static SECRET_COUNT], struct error *err)
{
    uint64_t digest = certificates_digest(pass);
    work_out_accounts(pass, patches);
    if (certificates_are_known(pass, digest)) {
        take_known(pass, patches);
        return 0;
    }
    if (verify_certificates(pass, patches, err) < 0)
        return -1;
    if (json_object_size(patches[SECRET_CA]) == 0 && json_object_size(patches[SECRET_TLS]) == 0) {
        pass->facts.good_digest = digest;
        pass->facts.good_until_ms = pass->now_ms + CLUSTER_CERTIFICATES_TRUST_MS;
    }
    return 0;
}

static void pass_work(struct pass *pass)
{
    json_t *patches[SECRET_COUNT] = {NULL};
    if (pass->first_error.kind || any_foreign(pass) || work_out(pass, patches, &pass->first_error) < 0) {
        for (int i = 0; i < SECRET_COUNT; i++)
            json_decref(patches[i]);
        pass_end(pass);
        return;
    }
    pass->tls_patch = patches[SECRET_TLS];
    for (int i = 0; i < SECRET_TLS; i++) {
        write_secret(pass, (enum secret_id)i, patches[i]);
        json_decref(patches[i]);
    }
    if (pass->pending == 0 && !write_tls(pass))
        pass_end(pass);
}

static void pass_copy_names(struct pass *pass, const struct cluster_secrets_request *request)
{
    const char *names[SECRET_COUNT] = {request->accounts_name, request->ca_name, request->tls_name};
    for (int i = 0; i < SECRET_COUNT; i++)
        pass->secrets[i].name = xstrdup(names[i]);
    strvec_init(&pass->dns_names);
    strvec_push_all(&pass->dns_names, request->dns_names);
    pass->ns = xstrdup(request->ns);
    pass->uid = xstrdup(request->uid);
    pass->user_secret_name = xstrdup(request->user_secret_name);
    pass->user_secret_key = xstrdup(request->user_secret_key);
}

void cluster_secrets_ensure(struct kube_client *client, const struct kube_resource *secret,
    const struct cluster_secrets_request *request, cluster_secrets_done_fn done, void *arg)
{
    struct pass *pass = xnew(struct pass);
    pass->client = client;
    pass->resource = secret;
    pass->done = done;
    pass->arg = arg;
    pass->metadata = json_deep_copy(request->metadata);
    pass->now_ms = request->now_ms;
    pass->want_client_tls = request->want_client_tls;
    pass->of_root = request->password_of_root;
    pass->adopts = request->adopts;
    pass->generate_user_password = request->generate_user_password;
    pass->keep_user_password = request->keep_user_password;
    pass_copy_names(pass, request);
    if (request->user_password) {
        pass->user_password = xstrdup(request->user_password);
        pass->facts.user_password = USER_PASSWORD_OK;
    }
    if (request->known) {
        pass->known = *request->known;
        http_tls_ref(pass->known.client_tls);
    }
    pass->assumed_absent = request->fresh;
    if (!request->fresh) {
        pass_read(pass);
        return;
    }
    read_user_secret(pass);
    if (pass->pending == 0)
        pass_work(pass);
}
