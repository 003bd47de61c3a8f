/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/zone_files.h"

#include "common/fs.h"

int zone_files_load(const char *folder, const char *name, struct time_zone *ret, struct error *err)
{
    char path[PATH_MAX];
    _cleanup_(strbuf_release) struct strbuf file;
    strbuf_init(&file, TIME_ZONE_FILE_MAX);
    if (str_eq(name, "UTC")) {
        time_zone_utc(ret);
        return 0;
    }
    const char *wrong = time_zone_name_check(name);
    if (wrong)
        return error_set(err, ERROR_INVALID, "%s", wrong);
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : ZONE_FILES_FOLDER, name);
    if (fs_read_file(path, &file, err) < 0) {
        if (err && err->kind == ERROR_NOT_FOUND)
            return error_set(err, ERROR_NOT_FOUND, "there is no time zone \"%s\"", name);
        return -1;
    }
    if (time_zone_parse(file.buf, file.len, ret, err) < 0)
        return error_prefix(err, "%s", path);
    return 0;
}
