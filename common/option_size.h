/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_size.h: sizes as servers read them in option files and on command lines: "100M". Pure.
 *
 * A suffix multiplies by a power of 1,024: K M G T P E, in either case.
 * https://dev.mysql.com/doc/refman/8.4/en/using-system-variables.html
 * https://mariadb.com/kb/en/server-system-variables/
 */
#ifndef KM_OPTION_SIZE_H
#define KM_OPTION_SIZE_H

#include "common/base.h"

/* The number at the beginning of the text, with its suffix if there is one. Returns the length of both; 0: the text
 * does not begin with a digit, and *ret is 0. What is too large for *ret is UINT64_MAX. */
size_t option_size_read(const char *text, uint64_t *ret);

#endif
