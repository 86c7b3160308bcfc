import type { ServiceRoutes } from "#httpjson/runtime/route.ts";
import { facilitatorServiceRoutes } from "./facilitator_service_http.ts";
import { errorBindings as errorBindings$2, healthServiceRoutes } from "./health_service_http.ts";
import { paymentServiceRoutes } from "./payment_service_http.ts";
import { receiptServiceRoutes } from "./receipt_service_http.ts";
import { runServiceRoutes } from "./run_service_http.ts";
import { toolServiceRoutes } from "./tool_service_http.ts";
import { walletKeyServiceRoutes } from "./wallet_key_service_http.ts";
import { walletServiceRoutes } from "./wallet_service_http.ts";
import { webhookServiceRoutes } from "./webhook_service_http.ts";
import type { ErrorBinding } from "#httpjson/runtime/error-body.ts";
import { errorBindings as errorBindings$1 } from "./error_http.ts";
import { errorBindings as errorBindings$3 } from "./payment_http.ts";

/**
 * The HTTP routes of all services of this folder.
 */
export const routes: readonly ServiceRoutes[] = [
  facilitatorServiceRoutes,
  healthServiceRoutes,
  paymentServiceRoutes,
  receiptServiceRoutes,
  runServiceRoutes,
  toolServiceRoutes,
  walletKeyServiceRoutes,
  walletServiceRoutes,
  webhookServiceRoutes,
];

/**
 * Messages of this folder that are error bodies.
 */
export const errorBindings: readonly ErrorBinding[] = [
  ...errorBindings$1,
  ...errorBindings$2,
  ...errorBindings$3,
];
