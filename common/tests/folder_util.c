/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/folder_util.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <cmocka.h>

void folder_list(const char *folder, const char *suffix, size_t least, struct strvec *names)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        fail_msg("%s: %s", folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len > strlen(suffix) && str_eq(entry->d_name + len - strlen(suffix), suffix))
            strvec_pushf(names, "%.*s", (int)(len - strlen(suffix)), entry->d_name);
    }
    closedir(dir);
    strvec_sort(names);
    if (names->n < least)
        fail_msg("%s: %zu files *%s, of at least %zu", folder, names->n, suffix, least);
}
