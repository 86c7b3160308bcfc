import type { IncomingMessage, ServerResponse } from "node:http";
import type { Facade } from "./facade.ts";
import { splitTarget } from "./json-routes.ts";
import type { Probes } from "./probes.ts";
import { isHostTooLong, originForm } from "./request-head.ts";

/** A node:http handler for some path prefixes. */
export interface MountedHandler {
  /** For example `/toolgate.v1.ToolService/`. */
  readonly prefixes: readonly string[];
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** A handler that leaves the requests it does not answer to the next one. */
export interface RequestFilter {
  /** @returns whether it answers the request */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

/** The handler of one path. */
export interface PathHandler {
  readonly path: string;
  /** Never throws. @param gone aborts when the client disconnects before the response */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void>;
}

/** Handlers of all requests. */
export interface RequestHandlers {
  readonly documents: RequestFilter;
  readonly probes: Probes;
  /** Has its own origin policy, so CORS does not apply. */
  readonly console: MountedHandler;
  readonly cors: RequestFilter;
  readonly connect: MountedHandler;
  readonly mcp: PathHandler;
  readonly facade: Facade;
}

/**
 * Returns the function that serves requests: documents, probes and MCP by path; console, Connect and gRPC-Web
 * by prefix; otherwise HTTP/JSON.
 */
export function dispatcher({ documents, probes, console, cors, connect, mcp, facade }: RequestHandlers) {
  return (request: IncomingMessage, response: ServerResponse, gone: AbortSignal): void => {
    const url = originForm(request.url ?? "/");
    request.url = url;
    if (isHostTooLong(request.headers.host)) return void facade.handle(request, response, gone);
    if (documents.handle(request, response) || probes.handle(request, response, gone)) return;
    if (isFor(console, url)) return console.handle(request, response);
    if (cors.handle(request, response)) return;
    if (isFor(connect, url)) return connect.handle(request, response);
    if (splitTarget(url).path === mcp.path) void mcp.handle(request, response, gone);
    else void facade.handle(request, response, gone);
  };
}

function isFor({ prefixes }: MountedHandler, url: string): boolean {
  return prefixes.some((prefix) => url.startsWith(prefix));
}
