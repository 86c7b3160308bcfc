import document from "#gen/openapi.json" with { type: "json" };
import type { ServedDocument } from "./document.ts";

/**
 * Returns the generated OpenAPI document with version and server URL.
 * @param baseUrl available after the servers listen
 */
export function openApiDocument(baseUrl: () => string, version: string): ServedDocument {
  let text: string | undefined;
  return {
    path: "/openapi.json",
    mediaType: "application/json",
    maxAgeSeconds: 300,
    text() {
      text ??= JSON.stringify({
        ...document,
        info: { ...document.info, version },
        servers: [{ url: baseUrl() }],
      });
      return text;
    },
  };
}
