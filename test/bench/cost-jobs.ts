import { connect } from "node:net";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import type { FleetJob } from "./instances-fleet.ts";

/** Calls of one kind. */
export interface CostJob extends FleetJob {
  readonly name: string;
  /** Whether each is charged, and so is committed twice. */
  readonly paid: boolean;
  /** Bytes of a request and of its answer, without TLS and TCP. */
  readonly bytes: { readonly request: number; readonly answer: number };
}

/** Their purpose. */
interface Options {
  /** Of accounts with money. */
  readonly keys: readonly string[];
  /** Of one without. */
  readonly poor: string;
  readonly port: number;
  /** Calls under way at once, one measurement of paid calls each. */
  readonly connections: readonly number[];
}

const CONNECTIONS = 64;
/** Keys that are replayed: one alone would be answered one call after the other. */
const REPLAYED = 200;
/** Receipts on a page. */
const PAGE = 20;

/** Every kind, each tried once. */
export async function costJobs({ keys, poor, port, connections }: Options): Promise<CostJob[]> {
  const [key = ""] = keys;
  const echo = toolCallRequest(key, { tool: "echo", params: { message: "hello, gateway" } });
  const again = { ...PAID_CALL, idempotency_key: "the same again" };
  const replayed = keys.slice(0, REPLAYED);
  await Promise.all(replayed.map((each) => callOnce(port, each, again, 200)));
  // Content of a full page for all requests.
  const readers = keys.slice(0, 1);
  for (let receipt = 0; receipt < PAGE; receipt++) await callOnce(port, key, PAID_CALL, 200);
  const make = async (
    name: string,
    requests: readonly string[],
    status: number,
    body: string,
    more?: Partial<CostJob>,
  ): Promise<CostJob> => {
    const [request = ""] = requests;
    const answer = await bytesOfAnswer(port, request);
    return {
      ...{
        name,
        requests: [...requests],
        expect: { status, body },
        instances: 1,
        connections: CONNECTIONS,
        paid: false,
      },
      ...{ bytes: { request: Buffer.byteLength(request), answer } },
      ...more,
    };
  };
  const everyone = keys.map((each) => toolCallRequest(each, PAID_CALL));
  const paid = (count: number) =>
    make(`paid call, ${count} at once`, everyone, 200, '"receipt_id":"rcpt_', {
      connections: count,
      paid: true,
    });
  const jobs = [await make("echo", [echo], 200, '{"ok":true,"result":{"echo":"hello, gateway"}')];
  jobs.push(await make("402", [toolCallRequest(poor, PAID_CALL)], 402, '"code":"PAYMENT_REQUIRED"'));
  jobs.push(
    await make(
      "replay",
      replayed.map((each) => toolCallRequest(each, again)),
      200,
      '"receipt_id":"rcpt_',
    ),
  );
  jobs.push(await make(`page of ${PAGE} receipts`, readers.map(receiptsRequest), 200, '"receipt_id":"rcpt_'));
  for (const count of [1, ...connections]) jobs.push(await paid(count));
  return jobs;
}

/** The first page of receipts, as bytes of the response. */
function receiptsRequest(apiKey: string): string {
  return `GET /receipts?limit=${PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`;
}

/** Sends one request over its own socket. */
function bytesOfAnswer(port: number, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const socket = connect(port, "127.0.0.1", () =>
      socket.write(request.replace("\r\n", "\r\nConnection: close\r\n")),
    );
    socket.on("data", (chunk) => (bytes += chunk.length)).on("end", () => resolve(bytes));
    socket.on("error", reject);
  });
}
