/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_answer.h: what the API server says about a Service that is to be made or changed. Pure.
 */
#ifndef KM_SERVICE_ANSWER_H
#define KM_SERVICE_ANSWER_H

#include "common/base.h"

#include "common/error.h"

/* A field is invalid: only another Service helps. What a quota or a webhook refuses, whatever the kind of its answer,
 * may be taken later. */
bool service_answer_blames_fields(const struct error *err);
/* Below "spec.services.primary", with a dot before it: ".annotations"; "": none is named. Static. */
const char *service_answer_field(const struct error *err);

#endif
