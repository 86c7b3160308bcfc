import type { DescFile } from "@bufbuild/protobuf";
import { GenerationError } from "../plugin/generation-error.ts";
import type { ApiError } from "./catalogue.ts";

/**
 * Returns a TypeScript table of the error codes with their statuses; undefined if no entry has a gRPC code.
 * The first entry of a code has its status; further entries describe exceptions.
 * @throws GenerationError for a code without a gRPC code
 */
export function errorTable(owner: DescFile, errors: readonly ApiError[]): string | undefined {
  if (errors.every(({ grpc }) => grpc === "")) return undefined;
  const rows = new Map<string, string>();
  for (const { code, status, grpc } of errors) {
    if (rows.has(code)) continue;
    if (grpc === "") throw new GenerationError(owner, `document: the error ${code} has no grpc; set it`);
    rows.set(code, `  ${code}: { status: ${status}, rpc: ${JSON.stringify(grpc)} },\n`);
  }
  return (
    `// Generated from ${owner.proto.name}. Do not edit.\n\n` +
    "/** The error catalogue: HTTP status and gRPC status code of each code. */\n" +
    `export const ERRORS = {\n${[...rows.values()].join("")}} as const;\n`
  );
}
