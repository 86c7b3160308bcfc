import type { Log } from "../../domain/core/log.ts";
import type { SpanAttributes } from "../../domain/core/span.ts";
import type { RequestObserver, RequestRecord, Transport } from "./request-record.ts";

/** Time in which refusals are counted, ms, and those logged of one account and code in it. */
const [PERIOD_MS, LOGGED_REFUSALS] = [1_000, 10];

/** Pairs of account and code that are counted apart in that time; the others share one count. */
const MAX_COUNTED = 200;

/** Refusals of one account and code in the current second. */
interface Refusals {
  readonly fields: object;
  count: number;
}

/**
 * Logs one line per request: calls with a run or receipt always, refusals up to a rate and then their number,
 * and a share of the other successes.
 */
export class RequestLog implements RequestObserver {
  readonly #log: Pick<Log, "info">;
  readonly #every: number;
  readonly #after: (ms: number, run: () => void) => void;
  readonly #refusals = new Map<string, Refusals>();
  #successes = 0;

  /**
   * @param every one of so many successes without a run is logged; 0: none
   * @param after calls back after the time, once
   */
  constructor(log: Pick<Log, "info">, every: number, after: (ms: number, run: () => void) => void) {
    this.#log = log;
    this.#every = every;
    this.#after = after;
  }

  ended(record: RequestRecord): void {
    if (this.#isLogged(record)) this.#log.info(lineOf(record), "request");
  }

  /** Logs how many refusals were left out. */
  flush(): void {
    for (const { fields, count } of this.#refusals.values())
      if (count > LOGGED_REFUSALS)
        this.#log.info(
          { event: "requests_not_logged", ...fields, requests: count - LOGGED_REFUSALS },
          "refused requests were not logged",
        );
    this.#refusals.clear();
  }

  #isLogged(record: RequestRecord): boolean {
    if (record.runId !== undefined || record.receiptId !== undefined) return true;
    if (record.status >= 400) return this.#countRefusal(record) <= LOGGED_REFUSALS;
    return this.#every > 0 && this.#successes++ % this.#every === 0;
  }

  /** Returns the number of such refusals in this second. */
  #countRefusal({ caller, code, status }: RequestRecord): number {
    const refusals = this.#refusals;
    if (refusals.size === 0) this.#after(PERIOD_MS, () => this.flush());
    const own = `${caller?.accountId ?? ""} ${code ?? status}`;
    const key = refusals.has(own) || refusals.size < MAX_COUNTED ? own : "";
    let counted = refusals.get(key);
    if (!counted) {
      const fields = key === "" ? {} : { account_id: caller?.accountId, code, status };
      refusals.set(key, (counted = { fields, count: 0 }));
    }
    return ++counted.count;
  }
}

/** The fields of a line, named as in the API. */
function lineOf({ caller, requestId, ms, ...record }: RequestRecord): object {
  return {
    event: "request",
    transport: record.transport,
    method: record.method,
    tool: record.tool,
    status: record.status,
    code: record.code,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    run_id: record.runId,
    receipt_id: record.receiptId,
    ms: Math.round(ms * 100) / 100,
    bytes: record.bytes,
    request_id: requestId || undefined,
    trace_id: record.span?.traceId,
  };
}

/** Ends the span of each request, named and described as OpenTelemetry's semantic conventions say. */
export const requestSpans: RequestObserver = {
  ended(record) {
    const { span, status, code } = record;
    if (!span) return;
    if (span.sampled) span.set({ ...common(record), ...ofTransport(record) }, nameOf(record));
    // A client's mistake is no error of the server (semantic conventions, HTTP spans).
    span.end(status >= 500 ? (code ?? String(status)) : undefined);
  },
};

function common({ requestId, caller, runId, receiptId, code }: RequestRecord): SpanAttributes {
  return {
    "toolgate.request_id": requestId,
    "toolgate.account_id": caller?.accountId,
    "toolgate.run_id": runId,
    "toolgate.receipt_id": receiptId,
    "toolgate.code": code,
  };
}

/** Those whose operation is their route. */
const JSON_TRANSPORTS: ReadonlySet<Transport> = new Set<Transport>(["http", "openai", "anthropic"]);

function nameOf(record: RequestRecord): string {
  const { transport, method, tool, route = method } = record;
  if (transport === "mcp") return tool === undefined ? method : `${method} ${tool}`;
  return JSON_TRANSPORTS.has(transport) ? route : rpcMethod(record);
}

/** The method with its package, such as `toolgate.v1.ToolService/CallTool`. */
function rpcMethod({ method, route = method }: RequestRecord): string {
  return route.slice(route.indexOf("/toolgate.") + 1);
}

function ofTransport(record: RequestRecord): SpanAttributes {
  const { transport, method, tool, route, status } = record;
  if (transport === "grpc")
    return { "rpc.system.name": "grpc", "rpc.method": rpcMethod(record), "toolgate.status": status };
  const [httpMethod, path] = route?.split(" ") ?? [];
  const http = { "http.request.method": httpMethod, "http.route": path, "http.response.status_code": status };
  if (transport === "mcp") return { ...http, "mcp.method.name": method, "gen_ai.tool.name": tool };
  if (JSON_TRANSPORTS.has(transport)) return http;
  return { ...http, "rpc.system.name": "connectrpc", "rpc.method": rpcMethod(record) };
}
