/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/option_size.h"

#include <ctype.h>

size_t option_size_read(const char *text, uint64_t *ret)
{
    static const char suffixes[] = "KMGTPE";
    char *end = (char *)(uintptr_t)text;
    uint64_t number = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    const char *suffix = end > text && *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;

    *ret = number > UINT64_MAX >> shift ? UINT64_MAX : number << shift;
    return (size_t)(end - text) + (suffix != NULL);
}
