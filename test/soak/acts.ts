import { randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import { PAID_CALL } from "../bench/http-request.ts";
import { makePayment } from "../bench/proofs.ts";
import type { Answer } from "./callers.ts";
import type { Stage } from "./stage.ts";

const CALL = "/v1/mcp/tools/call";
const ECHO = { tool: "echo", params: { message: "hello, gateway" } };
const MCP = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" };
const [ECHOED, CHARGED, QUOTED, LISTED] = [
  '"echo":"hello, gateway"',
  '"receipt_id":"rcpt_',
  '"quote_id":"qt_',
  '{"items":[',
];

/** Leaving callers do so within this time, ms: before, during or after the response. */
const GONE_WITHIN_MS = 8;

const landed = z.object({ transaction: z.object({ signatures: z.tuple([z.string()]) }) });

/** An action of callers. */
export interface Act {
  readonly name: string;
  /** Relative frequency. */
  readonly weight: number;
  /** @returns the unexpected result, if any */
  readonly play: (stage: Stage) => Promise<string | undefined>;
}

/** An act whose answer has a status and a part. */
function act(
  name: string,
  weight: number,
  send: (stage: Stage) => Promise<Answer>,
  status: number | string,
  part: string,
): Act {
  return { name, weight, play: async (stage) => wrong(await send(stage), status, part) };
}

/** Typical calls of an hour. Deposits are rare: the local chain executes and keeps their transactions. */
export const ACTS: readonly Act[] = [
  act("echo", 250, (stage) => stage.http.send(CALL, rich(stage), ECHO), 200, ECHOED),
  act("MCP echo", 150, mcpEcho, 200, ECHOED),
  act("gRPC echo", 80, (stage) => stage.grpc.call(rich(stage), ECHO.tool, ECHO.params), "OK", "ok: true"),
  act("402", 120, (stage) => stage.http.send(CALL, poor(stage), PAID_CALL), 402, QUOTED),
  act("paid call", 180, (stage) => stage.http.send(CALL, rich(stage), PAID_CALL), 200, CHARGED),
  act("gRPC paid call", 80, (stage) => grpcPaid(stage), "OK", "ok: true"),
  { name: "replay", weight: 40, play: replay },
  { name: "deposit", weight: 2, play: deposit },
  act("receipts", 20, (stage) => stage.http.send("/receipts?limit=20", rich(stage)), 200, LISTED),
  act("runs", 20, (stage) => stage.http.send("/runs?limit=20", rich(stage)), 200, LISTED),
  act("short connection", 30, (stage) => stage.http.postAlone(CALL, rich(stage), ECHO), 200, ECHOED),
  { name: "gone caller", weight: 15, play: gone },
  { name: "gone gRPC caller", weight: 5, play: goneGrpc },
  act("bad key", 4, badKey, 401, "UNAUTHORIZED"),
  act(
    "bad request",
    4,
    (stage) => stage.http.send(CALL, rich(stage), { params: 7 }),
    400,
    '"code":"INVALID_REQUEST"',
  ),
];

function mcpEcho(stage: Stage): Promise<Answer> {
  const params = { name: ECHO.tool, arguments: ECHO.params };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return stage.http.send("/mcp", rich(stage), call, MCP);
}

function grpcPaid(stage: Stage, leaveAfterMs?: number): Promise<Answer> {
  return stage.grpc.call(rich(stage), PAID_CALL.tool, PAID_CALL.params, leaveAfterMs);
}

/** The same call twice under one key: one receipt. */
async function replay(stage: Stage): Promise<string | undefined> {
  const apiKey = rich(stage);
  const call = { ...PAID_CALL, idempotency_key: randomUUID() };
  const first = await stage.http.send(CALL, apiKey, call);
  const second = await stage.http.send(CALL, apiKey, call);
  const receipt = /"receipt_id":"rcpt_\w+"/.exec(first.body)?.[0] ?? "a receipt";
  return wrong(first, 200, receipt) ?? wrong(second, 200, receipt);
}

/** Requests a quote, pays it on-chain and proves it. */
async function deposit(stage: Stage): Promise<string | undefined> {
  const apiKey = poor(stage);
  const quoted = await stage.http.send(CALL, apiKey, PAID_CALL);
  const quoteId = /"quote_id":"(qt_\w+)"/.exec(quoted.body)?.[1];
  const price = /"price_usdc_microusd":(\d+)/.exec(quoted.body)?.[1];
  if (quoteId === undefined || price === undefined) return wrong(quoted, 402, QUOTED);
  const { answer } = await makePayment(stage.world, { apiKey, quoteId, price: BigInt(price) });
  const [tx] = landed.parse(answer).transaction.signatures;
  const proof = Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
  return wrong(await stage.http.send(CALL, apiKey, PAID_CALL, { "x-payment": proof }), 200, CHARGED);
}

async function gone(stage: Stage): Promise<undefined> {
  const { dice } = stage;
  await stage.http.leave(CALL, rich(stage), dice.pick([ECHO, PAID_CALL]), soon(stage), dice.next() < 0.3);
}

async function goneGrpc(stage: Stage): Promise<string | undefined> {
  const answer = await grpcPaid(stage, soon(stage));
  return answer.status === "CANCELLED" ? undefined : wrong(answer, "OK", "");
}

/** A key that was never created, from any address. */
function badKey(stage: Stage): Promise<Answer> {
  const unknown = rich(stage).slice(0, -24) + randomBytes(12).toString("hex");
  const address = ["10", ...randomBytes(3)].join(".");
  return stage.http.send(CALL, unknown, ECHO, { "x-forwarded-for": address });
}

function wrong({ status, body }: Answer, expected: number | string, part: string): string | undefined {
  return status === expected && body.includes(part) ? undefined : `${status}: ${body.slice(0, 300)}`;
}

function rich({ dice, rich: keys }: Stage): string {
  return dice.pick(keys);
}

function poor({ dice, poor: keys }: Stage): string {
  return dice.pick(keys);
}

function soon({ dice }: Stage): number {
  return dice.next() * GONE_WITHIN_MS;
}
