import { z } from "zod";
import { inferenceSchema } from "../inference/config.ts";
import { customToolsSchema } from "../tools/custom/config.ts";
import { sandboxSchema } from "../sandbox/config.ts";
import { pricesSchema } from "../tools/prices.ts";

/** The file that TOOLGATE_CONFIG names, JSON or YAML. Unknown members are errors: a price that is misspelt must not be a default in silence. */
export const configFileSchema = z.strictObject({
  prices: pricesSchema,
  inference: inferenceSchema,
  sandbox: sandboxSchema,
  tools: customToolsSchema,
});

/** The file, read, with every default filled in. */
export type ConfigFile = z.output<typeof configFileSchema>;
