/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/row_value.h"

#include <strings.h>

bool row_value_is_on(const char *value)
{
    return value && strcmp(value, "0") != 0 && strcasecmp(value, "OFF") != 0;
}

void row_value_take_flag(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(names);
    *(bool *)arg = count > 0 && row_value_is_on(values[0]);
}

void row_value_copy(char *to, size_t size, const char *text)
{
    size_t used = 0;

    for (; *text; text++) {
        if (*text == '\n' || *text == '\r')
            continue;
        if (used + 1 == size) {
            memcpy(to + size - sizeof("..."), "...", sizeof("..."));
            return;
        }
        to[used++] = *text;
    }
    to[used] = '\0';
}
