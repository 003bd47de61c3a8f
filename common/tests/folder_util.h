/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_util.h: the cases of tests whose data is a folder of files, one or more for a case.
 */
#ifndef KM_COMMON_TESTS_FOLDER_UTIL_H
#define KM_COMMON_TESTS_FOLDER_UTIL_H

#include "common/base.h"

#include "common/strvec.h"

/* Adds the names of the folder's files that end in suffix, without it, sorted. Fails the test where there is no such
 * folder, or where there are fewer than `least`: a test of no case can never fail. */
void folder_list(const char *folder, const char *suffix, size_t least, struct strvec *names);

#endif
