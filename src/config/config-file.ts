import { z } from "zod";
import { inferenceSchema } from "../inference/config.ts";
import { customToolsSchema } from "../tools/custom/config.ts";
import { sandboxSchema } from "../sandbox/config.ts";
import { pricesSchema } from "../tools/index.ts";
import { tiersSchema } from "./tiers.ts";

/**
 * Schema of the TOOLGATE_CONFIG file (JSON or YAML). Unknown members are errors, so a misspelt price never
 * falls back to a default.
 */
export const configFileSchema = z.strictObject({
  prices: pricesSchema,
  inference: inferenceSchema,
  sandbox: sandboxSchema,
  tiers: tiersSchema,
  tools: customToolsSchema,
  /** Content of the files that tools refer to, by their path as written; `config apply` adds it. */
  files: z.record(z.string(), z.base64()).optional(),
});

/** The file with all defaults filled in. */
export type ConfigFile = z.output<typeof configFileSchema>;
