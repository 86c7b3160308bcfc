import { z } from "zod";
import { builtIn } from "./built-in.ts";
import { defineTool } from "./define-tool.ts";

const params = z.strictObject({
  message: z.string().max(65_536).describe("Text to return"),
});

/** Specification 2.1, 2.2. */
export const echo = builtIn({
  name: "echo",
  docs: { price: "free", does: "sends a message back" },
  make: () =>
    defineTool({
      name: "echo",
      description: "Returns the message unchanged, to test the API key and the request format. Free.",
      scope: undefined,
      annotations: { readOnlyHint: true, openWorldHint: false },
      params,
      price: undefined,
      run: ({ message }) => ({ echo: message }),
    }),
});
