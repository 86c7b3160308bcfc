import type { IncomingMessage, ServerResponse } from "node:http";
import { OTHER } from "../../app/operations/request-record.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { send, type HttpResponse } from "../http/response.ts";
import type { MountedHandler } from "../http/dispatch.ts";
import type { RequestIds } from "../request-ids.ts";
import type { ConsoleOrigin } from "./console-origin.ts";

/** Path prefix of the console's Connect services. */
export const RPC_PATH = "/console/rpc";

const EXPORT_PATH = "/console/export/";

/** Never throws. */
type Handler = Pick<MountedHandler, "handle">;

export interface ConsoleHandlerOptions {
  /** Connect services under {@link RPC_PATH}. */
  readonly rpc: Handler;
  /** CSV downloads: `/console/export/…`. */
  readonly exports: Handler;
  /** The page and its assets. */
  readonly files: Handler;
  readonly origin: ConsoleOrigin;
  readonly requestIds: RequestIds;
  readonly failed: (error: unknown, requestId: string) => HttpResponse;
}

/** Serves `/console/`: the page, and services for its sessions only. CORS is never enabled here. */
export class ConsoleHandler implements MountedHandler {
  readonly prefixes = ["/console"];
  readonly #options: ConsoleHandlerOptions;

  constructor(options: ConsoleHandlerOptions) {
    this.#options = options;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { url = "/", method, headers } = request;
    const proper =
      method === "GET" && isPage(url) ? this.#options.origin.canonicalUrl(headers.host, url) : undefined;
    if (proper !== undefined) return void send(response, [["location", proper]], { status: 307 });
    const handler = this.#handlerOf(url, response);
    if (handler) return handler.handle(request, response);
    const { requestIds, failed } = this.#options;
    const requestId = requestIds.of(headers["x-request-id"]);
    const error = new ToolgateError("NOT_FOUND", "no route matches this path");
    send(response, [["x-request-id", requestId]], failed(error, requestId));
  }

  nameOf(url: string): string | undefined {
    if (url.startsWith(`${RPC_PATH}/`)) return undefined;
    if (url.startsWith(EXPORT_PATH)) return "export";
    return isPage(url) ? "page" : OTHER;
  }

  #handlerOf(url: string, response: ServerResponse): Handler | undefined {
    const { rpc, exports, files } = this.#options;
    if (url.startsWith(`${RPC_PATH}/`)) return ofSession(rpc, response);
    if (url.startsWith(EXPORT_PATH)) return ofSession(exports, response);
    return isPage(url) ? files : undefined;
  }
}

/** A dot segment (RFC 3986 section 5.2.4). Clients resolve them before they send the request. */
const DOT_SEGMENT = /\/\.{1,2}(?:[/?]|$)/;

function isPage(url: string): boolean {
  if (url.startsWith(`${RPC_PATH}/`) || url.startsWith(EXPORT_PATH)) return false;
  return /^\/console(?:[/?]|$)/.test(url) && !DOT_SEGMENT.test(url);
}

/** Responses belong to one session: no cache may share them. */
function ofSession(handler: Handler, response: ServerResponse): Handler {
  response.setHeader("cache-control", "no-store");
  response.setHeader("vary", "cookie");
  // A response opened in the browser must not render user content as a page.
  response.setHeader("x-content-type-options", "nosniff");
  return handler;
}
