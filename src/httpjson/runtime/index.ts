export { isJsonContentType, parseBody } from "./body.ts";
export { createErrorBody, type ErrorBinding, type ErrorBody } from "./error-body.ts";
export { JsonFieldError } from "./json-error.ts";
export type { Handler, Route, ServiceHandlers, ServiceRoutes } from "./route.ts";
export type { NoRoute, RouteMatch } from "./route-matcher.ts";
export { createTranscoder, type Transcoder } from "./transcoder.ts";
export type { WireJson } from "./write.ts";
