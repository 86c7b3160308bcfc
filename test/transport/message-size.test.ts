import { expect, it } from "vitest";
import { MessageSizes } from "../../src/transport/message-size.ts";

const sizes = new MessageSizes(() => [{ name: "large", maxParamsBytes: 1_000_000 }, { name: "small" }]);
const PADDING = "x".repeat(64 * 1024);
const REFUSED = expect.objectContaining({
  code: "PAYLOAD_TOO_LARGE",
  message: expect.stringContaining("the limit of small"),
});

it.each([["short", 10], ...Array.from({ length: 6 }, (_, index): [string, number] => ["long", 60 + index])])(
  "finds the tool behind %s texts of %i characters, whatever they end with",
  (_, length) => {
    const endings = ["", '"', "\\", '\\"', '"\\', "\\\\", `"tool":"other"${"y".repeat(70)}"`];
    for (const ending of endings) {
      const body = (tool: string) => JSON.stringify({ text: "a".repeat(length) + ending, tool, PADDING });
      sizes.requireJson(Buffer.from(body("large")));
      expect(() => sizes.requireJson(Buffer.from(body("small")))).toThrow(REFUSED);
    }
  },
);
