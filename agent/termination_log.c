/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/termination_log.h"

#include <stdio.h>

void termination_log_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return;
    fputs(text, file);
    fclose(file);
}
