/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h: time. Pure code takes "now" as an argument; only the edges ask here.
 *
 * Monotonic milliseconds drive every timeout; wall-clock milliseconds since 1970 only appear in what people and the API
 * read (conditions, certificates).
 */
#ifndef KM_COMMON_CLOCK_H
#define KM_COMMON_CLOCK_H

#include "common/base.h"

#define CLOCK_RFC3339_SIZE sizeof("2026-01-02T03:04:05Z")
#define CLOCK_RFC3339_MICRO_SIZE sizeof("2026-01-02T03:04:05.000006Z")

int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
int64_t clock_realtime_ms(void);
int64_t clock_realtime_us(void);

/* metav1.Time: RFC 3339 in UTC with whole seconds. */
void clock_format_rfc3339(int64_t realtime_ms, char out[static CLOCK_RFC3339_SIZE]);
/* metav1.MicroTime (Leases): RFC 3339 with six decimals. */
void clock_format_rfc3339_micro(int64_t realtime_us, char out[static CLOCK_RFC3339_MICRO_SIZE]);
/* Reads either form, any number of decimals, "Z" or a numeric offset. -1 if it is no such time. */
int clock_parse_rfc3339(const char *s, int64_t *ret_realtime_ms);

#endif
