import { expect, it } from "vitest";
import { EventStream } from "../../../src/transport/model-api/event-stream.ts";
import { modelServer } from "../../inference/model-server.ts";

it("comments of a quiet stream start the response and stop with its end", async () => {
  const form = { named: false, keepAlive: ": keep-alive\n\n", end: "data: [DONE]\n\n" };
  const seen = Promise.withResolvers<void>();
  const server = await modelServer((response) => {
    const stream = new EventStream(response, [], new AbortController().signal, form);
    stream.start(10);
    void seen.promise.then(() => stream.end({ done: true }));
  });
  let text = "";
  for await (const part of (await fetch(server.baseUrl)).body ?? []) {
    text += Buffer.from(part).toString();
    if (text.split("keep-alive").length > 2) seen.resolve();
  }
  expect(text).toMatch(/^(?:: keep-alive\n\n)+data: {"done":true}\n\ndata: \[DONE\]\n\n$/);
  await server[Symbol.asyncDispose]();
});
