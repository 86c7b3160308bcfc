import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { useGateway } from "../gateway.ts";
import { postText, useHttpServer } from "../http-server.ts";

const [CONNECTIONS, CALLS] = [64, 9_600];
/**
 * Bytes of a call, of 13,000 that it allocates: the test keeps records of requests, 526 bytes each. What
 * other files of this process still do adds up over the time of a round, which is long on a busy machine.
 */
const MAX_SURVIVING = 2_500;
/** What calls leave shows in each round. */
const ROUNDS = 5;

const gateway = useGateway();
const opened = useHttpServer(gateway);
const sockets: Socket[] = [];
let ask: (calls: number) => Promise<void>;
beforeAll(async () => {
  const paid = { tool: "paid", params: {} };
  const request = postText("/v1/mcp/tools/call", gateway.key().authorization, paid);
  for (let open = 0; open < CONNECTIONS; open++) sockets.push(connect(opened.port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  // As a database would, each answer lets other requests begin.
  ask = async (calls) => {
    await Promise.all(
      sockets.map(async (socket) => {
        for (let left = calls / CONNECTIONS; left > 0; left--) {
          gateway.rate.before = turn();
          socket.write(request);
          const [answer] = await once(socket, "data");
          expect(String(answer)).toContain("402 Payment Required");
        }
      }),
    );
  };
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

it("leaves nothing of an answered call to the major collections", async () => {
  // Compiles the code and moves everything that lasts to the old generation.
  await ask(1_280);
  setFlagsFromString("--expose-gc");
  let surviving = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && surviving >= MAX_SURVIVING; round++) {
    for (let times = 0; times < 2; times++) runInNewContext("gc()");
    const before = oldGeneration();
    await ask(CALLS);
    surviving = (oldGeneration() - before) / CALLS;
  }
  expect(surviving).toBeLessThan(MAX_SURVIVING);
});

function oldGeneration(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")?.space_used_size ?? 0;
}
