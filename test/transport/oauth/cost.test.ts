import { afterAll, expect, it } from "vitest";
import { Stranger } from "../../support/stranger.ts";
import { useWorld } from "../../support/use-world.ts";
import { Browser, connect } from "./browser.ts";

/** What a call costs by the kind of its credential. */

const world = useWorld({ TRUSTED_PROXY_HOPS: "1" });
const BODY = '{"tool":"echo","params":{"message":"hello"}}';
/** 1.1 on a quiet machine; the least of several rounds. */
const MOST = 1.3;
let stranger: Stranger | undefined;
afterAll(() => stranger?.close());

function call(credential: string): string {
  return [
    "POST /v1/mcp/tools/call HTTP/1.1",
    "Host: 127.0.0.1",
    `Authorization: Bearer ${credential}`,
    "Content-Type: application/json",
    `Content-Length: ${BODY.length}`,
    "",
    BODY,
  ].join("\r\n");
}

it("takes as much computing time with an access token as with a key", async () => {
  const agent = await world.agent();
  const { accessToken } = await connect(world.gateway, { browser: new Browser(agent.wallet) });
  stranger = new Stranger(Number(new URL(world.gateway.baseUrl).port));
  for (const credential of [accessToken, agent.apiKey]) await stranger.costOf(call(credential), 500);
  const { ratio, statuses } = await stranger.timesAsMuch(call(accessToken), call(agent.apiKey), MOST, 500);
  expect(statuses).toEqual(["200"]);
  expect(ratio).toBeLessThan(MOST);
});
