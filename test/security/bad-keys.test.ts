import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import type { Gateway } from "../../src/gateway.ts";
import { TRANSPORTS, type Call, type TransportClient } from "../interop/transports.ts";
import { forgedKey, mistyped } from "../support/api-keys.ts";
import { openDatabaseLink } from "../support/database-link.ts";
import { useWorld } from "../support/use-world.ts";
import { request } from "../support/world.ts";

const LIST: Call = { method: ReceiptService.method.listReceipts, request: {}, path: "/receipts" };

function mcpClient(gateway: Gateway): TransportClient {
  return {
    async call(_call, headers) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      const answer = await request(gateway, undefined, "/mcp", { method: "POST", body }, headers);
      return answer.status === 200 ? { answer: answer.body } : { error: answer.body };
    },
    close() {},
  };
}

const ALL: typeof TRANSPORTS = [...TRANSPORTS, ["MCP", mcpClient]];

const world = useWorld();

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

async function codeOf(client: TransportClient, key: string): Promise<string> {
  const outcome = await client.call(LIST, bearer(key));
  return "answer" in outcome ? "200" : (/"code":"(\w+)"/.exec(JSON.stringify(outcome.error))?.[1] ?? "?");
}

it.each(ALL)("accepts a valid key from an address that sent many bad ones, over %s", async (_name, open) => {
  const client = open(world.gateway);
  const fresh = await world.agent();
  for (let n = 0; n < 25; n++) expect(await codeOf(client, forgedKey())).toBe("UNAUTHORIZED");
  expect(await codeOf(client, fresh.apiKey)).toBe("200");
  expect(await codeOf(client, mistyped(fresh.apiKey))).toBe("UNAUTHORIZED");
  client.close();
});

describe("10,000 forged keys", () => {
  it("rejects 10,000 forged keys cheaply while a new valid key works", async () => {
    const fresh = await world.agent();
    const health = () => "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const forged = () =>
      `GET /receipts HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${forgedKey()}\r\n\r\n`;
    await flood(health, 1_000, 200);
    await flood(forged, 1_000, 401);
    const ratio = async () => {
      const perHealth = (await flood(health, 3_000, 200)) / 3_000;
      const [spent, answer] = await Promise.all([flood(forged, 10_000, 401), world.get(fresh, "/receipts")]);
      expect(answer.status).toBe(200);
      return spent / 10_000 / perHealth;
    };
    // A collection of garbage may fall into one of the rounds.
    expect(Math.min(await ratio(), await ratio(), await ratio())).toBeLessThan(4);
  });

  it("rejects forged keys without the database; a well-formed one needs it", async () => {
    const link = await openDatabaseLink(world.database.servingUrl);
    const instance = await world.startAnother({ DATABASE_URL: link.url });
    const unseen = await world.agent();
    link.cut();
    const get = (key: string) => request(instance, undefined, "/receipts", { method: "GET" }, bearer(key));
    for (let n = 0; n < 50; n++) expect((await get(forgedKey())).status).toBe(401);
    expect((await get(unseen.apiKey)).status).toBe(503);
    link.mend();
    await expect.poll(async () => (await get(unseen.apiKey)).status).toBe(200);
    await link.close();
  });
});

/** Sends requests over four connections, ten at a time each. @returns CPU time of this process, ms */
async function flood(made: () => string, count: number, status: number): Promise<number> {
  const { hostname, port } = new URL(world.gateway.baseUrl);
  const [batch, lines] = [10, 4];
  const batches = Array.from({ length: count / batch }, () => Array.from({ length: batch }, made).join(""));
  let answered = 0;
  const since = process.cpuUsage();
  await Promise.all(
    Array.from({ length: lines }, async () => {
      const socket = connect(Number(port), hostname);
      let answers = 0;
      let rest = "";
      const writeNext = () => {
        const next = batches.pop();
        answers = 0;
        return next === undefined ? socket.end() : socket.write(next);
      };
      writeNext();
      for await (const chunk of socket) {
        const parts = (rest + String(chunk)).split(`HTTP/1.1 ${status}`);
        answers += parts.length - 1;
        answered += parts.length - 1;
        rest = parts.at(-1)?.slice(-12) ?? "";
        if (answers === batch) writeNext();
      }
    }),
  );
  expect(answered).toBe(count);
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}
