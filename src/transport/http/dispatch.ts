import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestRecorder, Transport } from "../../app/operations/request-record.ts";
import { DISCONNECTED } from "../limits.ts";
import type { Facade } from "./facade.ts";
import { splitTarget } from "./json-routes.ts";
import type { Probes } from "./probes.ts";
import { isHostTooLong, originForm } from "./request-head.ts";

/** A node:http handler for some path prefixes. */
export interface MountedHandler {
  /** For example `/toolgate.v1.ToolService/`. */
  readonly prefixes: readonly string[];
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Name of a request in metrics and logs; undefined when the handler records it. */
  nameOf?(url: string): string | undefined;
}

/** A handler that leaves the requests it does not answer to the next one. */
export interface RequestFilter {
  /** @returns whether it answers the request */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface PathHandler {
  readonly path: string;
  /** Never throws. @param gone aborts when the client disconnects before the response */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void>;
}

export interface PrefixHandler extends Pick<MountedHandler, "prefixes"> {
  /** Never throws. @param gone aborts when the client disconnects before the response */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void>;
}

export interface RequestHandlers {
  readonly requests: RequestRecorder;
  /** Records its requests. */
  readonly documents: RequestFilter;
  readonly probes: Probes;
  /** Has its own origin policy, so CORS does not apply. */
  readonly console: MountedHandler;
  readonly cors: RequestFilter;
  readonly connect: MountedHandler;
  readonly mcp: PathHandler;
  readonly openai: PrefixHandler;
  readonly facade: Facade;
}

/** Serves requests: some paths and prefixes have handlers of their own, all others are HTTP/JSON. */
export function dispatcher(handlers: RequestHandlers) {
  const { requests, documents, probes, console, cors, connect, mcp, openai, facade } = handlers;
  const note = (transport: Transport, method: string, response: ServerResponse) => {
    const record = requests.start(transport, "");
    record.method = method;
    response.once("close", () =>
      requests.end(record, response.writableFinished ? response.statusCode : DISCONNECTED),
    );
  };
  return (request: IncomingMessage, response: ServerResponse, gone: AbortSignal): void => {
    const url = originForm(request.url ?? "/");
    request.url = url;
    if (isHostTooLong(request.headers.host)) return void facade.handle(request, response, gone);
    if (documents.handle(request, response)) return;
    if (probes.handle(request, response, gone)) return note("http", splitTarget(url).path, response);
    if (isFor(console, url)) {
      const name = console.nameOf?.(url);
      if (name !== undefined) note("console", name, response);
      return console.handle(request, response);
    }
    if (cors.handle(request, response)) return note("http", "preflight", response);
    if (isFor(connect, url)) return connect.handle(request, response);
    if (isFor(openai, url)) return void openai.handle(request, response, gone);
    if (splitTarget(url).path === mcp.path) void mcp.handle(request, response, gone);
    else void facade.handle(request, response, gone);
  };
}

function isFor({ prefixes }: Pick<MountedHandler, "prefixes">, url: string): boolean {
  return prefixes.some((prefix) => url.startsWith(prefix));
}
