import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import type { Gateway } from "../../src/gateway.ts";
import { BAD_KEYS } from "../../src/transport/address-limit.ts";
import { DOORS, type Call, type Door } from "../interop/doors.ts";
import { query } from "../support/database-server.ts";
import { request, startWorld, type World } from "../support/world.ts";

const LIST: Call = { method: ReceiptService.method.listReceipts, request: {}, path: "/receipts" };

/** MCP over JSON-RPC, which has a body and a way of its own to fail. */
function mcpDoor(gateway: Gateway): Door {
  return {
    async call(_call, headers) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      const answer = await request(gateway, undefined, "/mcp", { method: "POST", body }, headers);
      return answer.status === 200 ? { answer: answer.body } : { error: answer.body };
    },
    close() {},
  };
}

const ALL: typeof DOORS = [...DOORS, ["MCP", mcpDoor]];

let world: World;
/** As if behind one proxy, so that every test comes from an address of its own. */
let proxied: Gateway;
beforeAll(async () => {
  world = await startWorld();
  proxied = await world.startAnother({ TRUSTED_PROXY_HOPS: "1" });
});
afterAll(() => world.close());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
let keys = 0;
const badKey = () => bearer(`sk-agent-never-made-${++keys}`);

/** What a call came to: "200" or the code of the error. */
async function codeOf(door: Door, headers: Record<string, string>): Promise<string> {
  const outcome = await door.call(LIST, headers);
  return "answer" in outcome ? "200" : (/"code":"(\w+)"/.exec(JSON.stringify(outcome.error))?.[1] ?? "?");
}

async function exhaust(door: Door, headers: Record<string, string>): Promise<void> {
  for (let n = 0; n < BAD_KEYS.burst; n++) expect(await codeOf(door, { ...headers, ...badKey() })).toBe("UNAUTHORIZED");
}

describe.each(ALL)("through %s", (name, open) => {
  const nth = ALL.findIndex(([one]) => one === name);

  it("an address that sent too many bad keys is limited, but for keys that were good before, and no other address is", async () => {
    const door = open(proxied);
    const from = (address: string) => ({ "x-forwarded-for": `203.0.113.99, ${address}` });
    const here = from(`192.0.2.${nth}`);
    const [known, fresh] = [await world.agent(), await world.agent()];
    expect(await codeOf(door, { ...here, ...bearer(known.apiKey) })).toBe("200");
    await exhaust(door, here);
    expect(await codeOf(door, { ...here, ...badKey() })).toBe("RATE_LIMITED");
    expect(await codeOf(door, { ...here, ...bearer(fresh.apiKey) })).toBe("RATE_LIMITED");
    expect(await codeOf(door, { ...here, ...bearer(known.apiKey) })).toBe("200");
    expect(await codeOf(door, { ...from(`192.0.2.${100 + nth}`), ...badKey() })).toBe("UNAUTHORIZED");
    door.close();
  });

  it("no header helps past the limit where no proxy is trusted: the address is that of the connection", async () => {
    const instance = await world.startAnother();
    const door = open(instance);
    const claims = () => ({ "x-forwarded-for": `198.51.100.${++keys % 250}` });
    for (let n = 0; n < BAD_KEYS.burst; n++) await codeOf(door, { ...claims(), ...badKey() });
    expect(await codeOf(door, { ...claims(), ...badKey() })).toBe("RATE_LIMITED");
    door.close();
  });
});

describe("the refusal", () => {
  it("is a 429 with Retry-After and the rate headers", async () => {
    const here = { "x-forwarded-for": "192.0.2.77" };
    for (let n = 0; n < BAD_KEYS.burst; n++)
      await request(proxied, undefined, "/receipts", { method: "GET" }, { ...here, ...badKey() });
    const answer = await request(proxied, undefined, "/receipts", { method: "GET" }, { ...here, ...badKey() });
    expect(answer.status).toBe(429);
    expect(answer.body).toMatchObject({ code: "RATE_LIMITED", retry_after_seconds: expect.any(Number) });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(answer.headers.get("x-ratelimit-remaining")).toBe("0");
  });

  it("asks nothing of the database", async () => {
    const here = { "x-forwarded-for": "192.0.2.78" };
    const send = () => request(proxied, undefined, "/receipts", { method: "GET" }, { ...here, ...badKey() });
    for (let n = 0; n < BAD_KEYS.burst; n++) await send();
    const { url } = world.database;
    const locked = query(url, "begin; lock table api_key in access exclusive mode; select pg_sleep(2); commit");
    await expect
      .poll(async () => {
        const { rowCount } = await query(
          url,
          "select from pg_locks where mode = 'AccessExclusiveLock' and granted and relation = 'api_key'::regclass",
        );
        return rowCount;
      })
      .toBe(1);
    expect((await send()).status).toBe(429);
    await locked;
  });
});
