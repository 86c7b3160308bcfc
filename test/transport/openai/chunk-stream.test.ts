import { expect, it } from "vitest";
import { ChunkStream } from "../../../src/transport/openai/chunk-stream.ts";
import { modelServer } from "../../inference/model-server.ts";

it("comments of a quiet stream start the response and stop with its end", async () => {
  const seen = Promise.withResolvers<void>();
  const server = await modelServer((response) => {
    const stream = new ChunkStream(response, [], new AbortController().signal);
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
