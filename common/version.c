/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/version.h"

const char *build_commit = "";
