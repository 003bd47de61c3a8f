/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_value.h: what a server says in one column of a row, as a flag or a text. Pure.
 */
#ifndef KM_AGENT_MYSQL_ROW_VALUE_H
#define KM_AGENT_MYSQL_ROW_VALUE_H

#include "common/base.h"

/* A variable that is on or off, in either spelling. NULL is off. */
bool row_value_is_on(const char *value);
/* For session_query: whether the first column is on; arg is a bool, which keeps its value when there is no row. */
void row_value_take_flag(void *arg, unsigned count, const char *const *names, const char *const *values);
/* At most size - 1 bytes, cut texts end in "..."; line breaks are left out. */
void row_value_copy(char *to, size_t size, const char *text);

#endif
