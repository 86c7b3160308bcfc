import { z } from "zod";
import type { Tool } from "../domain/tools/tool.ts";
import { defineTool } from "./define-tool.ts";

const params = z.strictObject({
  message: z.string().max(65_536).describe("Text to return"),
});

/** Specification 2.1, 2.2. */
export function echo(): Tool {
  return defineTool({
    name: "echo",
    description: "Returns the message unchanged, to test the API key and the request format. Free.",
    scope: undefined,
    annotations: { readOnlyHint: true, openWorldHint: false },
    params,
    price: undefined,
    run: ({ message }) => ({ echo: message }),
  });
}
