import { readFileSync } from "node:fs";
import { z } from "zod";
import { ERRORS } from "#gen/errors.ts";
import { list, withPart } from "./markdown.ts";

const documentSchema = z.object({
  "x-errors": z.array(z.object({ code: z.string(), status: z.number(), meaning: z.string() })),
});

/** Fills docs/reference/errors.md with the catalogue of proto/toolgate/v1/api.proto. */
export function errorsPage(page: string): string {
  const document = readFileSync(new URL("../../gen/openapi.json", import.meta.url), "utf8");
  const rpcs = new Map<string, string>(Object.entries(ERRORS).map(([code, { rpc }]) => [code, rpc]));
  const { "x-errors": errors } = documentSchema.parse(JSON.parse(document));
  const rows = errors.map(({ code, status, meaning }) => {
    return `\`${code}\` ${status} ${rpcs.get(code) ?? ""}: ${meaning}`;
  });
  return withPart(page, "errors", list(rows));
}
