import { randomUUID } from "node:crypto";
import { PAID_CALL } from "../bench/http-request.ts";
import type { GrpcAnswer } from "./grpc-caller.ts";
import type { HttpAnswer } from "./http-caller.ts";
import { unknownKey, type Stage } from "./stage.ts";

const CALL = "/v1/mcp/tools/call";
const ECHO = { tool: "echo", params: { message: "hello, gateway" } };
const MCP = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };
/** Leaving callers do so within this time, ms: before, during or after the response. */
const GONE_WITHIN_MS = 8;

/** An action of callers. */
export interface Act {
  readonly name: string;
  /** Relative frequency. */
  readonly weight: number;
  /** @returns the unexpected result, if any */
  readonly play: (stage: Stage) => Promise<string | undefined>;
}

/**
 * Typical calls of an hour. Deposits are rare: each is a transaction that the local chain executes and keeps.
 */
export const ACTS: readonly Act[] = [
  {
    name: "echo",
    weight: 250,
    play: async ({ http, rich }) =>
      expect(await http.post(CALL, one(rich), ECHO), 200, '"echo":"hello, gateway"'),
  },
  { name: "MCP echo", weight: 150, play: mcpEcho },
  {
    name: "gRPC echo",
    weight: 80,
    play: async ({ grpc, rich }) => expectGrpc(await grpc.call(one(rich), ECHO.tool, ECHO.params)),
  },
  {
    name: "402",
    weight: 120,
    play: async ({ http, poor }) =>
      expect(await http.post(CALL, one(poor), PAID_CALL), 402, '"quote_id":"qt_'),
  },
  {
    name: "paid call",
    weight: 180,
    play: async ({ http, rich }) =>
      expect(await http.post(CALL, one(rich), PAID_CALL), 200, '"receipt_id":"rcpt_'),
  },
  {
    name: "gRPC paid call",
    weight: 80,
    play: async ({ grpc, rich }) => expectGrpc(await grpc.call(one(rich), PAID_CALL.tool, PAID_CALL.params)),
  },
  { name: "replay", weight: 40, play: replay },
  { name: "deposit", weight: 2, play: deposit },
  {
    name: "receipts",
    weight: 20,
    play: async ({ http, rich }) =>
      expect(await http.get("/receipts?limit=20", one(rich)), 200, '{"items":['),
  },
  {
    name: "runs",
    weight: 20,
    play: async ({ http, rich }) => expect(await http.get("/runs?limit=20", one(rich)), 200, '{"items":['),
  },
  {
    name: "short connection",
    weight: 30,
    play: async ({ http, rich }) =>
      expect(await http.postAlone(CALL, one(rich), ECHO), 200, '"echo":"hello, gateway"'),
  },
  { name: "gone caller", weight: 15, play: gone },
  {
    name: "gone gRPC caller",
    weight: 5,
    async play({ grpc, rich }) {
      const { code, message } = await grpc.call(one(rich), PAID_CALL.tool, PAID_CALL.params, soon());
      return code === "OK" || code === "CANCELLED" ? undefined : `${code}: ${message}`;
    },
  },
  {
    name: "bad key",
    weight: 4,
    play: async ({ http, rich }) =>
      expect(
        await http.post(CALL, unknownKey(one(rich)), ECHO, { "x-forwarded-for": address() }),
        401,
        "UNAUTHORIZED",
      ),
  },
  {
    name: "bad request",
    weight: 4,
    play: async ({ http, rich }) =>
      expect(await http.post(CALL, one(rich), { params: 7 }), 400, '"code":"INVALID_REQUEST"'),
  },
];

async function mcpEcho({ http, rich }: Stage): Promise<string | undefined> {
  const params = { name: ECHO.tool, arguments: ECHO.params };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return expect(await http.post("/mcp", one(rich), call, MCP), 200, '"echo":"hello, gateway"');
}

/** The same call twice under one key: one receipt. */
async function replay({ http, rich }: Stage): Promise<string | undefined> {
  const apiKey = one(rich);
  const call = { ...PAID_CALL, idempotency_key: randomUUID() };
  const first = await http.post(CALL, apiKey, call);
  const second = await http.post(CALL, apiKey, call);
  const receipt = /"receipt_id":"rcpt_\w+"/.exec(first.body)?.[0] ?? "a receipt";
  return expect(first, 200, receipt) ?? expect(second, 200, receipt);
}

/** Requests a quote, pays it on-chain and proves it. */
async function deposit({ http, payer, poor }: Stage): Promise<string | undefined> {
  const apiKey = one(poor);
  const quoted = await http.post(CALL, apiKey, PAID_CALL);
  const quoteId = /"quote_id":"(qt_\w+)"/.exec(quoted.body)?.[1];
  const price = /"price_usdc_microusd":(\d+)/.exec(quoted.body)?.[1];
  if (quoteId === undefined || price === undefined) return reported(quoted);
  const tx = await payer.pay(quoteId, BigInt(price));
  const proof = Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
  return expect(await http.post(CALL, apiKey, PAID_CALL, { "x-payment": proof }), 200, '"receipt_id":"rcpt_');
}

async function gone({ http, rich }: Stage): Promise<undefined> {
  await http.leave(CALL, one(rich), Math.random() < 0.5 ? ECHO : PAID_CALL, soon(), Math.random() < 0.3);
}

function expect(answer: HttpAnswer, status: number, part: string): string | undefined {
  return answer.status === status && answer.body.includes(part) ? undefined : reported(answer);
}

function reported({ status, body }: HttpAnswer): string {
  return `${status}: ${body.slice(0, 300)}`;
}

function expectGrpc({ code, message, response }: GrpcAnswer): string | undefined {
  return code === "OK" && response?.ok ? undefined : `${code}: ${message}`;
}

/** Picks one at random. */
function one(keys: readonly string[]): string {
  return keys[Math.floor(Math.random() * keys.length)] ?? "";
}

function soon(): number {
  return Math.random() * GONE_WITHIN_MS;
}

function address(): string {
  const byte = () => Math.floor(Math.random() * 256);
  return `10.${byte()}.${byte()}.${byte()}`;
}
