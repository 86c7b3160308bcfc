/** Worker thread of document-check.ts: posts `{valid: true}` or `{problem}`. */
import { parentPort, workerData } from "node:worker_threads";
import SwaggerParser from "@apidevtools/swagger-parser";
import { isJsonObject } from "../../../domain/core/json.ts";

type ApiDocument = Exclude<Parameters<typeof SwaggerParser.validate>[0], string>;

const document: unknown = workerData;
const verdict = isApiDocument(document) ? await verdictOn(document) : { problem: "it is not an object" };
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node, not a window
parentPort?.postMessage(verdict);

/** References are not resolved, so no file or URL is opened. */
async function verdictOn(api: ApiDocument): Promise<object> {
  try {
    await SwaggerParser.validate(api, {
      resolve: { external: false },
      dereference: { circular: "ignore", excludedPathMatcher: () => true },
    });
    return { valid: true };
  } catch (error) {
    const [first = "", ...rest] = (error instanceof Error ? error.message : String(error))
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("Swagger schema validation failed"));
    return { problem: `${first.slice(0, 500)}${rest.length > 0 ? `, and ${rest.length} more` : ""}` };
  }
}

function isApiDocument(value: unknown): value is ApiDocument {
  return isJsonObject(value);
}
