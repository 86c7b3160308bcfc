import type { IncomingMessage, ServerResponse } from "node:http";
import { isHostTooLong, originForm } from "./request-head.ts";

/** Serves some requests of node:http, and leaves the others to the next handler. */
export interface HttpHandler {
  /**
   * Never throws.
   * @param gone aborts when the client disconnects before the response
   * @returns whether it serves the request
   */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean;
}

/** Gives each request to the first handler that serves it; the last one serves every request. */
export function dispatcher(handlers: readonly HttpHandler[]) {
  const last = handlers.slice(-1);
  return (request: IncomingMessage, response: ServerResponse, gone: AbortSignal): void => {
    request.url = originForm(request.url ?? "/");
    const asked = isHostTooLong(request.headers.host) ? last : handlers;
    for (const handler of asked) if (handler.handle(request, response, gone)) return;
  };
}
