/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zone_files.h: time zones by name, from the files of the IANA's database (/usr/share/zoneinfo; in our image by
 * images/zoneinfo.sh).
 *
 * "UTC" needs no file. Reads one small local file, each time anew: a zone that a newer image changes is in force with
 * it, and nothing is cached that could be old. Names are checked (time_zone.h) before they become a path.
 */
#ifndef KM_ZONE_FILES_H
#define KM_ZONE_FILES_H

#include "common/base.h"

#include "common/error.h"
#include "operator/api/time_zone.h"

#define ZONE_FILES_FOLDER "/usr/share/zoneinfo"

/* folder NULL: ZONE_FILES_FOLDER. ERROR_INVALID: no such name, or a file that cannot be used; ERROR_NOT_FOUND: there is
 * no such zone. Messages quote the name. */
int zone_files_load(const char *folder, const char *name, struct time_zone *ret, struct error *err) KM_MUST_CHECK;

#endif
