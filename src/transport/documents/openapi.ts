import document from "#gen/openapi.json" with { type: "json" };
import type { ServedDocument } from "./document.ts";

/**
 * The OpenAPI document that is generated from the protos, with what only a running gateway knows.
 * @param baseUrl asked once the doors are open
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
