/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_series.h: of one series are servers that can use each other's files: "10.11" of "10.11.6-MariaDB". Pure.
 */
#ifndef KM_SERVER_SERIES_H
#define KM_SERVER_SERIES_H

#include "common/base.h"

/* By their VERSION(). */
bool server_series_same(const char *a, const char *b);

#endif
