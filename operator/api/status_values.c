/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/status_values.h"

#include "common/clock.h"
#include "common/json.h"

void status_put_texts(json_t *json, const void *record, const struct status_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = (const char *)record + texts[i].offset;
        if (*text)
            json_put_str(json, texts[i].key, text);
    }
}

void status_read_texts(const json_t *json, void *record, const struct status_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf((char *)record + texts[i].offset, texts[i].size, "%s", json_path_str(json, texts[i].key, ""));
}

void status_put_positive(json_t *json, const char *key, int64_t value)
{
    if (value > 0)
        json_put_int(json, key, value);
}

int status_clamp_int(int64_t value)
{
    return value < 0 ? 0 : (int)MIN_OF(value, INT_MAX);
}

void status_put_time(json_t *json, const char *key, int64_t realtime_ms)
{
    char text[CLOCK_RFC3339_SIZE];
    if (realtime_ms <= 0)
        return;
    clock_format_rfc3339(realtime_ms, text);
    json_put_str(json, key, text);
}

void status_put_time_ms(json_t *json, const char *key, int64_t realtime_ms)
{
    char text[CLOCK_RFC3339_MICRO_SIZE];
    if (realtime_ms <= 0)
        return;
    clock_format_rfc3339_micro(realtime_ms * 1000, text);
    memcpy(text + sizeof("2026-01-02T03:04:05.000") - 1, "Z", sizeof("Z"));
    json_put_str(json, key, text);
}

int64_t status_read_time(const json_t *json, const char *key)
{
    int64_t realtime_ms = 0;
    const char *text = json_path_str(json, key, NULL);
    if (!text || clock_parse_rfc3339(text, &realtime_ms) < 0)
        return 0;
    return MAX_OF(realtime_ms, 0);
}
