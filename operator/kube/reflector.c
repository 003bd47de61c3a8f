/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/reflector.h"

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/list.h"
#include "common/log.h"

/* Pages under way at once: one streams while the server prepares the next. */
#define LIST_PAGES_AHEAD 2
#define LIST_IDLE_TIMEOUT_MS 30000
#define LIST_RECEIVE_BUFFER_BYTES (128 * KM_KIB)
#define LIST_METADATA_MAX (64 * KM_KIB)
#define WATCH_TIMEOUT_MIN_MS (5 * 60000)
#define WATCH_TIMEOUT_SPREAD_MS (5 * 60000)
/* How much later than it promised a server may end a watch: a part of its time, at most this. */
#define WATCH_GRACE_MAX_MS 30000
#define WATCH_GRACE_MIN_MS 1000
/* A watch that ends cleanly sooner than this without a word is backed off like a failed one. */
#define WATCH_HEALTHY_MS 1000
/* So many watches refused one after the other with an HTTP status: the version in hand may be the reason. */
#define WATCH_REFUSALS_MAX 5
static const struct backoff_policy retry_policy = {.base_ms = 100, .max_ms = 10000, .jitter_percent = 50};

struct list_page {
    struct list_node node;
    struct reflector *reflector;
    struct kube_request *request;
    struct json_cutter *cutter;
    struct error err; /* why we ended it ourselves */
};

struct reflector {
    struct loop *loop;
    struct kube_client *client;
    const struct kube_resource *resource;
    char *ns;
    char *selectors; /* "&labelSelector=...&fieldSelector=..." or "" */
    int64_t watch_timeout_ms;
    struct reflector_ops ops;
    void *arg;
    struct loop_timer timer; /* the next list or watch */
    bool must_list;
    uint64_t random_state;

    struct list_node pages; /* of the list in progress */
    size_t page_count;
    bool listing;
    char *next_page;    /* continue token of the page to ask for next, NULL: none (yet) */
    char *list_version; /* of the first page; later pages show the same snapshot */
    struct backoff list_backoff;

    struct kube_request *watch;
    struct watch_decoder *decoder;
    struct error watch_err; /* why we ended it ourselves */
    char *version;
    int64_t watch_started_ms;
    int64_t last_data_ms;
    bool watch_spoke; /* an event or a bookmark came */
    int refusals;
    struct backoff watch_backoff;

    struct metric *lists_metric, *watches_metric;
};

/* ---- life ---- */

static void on_timer(void *arg);

static char *make_selectors(const struct informer_options *options)
{
    struct strbuf out;
    strbuf_init(&out, 16 * KM_KIB);
    if (options->label_selector) {
        strbuf_adds(&out, "&labelSelector=");
        strbuf_add_urlencoded(&out, options->label_selector);
    }
    if (options->field_selector) {
        strbuf_adds(&out, "&fieldSelector=");
        strbuf_add_urlencoded(&out, options->field_selector);
    }
    return strbuf_detach(&out, NULL);
}

static void declare_metrics(struct reflector *reflector, struct metrics *metrics)
{
    static const struct metric_desc lists = {
        .name = "kubemysql_informer_lists_total",
        .help = "Complete lists read; one per informer unless a watch could not be resumed.",
        .type = METRIC_COUNTER,
        .labels = {"resource"},
    };
    static const struct metric_desc watches = {
        .name = "kubemysql_informer_watches_total",
        .help = "Watches begun, resumed ones included.",
        .type = METRIC_COUNTER,
        .labels = {"resource"},
    };
    if (!metrics)
        return;
    reflector->lists_metric = metric_of1(metrics_declare(metrics, &lists), reflector->resource->kind->plural);
    reflector->watches_metric = metric_of1(metrics_declare(metrics, &watches), reflector->resource->kind->plural);
}

struct reflector *reflector_new(struct loop *loop, struct kube_client *client, const struct kube_resource *resource,
    const struct informer_options *options, const struct reflector_ops *ops, void *arg)
{
    struct reflector *reflector = xnew(struct reflector);
    reflector->loop = loop;
    reflector->client = client;
    reflector->resource = resource;
    reflector->ns = xstrdup(options->ns);
    reflector->selectors = make_selectors(options);
    reflector->watch_timeout_ms = options->watch_timeout_ms;
    reflector->ops = *ops;
    reflector->arg = arg;
    reflector->must_list = true;
    reflector->version = xstrdup("");
    reflector->random_state = random_seed();
    reflector->list_backoff.random_state = random_next(&reflector->random_state);
    reflector->watch_backoff.random_state = random_next(&reflector->random_state);
    list_init(&reflector->pages);
    loop_timer_init(&reflector->timer, loop, on_timer, reflector);
    declare_metrics(reflector, options->metrics);
    return reflector;
}

static void page_free(struct list_page *page)
{
    list_remove(&page->node);
    page->reflector->page_count--;
    if (page->request)
        kube_request_cancel(page->request);
    json_cutter_free(page->cutter);
    free(page);
}

static void pages_free(struct reflector *reflector)
{
    while (!list_empty(&reflector->pages))
        page_free(container_of(list_next(&reflector->pages), struct list_page, node));
    str_replace(&reflector->next_page, NULL);
    str_replace(&reflector->list_version, NULL);
}

void reflector_free(struct reflector *reflector)
{
    if (!reflector)
        return;
    pages_free(reflector);
    if (reflector->watch)
        kube_request_cancel(reflector->watch);
    watch_decoder_free(reflector->decoder);
    loop_timer_release(&reflector->timer);
    free(reflector->version);
    free(reflector->selectors);
    free(reflector->ns);
    free(reflector);
}

void reflector_start(struct reflector *reflector)
{
    loop_timer_arm(&reflector->timer, 0);
}

bool reflector_listing(const struct reflector *reflector)
{
    return reflector->listing;
}

const char *reflector_version(const struct reflector *reflector)
{
    return reflector->version;
}

int64_t reflector_silence_ms(const struct reflector *reflector)
{
    return reflector->watch ? loop_now_ms(reflector->loop) - reflector->last_data_ms : 0;
}

static void make_path(const struct reflector *reflector, struct strbuf *out)
{
    strbuf_init(out, 64 * KM_KIB);
    kube_resource_path(reflector->resource, reflector->ns, NULL, NULL, out);
}

static void schedule(struct reflector *reflector, bool list, int64_t delay_ms)
{
    reflector->must_list = list;
    loop_timer_arm(&reflector->timer, delay_ms);
}

/* ---- list ---- */

static void list_failed(struct reflector *reflector, const struct error *err)
{
    pages_free(reflector);
    reflector->listing = false;
    reflector->ops.list_end(reflector->arg, NULL);
    int64_t delay_ms = backoff_next_ms(&reflector->list_backoff, &retry_policy);
    delay_ms = MAX_OF(delay_ms, (int64_t)err->retry_after_ms);
    struct error failure = *err;
    kube_resource_explain(reflector->resource->kind, &failure);
    log_warn("list failed", LOG_STR("resource", reflector->resource->kind->plural), LOG_ERR(&failure),
        LOG_INT("againInMs", delay_ms));
    schedule(reflector, true, delay_ms);
}

static void list_complete(struct reflector *reflector)
{
    reflector->listing = false;
    str_replace(&reflector->version, reflector->list_version);
    str_replace(&reflector->list_version, NULL);
    backoff_reset(&reflector->list_backoff);
    if (reflector->lists_metric)
        metric_inc(reflector->lists_metric);
    schedule(reflector, false, 0);
    reflector->ops.list_end(reflector->arg, reflector->version);
}

static int on_list_object(void *arg, struct json_slice object, struct error *err)
{
    UNUSED(err);
    struct list_page *page = arg;
    page->reflector->ops.list_object(page->reflector->arg, object);
    return 0;
}

static void list_advance(struct reflector *reflector);

/* The metadata of a list stands in front of its items: the next page can be asked for while they stream. */
static int on_list_member(void *arg, struct json_slice key, struct json_slice value, struct error *err)
{
    struct list_page *page = arg;
    struct reflector *reflector = page->reflector;
    if (key.len != strlen("metadata") || memcmp(key.data, "metadata", key.len) != 0)
        return 0;
    _cleanup_(freep) char *version = json_slice_strdup(json_slice_member(value, "resourceVersion"));
    if (str_empty(version))
        return error_set(err, ERROR_PROTOCOL, "a list without resourceVersion");
    if (!reflector->list_version)
        reflector->list_version = steal_ptr(version);
    char *token = json_slice_strdup(json_slice_member(value, "continue"));
    if (str_empty(token)) {
        free(token);
        return 0;
    }
    free(reflector->next_page);
    reflector->next_page = token;
    list_advance(reflector);
    return 0;
}

static int on_page_data(void *arg, const char *data, size_t len)
{
    struct list_page *page = arg;
    return json_cutter_feed(page->cutter, data, len, &page->err);
}

static void on_page_done(void *arg, const struct error *stream_err)
{
    struct list_page *page = arg;
    struct reflector *reflector = page->reflector;
    struct error err = page->err;
    page->request = NULL;
    if (err.kind == ERROR_NONE && stream_err)
        err = *stream_err;
    if (err.kind == ERROR_NONE && json_cutter_finish(page->cutter, &err) == 0 && !reflector->list_version)
        error_set(&err, ERROR_PROTOCOL, "a list without metadata");
    page_free(page);
    if (err.kind != ERROR_NONE) {
        list_failed(reflector, &err);
        return;
    }
    list_advance(reflector);
    if (reflector->page_count == 0)
        list_complete(reflector);
}

static void page_start(struct reflector *reflector, const char *token)
{
    static const struct json_cutter_ops cutter_ops = {.element = on_list_object, .member = on_list_member};
    static const struct kube_stream_ops stream_ops = {.data = on_page_data, .done = on_page_done};
    struct list_page *page = xnew(struct list_page);
    page->reflector = reflector;
    page->cutter = json_cutter_new("items", KUBE_OBJECT_MAX, &cutter_ops, page);
    list_push_back(&reflector->pages, &page->node);
    reflector->page_count++;
    _cleanup_(strbuf_release) struct strbuf path;
    make_path(reflector, &path);
    strbuf_addf(&path, "?limit=%d%s", KUBE_LIST_PAGE, reflector->selectors);
    if (token) {
        strbuf_adds(&path, "&continue=");
        strbuf_add_urlencoded(&path, token);
    }
    struct kube_stream_ops ops = stream_ops;
    ops.receive_buffer_bytes = LIST_RECEIVE_BUFFER_BYTES;
    ops.resource = reflector->resource->kind->plural;
    page->request = kube_stream(reflector->client, path.buf, LIST_IDLE_TIMEOUT_MS, &ops, page);
}

static void list_advance(struct reflector *reflector)
{
    if (!reflector->next_page || reflector->page_count >= LIST_PAGES_AHEAD)
        return;
    _cleanup_(freep) char *token = steal_ptr(reflector->next_page);
    page_start(reflector, token);
}

static void list_start(struct reflector *reflector)
{
    reflector->listing = true;
    reflector->ops.list_begin(reflector->arg);
    page_start(reflector, NULL);
}

/* ---- watch ---- */

static bool went_back(const char *before, const char *now)
{
    int order;
    return kube_version_compare(now, before, &order) && order < 0;
}

/* Remembers how far the stream is. A bookmark behind it means that etcd was restored to an older state: nothing that
 * we hold can be trusted then. */
static int advance_version(
    struct reflector *reflector, enum watch_event_type type, struct json_slice object, struct error *err)
{
    _cleanup_(freep) char *version = json_slice_strdup(json_slice_get(object, "metadata", "resourceVersion", NULL));
    if (str_empty(version))
        return error_set(err, ERROR_PROTOCOL, "a watch event without resourceVersion");
    if (went_back(reflector->version, version)) {
        if (type != WATCH_BOOKMARK)
            return 0;
        return error_set(
            err, ERROR_GONE, "the watch went back from resourceVersion %s to %s", reflector->version, version);
    }
    free(reflector->version);
    reflector->version = steal_ptr(version);
    return 0;
}

static int on_event(void *arg, enum watch_event_type type, struct json_slice object, struct error *err)
{
    struct reflector *reflector = arg;
    if (type == WATCH_ERROR) {
        int code = (int)json_slice_int(json_slice_member(object, "code"), 0);
        return kube_error_from_status(err, code, object.data, object.len);
    }
    reflector->watch_spoke = true;
    reflector->refusals = 0;
    backoff_reset(&reflector->watch_backoff);
    if (type != WATCH_BOOKMARK)
        reflector->ops.event(reflector->arg, type, object);
    return advance_version(reflector, type, object, err);
}

static int on_watch_data(void *arg, const char *data, size_t len)
{
    struct reflector *reflector = arg;
    reflector->last_data_ms = loop_now_ms(reflector->loop);
    return watch_decoder_feed(reflector->decoder, data, len, &reflector->watch_err);
}

static bool must_list_after(struct reflector *reflector, const struct error *err)
{
    if (err->kind == ERROR_GONE || err->kind == ERROR_INVALID)
        return true;
    if (err->code >= 400 && ++reflector->refusals >= WATCH_REFUSALS_MAX) {
        reflector->refusals = 0;
        return true;
    }
    return false;
}

static void on_watch_done(void *arg, const struct error *stream_err)
{
    struct reflector *reflector = arg;
    struct error err = reflector->watch_err;
    reflector->watch = NULL;
    if (err.kind == ERROR_NONE && stream_err)
        err = *stream_err;
    if (err.kind == ERROR_NONE)
        (void)!watch_decoder_finish(reflector->decoder, &err);
    watch_decoder_free(steal_ptr(reflector->decoder));
    bool healthy =
        reflector->watch_spoke || loop_now_ms(reflector->loop) - reflector->watch_started_ms >= WATCH_HEALTHY_MS;
    if (err.kind == ERROR_NONE && healthy) { /* the server's time for one watch was over */
        backoff_reset(&reflector->watch_backoff);
        schedule(reflector, false, 0);
        return;
    }
    bool list = must_list_after(reflector, &err);
    int64_t delay_ms = backoff_next_ms(&reflector->watch_backoff, &retry_policy);
    delay_ms = MAX_OF(delay_ms, (int64_t)err.retry_after_ms);
    log_info("watch ended", LOG_STR("resource", reflector->resource->kind->plural), LOG_ERR(&err),
        LOG_STR("then", list ? "list" : "resume"), LOG_INT("inMs", delay_ms));
    schedule(reflector, list, delay_ms);
}

static void watch_start(struct reflector *reflector)
{
    int64_t timeout_ms = reflector->watch_timeout_ms;
    if (timeout_ms <= 0) /* at random, so that watches do not end in step */
        timeout_ms =
            WATCH_TIMEOUT_MIN_MS + (int64_t)(random_next(&reflector->random_state) % (uint64_t)WATCH_TIMEOUT_SPREAD_MS);
    _cleanup_(strbuf_release) struct strbuf path;
    make_path(reflector, &path);
    strbuf_addf(&path, "?watch=1&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%lld%s", reflector->version,
        (long long)MAX_OF(timeout_ms / 1000, 1), reflector->selectors);
    reflector->decoder = watch_decoder_new(on_event, reflector);
    reflector->watch_err = (struct error)ERROR_INIT;
    reflector->watch_spoke = false;
    reflector->watch_started_ms = reflector->last_data_ms = loop_now_ms(reflector->loop);
    if (reflector->watches_metric)
        metric_inc(reflector->watches_metric);
    const struct kube_stream_ops ops = {
        .data = on_watch_data, .done = on_watch_done, .resource = reflector->resource->kind->plural, .is_watch = true};
    const int64_t grace_ms = MIN_OF(WATCH_GRACE_MIN_MS + timeout_ms / 4, WATCH_GRACE_MAX_MS);
    reflector->watch = kube_stream(reflector->client, path.buf, timeout_ms + grace_ms, &ops, reflector);
}

static void on_timer(void *arg)
{
    struct reflector *reflector = arg;
    if (reflector->must_list)
        list_start(reflector);
    else
        watch_start(reflector);
}
