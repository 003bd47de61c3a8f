/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h: structured records on standard error, one line each.
 *
 *     log_info("cluster accepted", LOG_STR("cluster", key), LOG_INT("generation", gen));
 *
 * Two formats: JSON ({"time":...,"level":"info","msg":...,fields}) and text for terminals
 * (`12:34:56.789 INFO  cluster accepted cluster=a/b generation=3`). A record longer than LOG_RECORD_MAX is cut and says
 * so. The configuration is process-wide and set once in main() before any thread starts; writing is thread-safe
 * (one write(2) a record). Values are copied out at once, nothing is kept. Never log secrets (I9).
 */
#ifndef KM_COMMON_LOG_H
#define KM_COMMON_LOG_H

#include "common/base.h"

#include "common/error.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_FORMAT_JSON, LOG_FORMAT_TEXT };

struct log_field {
    const char *key;
    enum { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_BOOL, LOG_FIELD_ERROR } type;
    union {
        const char *str; /* NULL is written as an empty string */
        int64_t i;
        bool b;
        const struct error *err; /* written as "error" (message) and "errorKind" */
    };
};

#define LOG_STR(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_STR, .str = (v)})
#define LOG_INT(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_INT, .i = (int64_t)(v)})
#define LOG_BOOL(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_BOOL, .b = (v)})
#define LOG_ERR(e) ((struct log_field){.key = "error", .type = LOG_FIELD_ERROR, .err = (e)})

void log_setup(enum log_level level, enum log_format format, int fd);
/* "debug", "info", "warn", "error" / "json", "text"; -1 if it is none of them. */
int log_level_parse(const char *s, enum log_level *ret);
int log_format_parse(const char *s, enum log_format *ret);
bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t count);

#define LOG_AT(level, msg, ...)                                                     \
    do {                                                                            \
        if (log_enabled(level)) {                                                   \
            const struct log_field log_fields_[] = {{.key = NULL}, ##__VA_ARGS__};  \
            log_write((level), (msg), log_fields_ + 1, ARRAY_LEN(log_fields_) - 1); \
        }                                                                           \
    } while (0)
#define log_debug(msg, ...) LOG_AT(LOG_DEBUG, msg, ##__VA_ARGS__)
#define log_info(msg, ...) LOG_AT(LOG_INFO, msg, ##__VA_ARGS__)
#define log_warn(msg, ...) LOG_AT(LOG_WARN, msg, ##__VA_ARGS__)
#define log_error(msg, ...) LOG_AT(LOG_ERROR, msg, ##__VA_ARGS__)

#endif
