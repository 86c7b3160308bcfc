import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useWorld } from "../support/use-world.ts";
import { DIFFERENCES } from "./mcp-differences.ts";
import { exchange } from "./mcp-exchange.ts";
import { REQUESTS } from "./mcp-requests.ts";
import { startSdkServer, type SdkServer } from "./sdk-server.ts";

const world = useWorld();
let authorization: string;
let official: SdkServer;

beforeAll(async () => {
  official = await startSdkServer();
  authorization = `Bearer ${(await world.agent()).apiKey}`;
});
afterAll(() => official.close());

it("has a request for each known difference", () => {
  expect([...DIFFERENCES.keys()].filter((name) => !REQUESTS.has(name))).toEqual([]);
});

describe("POST /mcp and a server of the official library", () => {
  it.for([...REQUESTS])("answer alike, or differ as explained: %s", async ([name, request]) => {
    const headers = { ...request.headers, authorization };
    const ours = await exchange(world.gateway.baseUrl, { ...request, headers });
    const theirs = await exchange(official.baseUrl, request);
    const known = DIFFERENCES.get(name);
    expect(ours, known && `${known.why} (${known.paragraph})`).toBe(known?.ours ?? theirs);
    // A difference that no longer exists must be removed.
    if (known) expect(ours).not.toBe(theirs);
  });
});
