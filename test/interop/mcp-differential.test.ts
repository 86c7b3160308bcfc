import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startWorld, type World } from "../support/world.ts";
import { DIFFERENCES } from "./mcp-differences.ts";
import { exchange } from "./mcp-exchange.ts";
import { REQUESTS } from "./mcp-requests.ts";
import { startSdkServer, type SdkServer } from "./sdk-server.ts";

let world: World;
let authorization: string;
let official: SdkServer;

beforeAll(async () => {
  [world, official] = await Promise.all([startWorld(), startSdkServer()]);
  authorization = `Bearer ${(await world.agent()).apiKey}`;
});
afterAll(async () => {
  await official.close();
  await world.close();
});

describe("POST /mcp matches a server of the official library for", () => {
  it.for([...REQUESTS].filter(([name]) => !DIFFERENCES.has(name)))("%s", async ([, request]) => {
    const headers = { ...request.headers, authorization };
    expect(await exchange(world.gateway.baseUrl, { ...request, headers })).toBe(
      await exchange(official.baseUrl, request),
    );
  });
});

describe("POST /mcp deliberately differs from the official library for", () => {
  it.for([...DIFFERENCES])("compares the answers: %s", async ([name, { ours, why, paragraph }]) => {
    const request = REQUESTS.get(name);
    if (!request) throw new Error("there is no such request");
    const headers = { ...request.headers, authorization };
    const answer = await exchange(world.gateway.baseUrl, { ...request, headers });
    expect(answer, `${why} (${paragraph})`).toBe(ours);
    // A difference that no longer exists must be removed.
    expect(answer).not.toBe(await exchange(official.baseUrl, request));
  });
});
