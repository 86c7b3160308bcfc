import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { useWorld } from "../support/use-world.ts";
import type { Agent } from "../support/world.ts";
import { ROWS, type Row } from "./calls.ts";
import { TRANSPORTS, type TransportClient } from "./transports.ts";
import { mcpClient, plainMcpClient } from "./mcp-transports.ts";
import type { Outcome } from "./outcome.ts";

/** One table of calls, one real gateway, every transport and client: all return the same content. */

const world = useWorld({ PAYMENT_WAIT_MS: "100" });
/** The HTTP/JSON response, the reference for all other transports; test/contract checks it. */
const expected = new Map<string, Awaited<ReturnType<typeof outcomeOf>>>();

beforeAll(async () => {
  const [, openHttp] = TRANSPORTS[0] ?? never();
  const http = openHttp(world.gateway);
  for (const row of ROWS) expected.set(row.name, await outcomeOf(row, http));
});

it("has a row for success and for every failure below 500 that needs no fault", () => {
  const codes = [...expected.values()].map((outcome) =>
    "error" in outcome ? JSON.stringify(outcome.error) : "200",
  );
  for (const code of [
    "200",
    "INVALID_REQUEST",
    "UNAUTHORIZED",
    "PAYMENT_REQUIRED",
    "INVALID_PAYMENT",
    "FORBIDDEN",
    "NOT_FOUND",
    "TOOL_NOT_FOUND",
    "TOOL_UNAVAILABLE",
    "IDEMPOTENCY_MISMATCH",
    "RATE_LIMITED",
  ]) {
    expect(codes.filter((text) => text.includes(code))).not.toEqual([]);
  }
});

describe.each(TRANSPORTS.slice(1))("%s", (_, open) => {
  itAnswersAlike(open, ROWS);
});

describe("POST /mcp with the plain tool call", () => {
  itAnswersAlike(plainMcpClient, ROWS.filter(isToolCall));
});

describe("POST /mcp with JSON-RPC", () => {
  itAnswersAlike(
    mcpClient,
    ROWS.filter(isToolCall).filter((row) => !row.ownWordsInMcp),
  );
});

function itAnswersAlike(open: (gateway: Gateway) => TransportClient, rows: readonly Row[]): void {
  let client: TransportClient;
  beforeAll(() => {
    client = open(world.gateway);
  });
  afterAll(() => client.close());

  it.each(rows.map((row) => [row.name, row] as const))("%s", async (name, row) => {
    expect(await outcomeOf(row, client)).toEqual(expected.get(name));
  });
}

async function outcomeOf(row: Row, client: TransportClient): Promise<Outcome & { headers: object }> {
  const { caller = {} } = row;
  const agent = await world.agent(typeof caller === "object" ? caller : {});
  const { headers, ...call } = { headers: {}, ...(await row.call(world, agent)) };
  let received = new Headers();
  const sent = { ...authorization(caller, agent), ...headers };
  const outcome = await client.call(call, sent, (all) => (received = all));
  return { ...outcome, headers: steadyHeaders(received) };
}

/** The gateway's headers that do not change from call to call; the id must be one. */
function steadyHeaders(headers: Headers): object {
  expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  const names = ["x-ratelimit-limit", "retry-after", "www-authenticate"];
  // `/mcp` also says where hosts sign in.
  const steady = (text: string) =>
    text.replace(/^Payment id=.*/, "Payment …").replace(/, resource_metadata=.*/, "");
  return Object.fromEntries(names.map((name) => [name, steady(headers.get(name) ?? "") || null]));
}

function authorization(caller: Row["caller"], { apiKey }: Agent): Record<string, string> {
  if (caller === "stranger") return {};
  return { Authorization: `Bearer ${caller === "impostor" ? "sk-agent-unknown" : apiKey}` };
}

/** Tool calls share one path; the row names their conditions. */
function isToolCall(row: Row): boolean {
  return !/^(receipts|one|a receipt|runs|a run|capabilities|health|price|transaction)/.test(row.name);
}

function never(): never {
  throw new Error("there are no transports");
}
