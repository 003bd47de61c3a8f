/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_controller.h: the controller of App: a Deployment and a Service of the same name, kept equal to it; its status is
 * the Deployment's.
 *
 * Both belong to the App (owner references), so they go with it; an App that is being deleted is left alone. What
 * stands there under the name and belongs to somebody else is never touched. A settled App costs no request: see
 * app_desired.h.
 */
#ifndef KM_APP_CONTROLLER_H
#define KM_APP_CONTROLLER_H

#include "common/strvec.h"
#include "operator/runtime/manager.h"

struct app_controller_options {
    const struct strvec *watch_namespaces; /* empty or NULL: all */
    int64_t blocked_recheck_ms;            /* 0: 20 s */
};

void app_controller_use_kinds(struct manager *manager);
void app_controller_setup(struct manager *manager, const struct app_controller_options *options);

#endif
