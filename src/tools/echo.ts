import { z } from "zod";
import type { Tool } from "../domain/tools/tool.ts";
import { defineTool } from "./define-tool.ts";

const params = z.strictObject({
  message: z.string().max(65_536).describe("Text to send back, unchanged"),
});

/** Specification 2.1, 2.2. */
export function echo(): Tool {
  return defineTool({
    name: "echo",
    description:
      "Sends a message back unchanged: shows that the API key and the form of the call are good. Free.",
    scope: undefined,
    annotations: { readOnlyHint: true, openWorldHint: false },
    params,
    price: undefined,
    run: ({ message }) => ({ echo: message }),
  });
}
