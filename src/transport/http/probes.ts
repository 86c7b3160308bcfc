import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readiness } from "../../app/operations/readiness.ts";
import type { RequestRecorder } from "../../app/operations/request-record.ts";
import type { HttpHandler } from "./dispatch.ts";
import { splitTarget } from "./json-routes.ts";
import { recordUntilClosed, send } from "./response.ts";

const LIVE = "/livez";
const READY = "/readyz";
const NOT_STORED = [["cache-control", "no-store"]] as const;

/**
 * `GET /livez` and `GET /readyz[?verbose][&exclude=CHECK…]`: for orchestrators and balancers, without a key.
 * As in Kubernetes, an unknown name of a check excludes nothing and is a warning of the verbose answer.
 */
export class Probes implements HttpHandler {
  readonly #readiness: Pick<Readiness, "report">;
  readonly #requests: RequestRecorder;

  constructor(readiness: Pick<Readiness, "report">, requests: RequestRecorder) {
    this.#readiness = readiness;
    this.#requests = requests;
  }

  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    const { method, url = "/" } = request;
    if (method !== "GET" && method !== "HEAD") return false;
    const { path, query } = splitTarget(url);
    if (path === LIVE) send(response, NOT_STORED, { status: 200, json: { status: "alive" } });
    else if (path === READY) void this.#ready(response, new URLSearchParams(query), gone);
    else return false;
    recordUntilClosed(this.#requests, "http", path, response);
    return true;
  }

  async #ready(response: ServerResponse, query: URLSearchParams, gone: AbortSignal): Promise<void> {
    const excluded = new Set(query.getAll("exclude"));
    const { ready, ...checks } = await this.#readiness.report(gone, excluded);
    const status = ready ? "ready" : "not ready";
    const unknown = [...excluded].filter((name) => !Object.hasOwn(checks, name));
    const warning = unknown.length > 0 && { warning: `no check is named ${unknown.join(", ")}` };
    send(response, NOT_STORED, {
      status: ready ? 200 : 503,
      json: query.has("verbose") ? { status, checks, ...warning } : { status },
    });
  }
}
