import document from "#gen/openapi.json" with { type: "json" };
import type { SoldTool, SoldTools } from "../x402/sold-tools.ts";
import type { ServedDocument } from "./document.ts";
import { OPENAI_PATHS, OPENAI_TAG } from "./openai-paths.ts";
import { toolPaths } from "./tool-paths.ts";

export interface OpenApiOptions {
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
  readonly version: string;
  /** Undefined: nothing is sold without an API key. */
  readonly sold: SoldTools | undefined;
}

const NOTHING: ReadonlyMap<string, SoldTool> = new Map();

/**
 * Returns the generated OpenAPI document with version, server URL, the routes of the OpenAI API and one path
 * for each tool that wallets buy.
 */
export function openApiDocument({ baseUrl, version, sold }: OpenApiOptions): ServedDocument {
  let kept: { readonly byName: ReadonlyMap<string, SoldTool>; readonly text: string } | undefined;
  const textOf = (byName: ReadonlyMap<string, SoldTool>) =>
    JSON.stringify({
      ...document,
      info: { ...document.info, version },
      servers: [{ url: baseUrl() }],
      tags: [...document.tags, OPENAI_TAG],
      paths: { ...document.paths, ...OPENAI_PATHS, ...toolPaths(byName.values()) },
    });
  return {
    path: "/openapi.json",
    mediaType: "application/json",
    maxAgeSeconds: 300,
    text() {
      const byName = sold?.byName() ?? NOTHING;
      if (kept?.byName !== byName) kept = { byName, text: textOf(byName) };
      return kept.text;
    },
  };
}
