import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import { send, type HttpAnswer } from "../http/answer.ts";
import type { MountedHandler } from "../http/server.ts";
import { newRequestId } from "../request-context.ts";

/** Where the console's services are: Connect, for sessions. */
export const RPC_PATH = "/console/rpc";

/** Serves requests. Never throws. */
type Handler = Pick<MountedHandler, "handle">;

/** What is behind the door. */
export interface ConsoleDoorOptions {
  /** Connect under {@link RPC_PATH}. */
  readonly rpc: Handler;
  /** What is saved as files: `/console/export/…`. */
  readonly exports?: Handler | undefined;
  /** The page, and what it is made of: everything else. */
  readonly files?: Handler | undefined;
  readonly random: Random;
  /** The answer to what failed. */
  readonly failed: (error: unknown, requestId: string) => HttpAnswer;
}

/** The console's door, `/console/`: a page, and services that only its sessions may ask. No page of another origin may (CORS). */
export class ConsoleDoor implements MountedHandler {
  readonly prefixes = ["/console"];
  readonly #options: ConsoleDoorOptions;

  constructor(options: ConsoleDoorOptions) {
    this.#options = options;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const handler = this.#handlerOf(request.url ?? "", response);
    if (handler) return handler.handle(request, response);
    const { random, failed } = this.#options;
    const requestId = newRequestId(random);
    const error = new ToolgateError("NOT_FOUND", "there is nothing at this path");
    send(response, [["x-request-id", requestId]], failed(error, requestId));
  }

  #handlerOf(url: string, response: ServerResponse): Handler | undefined {
    const { rpc, exports, files } = this.#options;
    if (url.startsWith(`${RPC_PATH}/`)) return ofSession(rpc, response);
    if (url.startsWith("/console/export/")) return exports && ofSession(exports, response);
    return /^\/console(?:[/?]|$)/.test(url) ? files : undefined;
  }
}

/** What one session is told, no cache may tell another. */
function ofSession(handler: Handler, response: ServerResponse): Handler {
  response.setHeader("cache-control", "no-store");
  response.setHeader("vary", "cookie");
  return handler;
}
