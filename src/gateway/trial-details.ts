import { hash } from "node:crypto";
import { parse as parseYaml } from "yaml";
import { ConfigError, referencedVariables } from "../config/config-file.ts";
import { parseDocument } from "../config/document.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import { hostOf, hostsOf } from "../tools/custom/settings.ts";

const MAX_HOSTS = 32;

/** Returns what the operator log keeps of a trial: hash of the document, its variables, the tool's hosts. */
export function trialDetails(text: string, tool: string): JsonObject {
  try {
    const { checksum, content } = parseDocument(text, "document");
    const entry = content.tools.find(({ name }) => name === tool);
    const { openapi, server_url } = entry?.http ?? {};
    const stored = server_url === undefined && openapi !== undefined ? content.files?.[openapi] : undefined;
    const hosts = new Set([...(entry ? hostsOf(entry) : []), ...(stored ? serversIn(stored) : [])]);
    return {
      tool,
      document_sha256: checksum,
      variables: [...new Set(referencedVariables(content))],
      hosts: [...hosts].slice(0, MAX_HOSTS),
    };
  } catch (error) {
    // The trial itself names the problems.
    if (error instanceof ConfigError) return { tool, document_sha256: hash("sha256", text) };
    throw error;
  }
}

/** Hosts of all servers that an OpenAPI document names: of itself, its paths and operations. */
function serversIn(stored: string): string[] {
  try {
    return hostsBelow(parseYaml(Buffer.from(stored, "base64").toString()), undefined);
  } catch {
    return [];
  }
}

function hostsBelow(value: unknown, member: string | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => hostsBelow(one, member));
  if (!isJsonObject(value)) return [];
  const { url } = value;
  const server = member === "servers" && typeof url === "string" ? URL.parse(url) : null;
  const below = Object.entries(value).flatMap(([name, one]) => hostsBelow(one, name));
  return server ? [hostOf(server.hostname), ...below] : below;
}
