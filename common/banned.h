/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h: calls that have no bound or no error report become compile errors. Use the named replacement.
 * Included last by base.h, so system headers that were already read are not affected.
 */
#ifndef KM_COMMON_BANNED_H
#define KM_COMMON_BANNED_H

#define KM_BANNED(call) banned_call_##call

#undef strcpy
#define strcpy(a, b) KM_BANNED(strcpy_use_strbuf)
#undef strcat
#define strcat(a, b) KM_BANNED(strcat_use_strbuf)
#undef strncpy
#define strncpy(a, b, c) KM_BANNED(strncpy_use_xstrndup)
#undef strncat
#define strncat(a, b, c) KM_BANNED(strncat_use_strbuf)
#undef sprintf
#define sprintf(...) KM_BANNED(sprintf_use_snprintf)
#undef vsprintf
#define vsprintf(...) KM_BANNED(vsprintf_use_vsnprintf)
#undef strtok
#define strtok(a, b) KM_BANNED(strtok_use_strvec)
#undef atoi
#define atoi(a) KM_BANNED(atoi_use_strtoll)
#undef system
#define system(a) KM_BANNED(system_use_subprocess)
#undef popen
#define popen(a, b) KM_BANNED(popen_use_subprocess)
#undef gmtime
#define gmtime(a) KM_BANNED(gmtime_use_gmtime_r)
#undef localtime
#define localtime(a) KM_BANNED(localtime_use_gmtime_r)

#endif
