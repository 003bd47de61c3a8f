/* SPDX-License-Identifier: Apache-2.0 */
/* watch_decoder_test.c: events out of chunks of any size. */
#include "common/base.h"

#include "operator/kube/watch_decoder.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/strbuf.h"

struct seen {
    struct strbuf text; /* "TYPE object;" of every event */
    int stop_after;
};

static int on_event(void *arg, enum watch_event_type type, struct json_slice object, struct error *err)
{
    struct seen *seen = arg;
    strbuf_addf(&seen->text, "%d ", (int)type);
    strbuf_add(&seen->text, object.data, MIN_OF(object.len, 64U));
    strbuf_addc(&seen->text, ';');
    return --seen->stop_after == 0 ? error_set(err, ERROR_GONE, "enough") : 0;
}

static int decode(const char *data, size_t len, size_t chunk, struct seen *seen, struct error *err)
{
    *seen = (struct seen){.stop_after = 0};
    strbuf_init(&seen->text, KM_MIB);
    struct watch_decoder *decoder = watch_decoder_new(on_event, seen);
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < len; at += chunk)
        rc = watch_decoder_feed(decoder, data + at, MIN_OF(chunk, len - at), err);
    if (rc == 0)
        rc = watch_decoder_finish(decoder, err);
    watch_decoder_free(decoder);
    return rc;
}

static const char stream[] = "{\"type\":\"ADDED\",\"object\":{\"a\":\"}\\\"{\\n\"}}\n"
                             "\r\n"
                             "{\"type\":\"MODIFIED\",\"object\":{}}\r\n"
                             "{\"object\":{\"b\":[1,2]},\"type\":\"DELETED\"}\n\n"
                             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\"}}\n"
                             "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";

static void test_any_chunks(void **state)
{
    UNUSED(state);
    for (size_t chunk = 1; chunk <= sizeof(stream); chunk++) {
        struct seen seen;
        struct error err = ERROR_INIT;
        assert_int_equal(decode(stream, strlen(stream), chunk, &seen, &err), 0);
        assert_string_equal(
            seen.text.buf, "0 {\"a\":\"}\\\"{\\n\"};1 {};2 {\"b\":[1,2]};3 {\"kind\":\"Pod\"};4 {\"code\":410};");
        strbuf_release(&seen.text);
    }
}

static void test_cut_anywhere(void **state)
{
    UNUSED(state);
    for (size_t len = 0; len < strlen(stream); len++) {
        struct seen seen;
        struct error err = ERROR_INIT;
        int rc = decode(stream, len, 7, &seen, &err);
        bool blank_line = len > 1 && stream[len - 1] == '\r' && stream[len - 2] == '\n';
        bool inside = len > 0 && stream[len - 1] != '\n' && !blank_line;
        assert_int_equal(rc, inside ? -1 : 0);
        assert_int_equal(err.kind, inside ? ERROR_PROTOCOL : ERROR_NONE);
        strbuf_release(&seen.text);
    }
}

static void test_bad_lines(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {"{}\n", "[]\n", "{\"type\":\"ADDED\"}\n", "{\"type\":\"ADDED\",\"object\":1}\n",
        "{\"type\":\"SOLD\",\"object\":{}}\n", "{\"object\":{}}\n", "{\"type\":\"ADDED\",\"object\":{}} x\n",
        "{\"type\":\"ADDED\",\"object\":{}\n", "}\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct seen seen;
        struct error err = ERROR_INIT;
        assert_int_equal(decode(bad[i], strlen(bad[i]), 5, &seen, &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
        assert_int_equal(seen.text.len, 0);
        strbuf_release(&seen.text);
    }
}

static void test_too_large(void **state)
{
    UNUSED(state);
    size_t len = KUBE_OBJECT_MAX + 64 * KM_KIB;
    char *line = xmalloc(len);
    memset(line, ' ', len);
    struct error err = ERROR_INIT;
    struct watch_decoder *decoder = watch_decoder_new(on_event, NULL);
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < len; at += 16384)
        rc = watch_decoder_feed(decoder, line + at, 16384, &err);
    assert_int_equal(rc, -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    watch_decoder_free(decoder);
    free(line);
}

static void test_handler_stops(void **state)
{
    UNUSED(state);
    struct seen seen = {.stop_after = 2};
    struct error err = ERROR_INIT;
    strbuf_init(&seen.text, KM_KIB);
    struct watch_decoder *decoder = watch_decoder_new(on_event, &seen);
    assert_int_equal(watch_decoder_feed(decoder, stream, strlen(stream), &err), -1);
    assert_int_equal(err.kind, ERROR_GONE);
    assert_int_equal(seen.stop_after, 0);
    watch_decoder_free(decoder);
    strbuf_release(&seen.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_chunks),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_handler_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
