import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readiness } from "../../app/operations/readiness.ts";
import { send } from "./response.ts";
import { splitTarget } from "./json-routes.ts";

const LIVE = "/livez";
const READY = "/readyz";
const NOT_STORED = [["cache-control", "no-store"]] as const;

/** `GET /livez` and `GET /readyz[?verbose]`: for orchestrators and load balancers, without a key. */
export class Probes {
  readonly #readiness: Pick<Readiness, "report">;

  constructor(readiness: Pick<Readiness, "report">) {
    this.#readiness = readiness;
  }

  /** @returns whether the request is for a probe and was answered */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    const { method, url = "/" } = request;
    if (method !== "GET" && method !== "HEAD") return false;
    const { path, query } = splitTarget(url);
    if (path === LIVE) send(response, NOT_STORED, { status: 200, json: { status: "alive" } });
    else if (path === READY) void this.#ready(response, new URLSearchParams(query).has("verbose"), gone);
    else return false;
    return true;
  }

  async #ready(response: ServerResponse, verbose: boolean, gone: AbortSignal): Promise<void> {
    const { ready, ...checks } = await this.#readiness.report(gone);
    const status = ready ? "ready" : "not ready";
    send(response, NOT_STORED, {
      status: ready ? 200 : 503,
      json: verbose ? { status, checks } : { status },
    });
  }
}
