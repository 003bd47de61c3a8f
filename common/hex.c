/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/hex.h"

static const char digits[] = "0123456789abcdef";

void hex_print(const unsigned char *data, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * len] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_parse(const char *text, unsigned char *out, size_t len)
{
    if (!text || strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        const int high = digit_value(text[2 * i]);
        const int low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
