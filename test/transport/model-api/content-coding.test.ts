import { promisify } from "node:util";
import { constants, createZstdCompress, gzip, zstdCompress } from "node:zlib";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { objectOf } from "../../../src/domain/core/json.ts";
import { useChatWorld } from "../openai/chat-world.ts";

/** Compressed bodies, as agents send them. */

const chat = useChatWorld();
const { world, receipts } = chat;
const CODINGS: Readonly<Record<string, (text: string) => Promise<Buffer>>> = {
  gzip: promisify<string, Buffer>(gzip),
  zstd: promisify<string, Buffer>(zstdCompress),
};

async function post(path: string, coding: string, bytes: Buffer, key?: string) {
  const response = await fetch(world.gateway.baseUrl + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-encoding": coding,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: bytes,
  });
  return { status: response.status, headers: response.headers, body: objectOf(await response.json()) };
}

const messages = [{ role: "user", content: "2+2?" }];
const BODIES = [
  ["/openai/v1/responses", { model: "good", input: "2+2?" }],
  ["/openai/v1/chat/completions", { model: "good", messages }],
  ["/anthropic/v1/messages", { model: "good", max_tokens: 9, messages }],
  ["/v1/mcp/tools/call", { tool: "inference_chat", params: { model: "good", messages } }],
] as const;

describe.each(Object.entries(CODINGS))("a body in %s", (coding, encode) => {
  it.each(BODIES)("is read at %s", async (path, body) => {
    const answer = await post(path, coding, await encode(JSON.stringify(body)), chat.agent.apiKey);
    expect([answer.status, await receipts()]).toMatchObject([200, [{}]]);
  });

  it("is refused when it inflates beyond the limit, also without a key", async () => {
    const bomb = await encode(`{"a":"${"a".repeat(64 * 1024 * 1024)}"}`);
    expect(bomb.length).toBeLessThan(100_000);
    for (const [path] of BODIES) expect((await post(path, coding, bomb, chat.agent.apiKey)).status).toBe(413);
    expect((await post("/x402/openai/v1/responses", coding, bomb)).status).toBe(413);
  });

  it("may have images that make it a large one", async () => {
    const image_url = { url: `data:image/png;base64,${"A".repeat(2_000_000)}` };
    const content = [{ type: "image_url", image_url }];
    const body = await encode(JSON.stringify({ model: "sees", messages: [{ role: "user", content }] }));
    expect((await post(BODIES[1][0], coding, body, chat.agent.apiKey)).status).toBe(200);
    const sent = JSON.parse(chat.upstream.received.at(-1)?.body ?? "{}");
    expect(sent.messages[0].content[0].image_url.url).toHaveLength(image_url.url.length);
  });

  it("is refused when it is no such thing", async () => {
    const { status, body } = await post(BODIES[0][0], coding, Buffer.from("{}"), chat.agent.apiKey);
    expect([status, body["message"]]).toEqual([400, `body: is not valid ${coding}; send it again`]);
  });
});

it("refuses a frame of zstd whose window takes more memory than bodies have", async () => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_compressionLevel]: 19 };
  const stream = createZstdCompress({ params });
  // Written in two parts: the frame then has its window in place of its size.
  stream.write(`{"model":"good",`, () => stream.flush(() => stream.end(`"input":"2+2?"}`)));
  const bytes = await buffer(stream);
  const { status, body } = await post(BODIES[0][0], "zstd", bytes, chat.agent.apiKey);
  expect([status, body["code"]]).toEqual([400, "INVALID_REQUEST"]);
});

it.each(["br", "gzip, gzip", "constructor"])(
  "answers 415 with the codings it reads for %s",
  async (coding) => {
    const { status, headers } = await post(BODIES[0][0], coding, Buffer.from("{}"), chat.agent.apiKey);
    expect([status, headers.get("accept-encoding")]).toEqual([415, "gzip, zstd"]);
  },
);
