import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { ROWS, type Row } from "./calls.ts";
import { DOORS, type Door } from "./doors.ts";
import { mcpDoor, plainMcpDoor } from "./mcp-doors.ts";
import type { Outcome } from "./outcome.ts";

/** One table of calls, one real gateway, every door and client: the same content comes out. */

let world: World;
/** What HTTP/JSON answers: the measure for all others, and itself measured by test/contract. */
const expected = new Map<string, Outcome>();

beforeAll(async () => {
  world = await startWorld();
  const [, openHttp] = DOORS[0] ?? never();
  const http = openHttp(world.gateway);
  for (const row of ROWS) expected.set(row.name, await outcomeOf(row, http));
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
});

it("has a row for success and for failure at every status below 500 that needs no fault", () => {
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

describe.each(DOORS.slice(1))("%s", (_, open) => {
  itAnswersAlike(open, ROWS);
});

describe("POST /mcp with the plain tool call", () => {
  itAnswersAlike(plainMcpDoor, ROWS.filter(isToolCall));
});

describe("POST /mcp with JSON-RPC", () => {
  itAnswersAlike(
    mcpDoor,
    ROWS.filter(isToolCall).filter((row) => !row.ownWordsInMcp),
  );
});

function itAnswersAlike(open: (gateway: Gateway) => Door, rows: readonly Row[]): void {
  let door: Door;
  beforeAll(() => {
    door = open(world.gateway);
  });
  afterAll(() => door.close());

  it.each(rows.map((row) => [row.name, row] as const))("%s", async (name, row) => {
    expect(await outcomeOf(row, door)).toEqual(expected.get(name));
  });
}

async function outcomeOf(row: Row, door: Door): Promise<Outcome> {
  const { caller = {} } = row;
  const agent = await world.agent(typeof caller === "object" ? caller : {});
  const { headers, ...call } = { headers: {}, ...(await row.call(world, agent)) };
  return door.call(call, { ...authorization(caller, agent), ...headers });
}

function authorization(caller: Row["caller"], { apiKey }: Agent): Record<string, string> {
  if (caller === "stranger") return {};
  return { Authorization: `Bearer ${caller === "impostor" ? "sk-agent-unknown" : apiKey}` };
}

/** Calls of a tool are made at one path of the contract; the names of those rows say what they need. */
function isToolCall(row: Row): boolean {
  return !/^(receipts|one|a receipt|runs|a run|capabilities|health)/.test(row.name);
}

function never(): never {
  throw new Error("there are no doors");
}
