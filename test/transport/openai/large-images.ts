import { describe, expect, it } from "vitest";
import { cutImages } from "../../../src/transport/model-api/cut-images.ts";
import { LargeBodies } from "../../../src/transport/http/large-bodies.ts";
import type { ModelServer } from "../../inference/model-server.ts";
import type { Agent, World } from "../../support/world.ts";

const MB = 1024 * 1024;
const imageOf = (bytes: number, letter = "A") => `data:image/png;base64,${letter.repeat(bytes)}`;
const part = (url: string) => ({ type: "image_url", image_url: { url, detail: "high" } });
const messagesOf = (...parts: readonly object[]) => [
  { role: "user", content: [{ type: "text", text: "What?" }, ...parts] },
  { role: "assistant", tool_calls: [] },
];

/** Where servers that get unknown members may look for images, which no quote covers. */
const elsewhere = (image_url: string) => ({
  messages: messagesOf(),
  input: [{ content: [{ type: "input_image", image_url }] }],
});

/** Images above the size of other requests, with the model `sees`, which takes images. */
export function largeImages(world: World, upstream: () => ModelServer, agent: () => Agent): void {
  const post = (body: object | string, headers: Record<string, string> = {}, who = agent()) =>
    world.post(who, "/openai/v1/chat/completions", body, headers);
  const receipts = async () => (await world.get(agent(), "/receipts")).body.items;

  describe("large images", () => {
    it("reach the model's server as they came, are charged once, and identify the call", async () => {
      const messages = messagesOf(part(imageOf(3 * MB)), part(imageOf(2 * MB, "B")), part(imageOf(3 * MB)));
      const key = { "Idempotency-Key": "large" };
      const first = await post({ model: "sees", messages }, key);
      expect(first.status, JSON.stringify(first.body)).toBe(200);
      const sent = JSON.parse(upstream().received.at(-1)?.body ?? "");
      expect(JSON.stringify(sent.messages) === JSON.stringify(messages), "the same messages").toBe(true);
      const asked = upstream().received.length;
      expect((await post({ model: "sees", messages }, key)).body.receipt_id).toBe(first.body.receipt_id);
      const other = messagesOf(part(imageOf(3 * MB)), part(imageOf(2 * MB, "C")), part(imageOf(3 * MB)));
      expect((await post({ model: "sees", messages: other }, key)).status).toBe(422);
      expect([upstream().received.length, (await receipts()).length]).toEqual([asked, 1]);
    });

    it("cost what small ones cost, also to those who cannot pay", async () => {
      const poor = await world.agent();
      const price = async (bytes: number) =>
        (await post({ model: "sees", messages: messagesOf(part(imageOf(bytes))) }, {}, poor)).body.quote
          .price_usdc_microusd;
      expect(await price(2 * MB)).toBe(await price(10));
    });

    it("may have escaped slashes, as some clients write them", async () => {
      const body = JSON.stringify({ model: "sees", messages: messagesOf(part(imageOf(2 * MB, "/"))) });
      const { status } = await post(JSON.parse(body));
      expect(status).toBe(200);
      const response = await fetch(`${world.gateway.baseUrl}/openai/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${agent().apiKey}`, "content-type": "application/json" },
        body: body.replaceAll("/", "\\/"),
      });
      expect(response.status).toBe(200);
      expect(upstream().received.at(-1)?.body.length).toBeGreaterThan(4 * MB);
      expect(JSON.parse(upstream().received.at(-1)?.body ?? "").messages[0].content[1]).toEqual(
        part(imageOf(2 * MB, "/")),
      );
    });

    it.each<[what: string, body: object]>([
      ["more than the model takes", { messages: messagesOf(part(imageOf(20 * MB))) }],
      ["a model without images", { model: "good", messages: messagesOf(part(imageOf(2 * MB))) }],
      ["an unknown model", { model: "none", messages: messagesOf(part(imageOf(2 * MB))) }],
      ["a text", { messages: [{ role: "user", content: "x".repeat(2 * MB) }] }],
      ["a text that looks like an image", { messages: [{ role: "user", content: imageOf(2 * MB) }] }],
      ["an image of a tool", { messages: [], tools: [part(imageOf(2 * MB))] }],
      ["an image at a place of another API", { model: "open", ...elsewhere(imageOf(2 * MB)) }],
      ["an image in another member", { messages: [{ role: "user", content: "x", image: imageOf(2 * MB) }] }],
    ])("are refused before a quote where they are %s", async (_, body) => {
      const asked = upstream().received.length;
      const { status, body: json } = await post({ model: "sees", ...body }, {}, await world.agent());
      expect([status, json.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
      expect(upstream().received.length).toBe(asked);
    });

    it("are refused by a model that takes none, as small ones are", async () => {
      const { body } = await post({ model: "good", messages: messagesOf(part(imageOf(10))) });
      expect(body.error).toMatchObject({ param: "messages", message: /images/ });
    });

    it("cannot be named by a text of the caller", async () => {
      const url = imageOf(2 * MB);
      const { attached } = await cutImages(Buffer.from(JSON.stringify({ url })), "openai");
      const [name = ""] = attached.keys();
      const again = part(`data:image/png;base64,${name}`);
      const twice = await post({ model: "sees", messages: messagesOf(part(url), again) });
      const other = { ...elsewhere(again.image_url.url), messages: messagesOf(part(url)) };
      expect([twice.status, (await post({ model: "open", ...other })).status]).toEqual([413, 413]);
      const beside = messagesOf(part(url), { type: "text", text: name });
      expect((await post({ model: "sees", messages: beside })).status).toBe(200);
      const sent = JSON.parse(upstream().received.at(-1)?.body ?? "");
      expect(JSON.stringify(sent.messages) === JSON.stringify(beside)).toBe(true);
    });
  });

  describe("large images of Messages", () => {
    const data = "A".repeat(2 * MB);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    const turn = (...content: readonly object[]) => [{ role: "user", content }];
    const ask = (model: string, messages: object, more: object = {}) =>
      world.post(agent(), "/anthropic/v1/messages", { model, max_tokens: 9, messages, ...more });
    const result = (content: object) => ({ type: "tool_result", tool_use_id: "t", content: [content] });
    const sent = () => JSON.parse(upstream().received.at(-1)?.body ?? "");

    it("reach servers of the same API as they came, also as results of tools", async () => {
      const messages = turn(image, result(image), { type: "text", text: "seen" });
      const { status, body } = await ask("claude-says", messages);
      expect([status, body.code]).toEqual([200, undefined]);
      expect(JSON.stringify(sent().messages) === JSON.stringify(messages), "the same messages").toBe(true);
      expect(await receipts()).toHaveLength(1);
    });

    it("reach servers of other APIs converted, as do those of other APIs servers of Messages", async () => {
      const url = imageOf(2 * MB);
      await ask("sees", turn(image, result(image)));
      expect(sent().messages.at(-1).content).toEqual(
        [1, 2].map(() => ({ type: "image_url", image_url: { url } })),
      );
      await ask("r-says", turn(image));
      expect(sent().input.at(-1).content).toMatchObject([{ type: "input_image", image_url: url }]);
      await post({ model: "claude-says", messages: messagesOf(part(url)) });
      expect(sent().messages.at(0).content[1]).toEqual(image);
    });

    it("are counted, and cost what small ones cost", async () => {
      const small = { ...image, source: { ...image.source, data: "AA==" } };
      const counts = [];
      for (const one of [image, small]) {
        const body = { model: "claude-says", messages: turn(one) };
        counts.push((await world.post(agent(), "/anthropic/v1/messages/count_tokens", body)).body);
        await ask("claude-says", turn(one));
      }
      expect(counts[0]).toEqual({ input_tokens: expect.any(Number) });
      expect(counts[0]).toEqual(counts[1]);
      const [one, other] = await receipts();
      expect(one.quoted_usdc_microusd).toBe(other.quoted_usdc_microusd);
    });

    const pdf = { type: "document", source: { type: "base64", media_type: "application/pdf", data } };
    const use = { type: "tool_use", id: "t", name: "look", input: { type: "base64", data } };
    it.each<[what: string, content: object, model: string, status: number, words: string]>([
      ["a document", pdf, "claude-says", 400, "messages[0].content[0].source: has no price"],
      ["the input of a tool", use, "claude-says", 413, "only images may be that long"],
      ["in another block", { type: "later_thing", content: [image] }, "claude-says", 413, "only images"],
      ["text beside an image", { ...image, data }, "claude-says", 413, "only images"],
      ["for a model that takes none", image, "good", 413, "the limit of the model"],
    ])("are refused before a quote: %s", async (_, content, model, status, words) => {
      const asked = upstream().received.length;
      const answer = await ask(model, turn(content));
      expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringContaining(words)]);
      expect([upstream().received.length, await receipts()]).toEqual([asked, []]);
    });
  });

  describe("cutting images out of a message", () => {
    it.each([
      ["many texts", JSON.stringify(Array.from({ length: 60_000 }, () => ""))],
      ["many quotes", JSON.stringify('"'.repeat(60_000))],
      ["many backslashes", JSON.stringify("\\".repeat(60_000))],
    ])("refuses %s, which would take long", async (_, json) => {
      await expect(cutImages(Buffer.from(json), "openai")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    });

    it.each(["", '"', '{"a":"', `{"a":"${imageOf(MB)}`, '{"a":"\\"}'])(
      "leaves what has no end: %.20j",
      async (json) => {
        const { rest, attached } = await cutImages(Buffer.from(json), "openai");
        expect([rest.toString() === json, attached.size]).toEqual([true, 0]);
      },
    );
  });

  describe("large bodies under way", () => {
    it("are bounded for an account and in all, and are given back", () => {
      const bodies = new LargeBodies();
      const own = [bodies.take("a", 20 * MB), bodies.take("a", 20 * MB)];
      expect(() => bodies.take("a", 2 * MB)).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
      const others = ["b", "c", "d", "e", "f", "g"].map((account) => bodies.take(account, 20 * MB));
      expect(() => bodies.take("h", 2 * MB)).toThrow("nothing was charged");
      for (const giveBack of [...own, ...others]) giveBack();
      expect(() => bodies.take("a", 40 * MB)).not.toThrow();
    });
  });
}
