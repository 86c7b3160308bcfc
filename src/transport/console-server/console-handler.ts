import type { IncomingMessage, ServerResponse } from "node:http";
import { OTHER, type RequestRecord, type RequestRecorder } from "../../app/operations/request-record.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import { recordUntilClosed, send, type HttpResponse } from "../http/response.ts";
import { HttpCredentials } from "../http/request-head.ts";
import type { RequestIds } from "../request-ids.ts";
import type { UnpaidTime } from "../unpaid-time.ts";
import type { ConsoleFiles } from "./console-files.ts";
import type { ConsoleOrigin } from "./console-origin.ts";

/** Path prefix of the console's Connect services. */
export const RPC_PATH = "/console/rpc";

const EXPORT_PATH = "/console/export/";

export interface ConsoleHandlerOptions {
  /** Connect services under {@link RPC_PATH}. */
  readonly rpc: HttpHandler;
  /** CSV downloads: `/console/export/…`. */
  readonly exports: HttpHandler;
  readonly files: Pick<ConsoleFiles, "handle">;
  readonly requests: RequestRecorder;
  readonly time: UnpaidTime;
  readonly origin: ConsoleOrigin;
  readonly requestIds: RequestIds;
  readonly failed: (error: unknown, requestId: string) => HttpResponse;
}

/** Serves `/console/`: the page, and services for its sessions only. CORS is never enabled here. */
export class ConsoleHandler implements HttpHandler {
  readonly #options: ConsoleHandlerOptions;

  constructor(options: ConsoleHandlerOptions) {
    this.#options = options;
  }

  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    const { url = "/", method, headers } = request;
    if (!url.startsWith("/console")) return false;
    const { requests, origin, rpc, exports } = this.#options;
    if (url.startsWith(`${RPC_PATH}/`)) return rpc.handle(request, ofSession(response), gone);
    const isExport = url.startsWith(EXPORT_PATH);
    const name = isExport ? "export" : isPage(url) ? "page" : OTHER;
    const record = recordUntilClosed(requests, "console", name, response);
    if (isExport) return exports.handle(request, ofSession(response), gone);
    const proper = method === "GET" && isPage(url) ? origin.canonicalUrl(headers.host, url) : undefined;
    if (proper === undefined) this.#servePage(request, response, record);
    else send(response, [["location", proper]], { status: 307 });
    return true;
  }

  #servePage(request: IncomingMessage, response: ServerResponse, record: RequestRecord): void {
    const { files, time, requestIds, failed } = this.#options;
    try {
      if (!isPage(request.url ?? "/")) throw new ToolgateError("NOT_FOUND", "no route matches this path");
      time.admit(record, { caller: undefined, rate: undefined }, new HttpCredentials(request));
      time.answered(
        record,
        time.measure(record, () => files.handle(request, response)),
      );
    } catch (error) {
      if (!(error instanceof ToolgateError)) throw error;
      const requestId = requestIds.of(request.headers["x-request-id"]);
      send(response, [["x-request-id", requestId]], failed(error, requestId));
    }
  }
}

/** A dot segment (RFC 3986 section 5.2.4). Clients resolve them before they send the request. */
const DOT_SEGMENT = /\/\.{1,2}(?:[/?]|$)/;

function isPage(url: string): boolean {
  return /^\/console(?:[/?]|$)/.test(url) && !DOT_SEGMENT.test(url);
}

/** Responses belong to one session: no cache may share them. */
function ofSession(response: ServerResponse): ServerResponse {
  response.setHeader("cache-control", "no-store");
  response.setHeader("vary", "cookie");
  // A response opened in the browser must not render user content as a page.
  response.setHeader("x-content-type-options", "nosniff");
  return response;
}
