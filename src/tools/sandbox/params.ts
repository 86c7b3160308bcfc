import { z } from "zod";
import { SANDBOX_LANGUAGES } from "../../domain/tools/sandbox.ts";

/** Bytes of UTF-8, for code and stdin. */
const MAX_BYTES = 262_144;

const LETTERS = "A-Z, a-z, 0-9, _ and -";

/** Limited in bytes. The schema's own limit, in characters, is never stricter. */
const text = () =>
  z
    .string()
    .max(MAX_BYTES)
    .refine(
      (value) => Buffer.byteLength(value) <= MAX_BYTES,
      `must have at most ${MAX_BYTES} bytes as UTF-8`,
    );

export const executeParams = z
  .strictObject({
    language: z.enum(SANDBOX_LANGUAGES).describe("Language of the code; JavaScript may be TypeScript"),
    code: text()
      .min(1)
      .describe(
        "The code, at most 262144 bytes; its last expression (Python) or its export default " +
          "(JavaScript) is the result",
      ),
    stdin: text().prefault("").describe("Standard input of the code, at most 262144 bytes"),
    timeout_ms: z
      .int()
      .min(100)
      .max(30_000)
      .prefault(10_000)
      .describe("Time limit of the code, in ms; the price depends on it"),
    run_id: z
      .string()
      .regex(
        /^(?!run_)[\w-]{1,64}$/,
        `must be 1 to 64 characters of ${LETTERS}, and not begin with run_, which is reserved`,
      )
      .optional()
      .describe(
        "Your own name for the execution, by which sandbox_cancel can end it before you have the result",
      ),
  })
  .meta({ examples: [{ language: "python", code: "6 * 7" }] });

export const cancelParams = z.strictObject({
  run_id: z
    .string()
    .regex(/^[\w-]{1,64}$/, `must be 1 to 64 characters of ${LETTERS}: the run_id of an execution`)
    .describe("The run_id that you gave the execution, or its run_… from GET /runs"),
});
