import type { ServiceRoutes } from "#httpjson/runtime/route.ts";
import { errorBindings as errorBindings$1, libraryServiceRoutes } from "./library_http.ts";
import type { ErrorBinding } from "#httpjson/runtime/error-body.ts";

/**
 * The HTTP routes of all services of this folder.
 */
export const routes: readonly ServiceRoutes[] = [
  libraryServiceRoutes,
];

/**
 * Messages of this folder that are error bodies.
 */
export const errorBindings: readonly ErrorBinding[] = [
  ...errorBindings$1,
];
