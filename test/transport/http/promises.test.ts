import { createHook } from "node:async_hooks";
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { useGateway } from "../gateway.ts";
import { postText, useHttpServer } from "../http-server.ts";

const CALLS = 20;

const gateway = useGateway();
const opened = useHttpServer(gateway);

it.each([
  ["over HTTP/JSON", "/v1/mcp/tools/call", { tool: "echo", params: { message: "x" } }],
  [
    "over MCP",
    "/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { message: "x" } } },
  ],
])("makes few promises for a call %s that awaits nothing", async (_, path, message) => {
  const text = postText(path, gateway.key().authorization, message);
  const socket = connect(opened.port, "127.0.0.1");
  let promises = 0;
  const hook = createHook({ init: (_id, type) => void (promises += type === "PROMISE" ? 1 : 0) });
  const done = Promise.withResolvers<void>();
  let left = CALLS;
  const ask = () => socket.write(text);
  socket.on("data", (answer: Buffer) => {
    if (!answer.includes("200 OK")) done.reject(new Error(answer.toString()));
    else if (--left > 0) ask();
    else done.resolve();
  });
  await once(socket, "connect");
  hook.enable();
  ask();
  await done.promise;
  hook.disable();
  socket.destroy();
  // The handler, what it awaits, and the promise of its await, which exists for hooks only.
  expect(promises / CALLS).toBeLessThan(4);
});
