/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hex.h: bytes as lower-case hex digits, and back. Pure.
 */
#ifndef KM_COMMON_HEX_H
#define KM_COMMON_HEX_H

#include "common/base.h"

/* out has 2 * len + 1 bytes. */
void hex_print(const unsigned char *data, size_t len, char *out);
/* False: text is NULL, has not exactly 2 * len digits, or one of them is in upper case; out is spoiled then. */
bool hex_parse(const char *text, unsigned char *out, size_t len) KM_MUST_CHECK;

#endif
