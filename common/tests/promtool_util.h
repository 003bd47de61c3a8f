/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promtool_util.h: what Prometheus says of a text that is served as metrics.
 */
#ifndef KM_COMMON_TESTS_PROMTOOL_UTIL_H
#define KM_COMMON_TESTS_PROMTOOL_UTIL_H

#include "common/base.h"

/* `promtool check metrics`: names, types, units and help texts as the conventions want them. Skips the test where there
 * is no promtool (Debian's package prometheus, which `make deps` installs); fails it, and prints why, when something is
 * said against the text. */
void promtool_check_metrics(const char *text);

#endif
