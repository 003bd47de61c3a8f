/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_store.h"

struct call {
    struct loop *loop;
    struct error error; /* the store's */
    struct error own;   /* of what is done with its answer: counts more */
    int (*each)(void *arg, const char *name, struct error *err);
    int (*data)(void *arg, const char *data, size_t len, struct error *err);
    struct strbuf *out;
    void *arg;
};

static void on_done(void *arg, const struct error *err)
{
    struct call *call = arg;

    if (err)
        call->error = *err;
    loop_stop(call->loop);
}

static int finish(struct call *call, struct error *err)
{
    loop_run(call->loop);
    const struct error *failure = call->own.kind != ERROR_NONE ? &call->own : &call->error;
    if (failure->kind == ERROR_NONE)
        return 0;
    if (err)
        *err = *failure;
    return -1;
}

static int on_entry(void *arg, const struct object_entry *entry)
{
    struct call *call = arg;

    return call->each(call->arg, entry->name, &call->own);
}

int replay_store_list(const struct replay_store *store, const char *under,
    int (*each)(void *arg, const char *name, struct error *err), void *arg, struct error *err)
{
    struct call call = {.loop = store->loop, .each = each, .arg = arg};

    object_list(store->store, under, '/', on_entry, on_done, &call);
    return finish(&call, err);
}

static void on_got(void *arg, const struct object_got *got, const struct error *err)
{
    struct call *call = arg;

    if (!err)
        strbuf_add(call->out, got->body, got->len);
    on_done(arg, err);
}

int replay_store_get(
    const struct replay_store *store, const char *name, size_t max, struct strbuf *out, struct error *err)
{
    struct call call = {.loop = store->loop, .out = out};

    object_get(store->store, name, max, on_got, &call);
    return finish(&call, err);
}

static int on_data(void *arg, const char *data, size_t len)
{
    struct call *call = arg;

    return call->data(call->arg, data, len, &call->own);
}

int replay_store_read(const struct replay_store *store, const char *name,
    int (*data)(void *arg, const char *data, size_t len, struct error *err), void *arg, struct error *err)
{
    struct call call = {.loop = store->loop, .data = data, .arg = arg};

    object_read(store->store, name, 0, on_data, on_done, &call);
    return finish(&call, err);
}
