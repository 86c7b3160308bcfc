import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import type { ModelServer } from "../../inference/model-server.ts";
import { closeServer, listen } from "../../support/servers.ts";
import type { Agent, World } from "../../support/world.ts";

const messages = [{ role: "user", content: "2+2?" }];
const imageOf = (url: string) => ({ role: "user", content: [{ type: "image_url", image_url: { url } }] });

/** What a caller names by its address. The models: `sees`, `open`, and `fetches`, whose server fetches. */
export function serverFetches(world: World, upstream: () => ModelServer): void {
  async function post(body: object, who?: Agent) {
    const agent = who ?? (await world.agent({ balance: 1_000_000n }));
    const { status, body: json } = await world.post(agent, "/openai/v1/chat/completions", body);
    return { status, json, agent };
  }

  describe("addresses in a conversation", () => {
    it("fetches images for paid calls only, and from public addresses only", async () => {
      let asked = 0;
      const images = createServer((_, response) => void response.end(String(++asked)));
      const url = `http://127.0.0.1:${await listen(images)}/a.png`;
      const body = { model: "sees", messages: [imageOf(url)] };
      const before = upstream().received.length;
      expect((await post(body, await world.agent())).status, "unpaid").toBe(402);
      const { status, json, agent } = await post(body);
      expect([status, json.error]).toMatchObject([400, { param: "messages[0].content[0].image_url.url" }]);
      expect(json.error.message).toContain("its host is not a public address");
      expect([
        asked,
        upstream().received.length - before,
        (await world.get(agent, "/receipts")).body.items,
      ]).toEqual([0, 0, []]);
      await closeServer(images);
    });

    it.each([
      "http://user@example.com/a.png",
      "http://user:pass@example.com/a.png",
      "http://@example.com/a.png",
      "http://example.com/a.png\r\nHost: inside",
      "http://example.com\\@127.0.0.1/a.png",
      " http://example.com/a.png",
      "http:example.com/a.png",
      "http:///example.com/a.png",
      "HTTP+unix://example.com/a.png",
      "file:///etc/passwd",
      "ftp://example.com/a.png",
      "data:text/html;base64,AA==",
      "/etc/passwd",
      "",
    ])("refuses the image URL %j before a quote, with both settings of image_urls", async (url) => {
      const poor = await world.agent();
      for (const model of ["sees", "fetches"]) {
        const { status, json } = await post({ model, messages: [imageOf(url)] }, poor);
        expect([status, json.error]).toMatchObject([400, { param: "messages[0].content[0].image_url.url" }]);
      }
    });

    it("limits the images that it fetches for a call", async () => {
      const content = Array.from({ length: 17 }, () => imageOf("https://example.com/a.png").content[0]);
      const { json } = await post({ model: "sees", messages: [{ role: "user", content }] });
      expect(json.error).toMatchObject({
        param: "messages",
        message: /has 17 images by URL; send at most 16/,
      });
    });

    const inside = "http://169.254.169.254/latest";
    const schema = { properties: { a: { $ref: `${inside}#/a` } } };
    const call = { id: "1", type: "function", function: { name: "a", arguments: "{}", extra: [inside] } };
    it.each([
      [{ documents: [{ source: inside }] }, "documents[0].source"],
      [{ template: " FILE:/etc/passwd" }, "template"],
      [{ messages: [{ role: "user", content: "x", video: { url: "//inside/x" } }] }, "messages[0].video.url"],
      [
        { messages: [{ role: "user", content: [{ type: "text", text: "x", video_url: inside }] }] },
        "messages[0].content[0].video_url",
      ],
      [
        { messages: [{ role: "assistant", tool_calls: [call] }] },
        "messages[0].tool_calls[0].function.extra[0]",
      ],
      [
        { tools: [{ type: "function", function: { name: "a", parameters: schema } }] },
        'tools[0].function.parameters.properties.a["$ref"]',
      ],
      [
        { response_format: { type: "json_schema", json_schema: { name: "a", schema } } },
        'response_format.json_schema.schema.properties.a["$ref"]',
      ],
    ])("refuses %j, which the server would fetch, unless image_urls is pass", async (more, param) => {
      const { status, json } = await post({ model: "open", messages, ...more });
      expect(status).toBe(400);
      expect(json.error.message.split(": ", 2)).toEqual([param, expect.stringMatching(/^names an address/)]);
      expect((await post({ model: "fetches", messages, ...more })).status).toBe(200);
    });

    it.each(["input_audio", "file", "video_url"])(
      "refuses parts of the type %s for all servers",
      async (type) => {
        const content = [{ type, [type]: { url: inside, data: inside, file_data: inside } }];
        for (const model of ["good", "open", "fetches"]) {
          const { json } = await post({ model, messages: [{ role: "user", content }] });
          expect(json.error).toMatchObject({ param: "messages[0].content[0].type" });
        }
      },
    );
  });
}
