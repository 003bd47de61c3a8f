/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a list of Pods is cut into its items, as ratios to reading the same bytes (memcpy) and to jansson's parser.
 *
 *     gcc -std=gnu17 -O2 -D_GNU_SOURCE -I. e2e/bench/json_scan_bench.c build/libcommon.a -ljansson -o
 *     build/json_scan_bench
 *
 * Prints one line per way, best of several rounds in processor time; numbers of different machines do not compare, the
 * ratios do.
 */
#include "common/base.h"

#include <jansson.h>
#include <time.h>

#include "common/alloc.h"
#include "common/json_scan.h"

enum { PODS = 2000, ROUNDS = 7, CHUNK_BYTES = 16 * 1024 };

static void add_fields(struct strbuf *out, int pod)
{
    strbuf_adds(out, "\"managedFields\":[");
    for (int i = 0; i < 2; i++) {
        strbuf_addf(out,
            "%s{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":"
            "\"2026-01-02T03:04:%02dZ\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{",
            i ? "," : "", pod % 60);
        for (int j = 0; j < 40; j++)
            strbuf_addf(out,
                "%s\"k:{\\\"type\\\":\\\"Condition%d\\\"}\":{\".\":{},\"f:lastTransitionTime\":{},\"f:status\":{}}",
                j ? "," : "", j);
        strbuf_adds(out, "}}}}");
    }
    strbuf_adds(out, "]");
}

static void add_containers(struct strbuf *out)
{
    strbuf_adds(out, "\"containers\":[");
    for (int i = 0; i < 3; i++) {
        strbuf_addf(
            out, "%s{\"name\":\"c%d\",\"image\":\"registry.example/org/image:1.2.%d\",\"env\":[", i ? "," : "", i, i);
        for (int j = 0; j < 20; j++)
            strbuf_addf(
                out, "%s{\"name\":\"VARIABLE_%d\",\"value\":\"some value of moderate length %d\"}", j ? "," : "", j, j);
        strbuf_adds(out,
            "],\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}},\"terminationMessagePath\":\"/dev/"
            "termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}");
    }
    strbuf_adds(out, "]");
}

/* Shaped like what an API server sends: about 13 KB a Pod, half of it managedFields. */
static char *make_list(size_t *ret_len)
{
    struct strbuf out;
    strbuf_init(&out, 256 * KM_MIB);
    strbuf_adds(
        &out, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"12345\"},\"items\":[");
    for (int pod = 0; pod < PODS; pod++) {
        strbuf_addf(&out, "%s{\"metadata\":{\"name\":\"pod-%d\",\"uid\":\"3e11fa47-71ca-11e1-9e33-%012d\",",
            pod ? "," : "", pod, pod);
        add_fields(&out, pod);
        strbuf_adds(&out, "},\"spec\":{");
        add_containers(&out);
        strbuf_adds(&out, "},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.1.2.3\"}}");
    }
    strbuf_adds(&out, "]}\n");
    return strbuf_detach(&out, ret_len);
}

static int count_element(void *arg, struct json_slice element, struct error *err)
{
    UNUSED(element);
    UNUSED(err);
    ++*(size_t *)arg;
    return 0;
}

/* Reads one field of each element as a projection does. */
static int read_element(void *arg, struct json_slice element, struct error *err)
{
    UNUSED(err);
    *(size_t *)arg += json_slice_get(element, "metadata", "uid", NULL).len > 0;
    return 0;
}

static void cut(const char *data, size_t len, size_t chunk, int (*element)(void *, struct json_slice, struct error *))
{
    const struct json_cutter_ops ops = {.element = element};
    size_t count = 0;
    struct json_cutter *cutter = json_cutter_new("items", KUBE_OBJECT_MAX, &ops, &count);
    struct error err = ERROR_INIT;
    int rc = 0;
    for (size_t at = 0; at < len && rc == 0; at += chunk)
        rc = json_cutter_feed(cutter, data + at, MIN_OF(chunk, len - at), &err);
    if (rc != 0 || json_cutter_finish(cutter, &err) != 0 || count != PODS) {
        fprintf(stderr, "cut %zu elements: %s\n", count, err.message);
        exit(1);
    }
    json_cutter_free(cutter);
}

static void run_memcpy(const char *data, size_t len)
{
    static char chunk[CHUNK_BYTES];
    for (size_t at = 0; at < len; at += sizeof(chunk)) {
        memcpy(chunk, data + at, MIN_OF(sizeof(chunk), len - at));
        __asm__ volatile("" : : "r"(chunk) : "memory");
    }
}

static void run_cut_whole(const char *data, size_t len)
{
    cut(data, len, len, count_element);
}

static void run_cut_chunks(const char *data, size_t len)
{
    cut(data, len, CHUNK_BYTES, count_element);
}

static void run_cut_and_read(const char *data, size_t len)
{
    cut(data, len, CHUNK_BYTES, read_element);
}

static void run_jansson(const char *data, size_t len)
{
    json_decref(json_loadb(data, len, 0, NULL));
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(const char *data, size_t len);
        int rounds;
    } ways[] = {{"memcpy, 16 KiB chunks", run_memcpy, ROUNDS}, {"cutter, one chunk", run_cut_whole, ROUNDS},
        {"cutter, 16 KiB chunks", run_cut_chunks, ROUNDS}, {"cutter and metadata.uid", run_cut_and_read, ROUNDS},
        {"jansson", run_jansson, 2}};
    double rates[ARRAY_LEN(ways)] = {0};
    size_t len;
    char *data = make_list(&len);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        for (int round = 0; round < ways[i].rounds; round++) {
            double start = cpu_seconds();
            ways[i].run(data, len);
            double rate = (double)len / 1e6 / (cpu_seconds() - start);
            rates[i] = MAX_OF(rates[i], rate);
        }
    }
    printf("%d Pods, %.1f MB\n", PODS, (double)len / 1e6);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        printf("%-24s %7.0f MB/s  %6.3f of memcpy  %6.1f times jansson\n", ways[i].name, rates[i], rates[i] / rates[0],
            rates[i] / rates[ARRAY_LEN(ways) - 1]);
    free(data);
    return 0;
}
