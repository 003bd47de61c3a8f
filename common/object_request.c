/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/object_request.h"

void object_request_begin(struct object_request *request, struct object_store *store, object_done_fn done, void *arg)
{
    request->store = store;
    request->done = done;
    request->arg = arg;
    list_push_back(&store->requests, &request->node);
}

void object_request_call(struct object_request *request, const struct object_call_options *options)
{
    request->call = object_call_start(request->store, options);
    object_call_set_paused(request->call, request->paused);
}

void object_request_refuse(struct object_request *request, const struct error *err,
    void (*done)(void *arg, const struct object_answer *answer, const struct error *err))
{
    request->call = object_call_fail(request->store, err, done, request);
}

void object_request_free(struct object_request *request)
{
    list_remove(&request->node);
    if (request->release)
        request->release(request);
    free(request);
}

void object_request_end(struct object_request *request, const struct error *err)
{
    const object_done_fn done = request->done;
    void *arg = request->arg;
    object_request_free(request);
    done(arg, err);
}

void object_request_settle(void *arg, const struct object_answer *answer, const struct error *err)
{
    UNUSED(answer);
    object_request_end(arg, err);
}

void object_request_cancel(struct object_request *request)
{
    object_call_cancel(request->call);
    object_request_free(request);
}

void object_request_pause(struct object_request *request)
{
    request->paused = true;
    object_call_set_paused(request->call, true);
}

void object_request_resume(struct object_request *request)
{
    request->paused = false;
    object_call_set_paused(request->call, false);
}
