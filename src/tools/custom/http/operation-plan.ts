import { isIP } from "node:net";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import { mayConnect, networkFor, type Guard } from "../../../outbound/address-guard.ts";
import { isUrl, type HttpSection } from "../settings.ts";
import type { OpenApiDocument } from "./document.ts";
import { inputsOf } from "./inputs.ts";
import { findOperation, type Operation } from "./operation.ts";
import type { RequestPlan } from "./request.ts";

export interface OperationPlan extends RequestPlan {
  readonly method: Operation["method"];
  readonly description: string | undefined;
  /** Documented media types; empty: any. */
  readonly responseTypes: readonly string[];
}

/**
 * Plans the calls of an operation.
 * @param headers set by the operator
 * @throws Error with a message for the operator
 */
export function planOperation(
  document: OpenApiDocument,
  section: HttpSection,
  headers: readonly string[],
  guard: Guard,
): OperationPlan {
  const operation = findOperation(document, section.operation_id);
  const inputs = inputsOf(document, operation, headers);
  const { method, path, description, responseTypes: answers } = operation;
  const server = serverOf(section, operation, guard);
  const named = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name);
  const missing = named.filter(
    (name) => !inputs.parameters.some((one) => one.location === "path" && one.name === name),
  );
  if (missing.length > 0)
    throw new Error(`has the path ${path} without the parameters ${missing.join(", ")}`);
  const filled = server.pathname.replace(/\/$/, "") + path.replaceAll(/\{[^{}]+\}/g, "x");
  if (!path.startsWith("/") || /[?#]/.test(path) || new URL(server.origin + filled).pathname !== filled)
    throw new Error(`has the path ${path}, which is not a valid URL path`);
  return { method, path, description, responseTypes: answers, inputs, server };
}

/**
 * Returns the configured server, or the document's first with its variables' defaults. The server of a
 * fetched document must have the document's own origin: the operator's secrets are sent there.
 */
function serverOf(section: HttpSection, { server: declared }: Operation, guard: Guard): URL {
  const { openapi, server_url } = section;
  const text = server_url ?? (declared && withVariables(declared));
  const server = text === undefined ? null : URL.parse(text, isUrl(openapi) ? openapi : undefined);
  if (!server || !/^https?:$/.test(server.protocol)) throw new Error("names no server URL; set server_url");
  if (server_url === undefined && isUrl(openapi) && server.origin !== new URL(openapi).origin)
    throw new Error(
      `names the server ${server.origin}, which is not its own origin; set server_url if that is intended`,
    );
  if (server.search !== "" || server.hash !== "" || server.username !== "" || server.password !== "")
    throw new Error("names a server URL with a query, fragment or user; set server_url without them");
  const host = server.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !mayConnect(host, networkFor(guard, host)))
    throw new Error(`names the server ${host}, which is blocked; see network and allow_hosts`);
  return server;
}

function withVariables(server: JsonObject): string | undefined {
  const { url, variables } = server;
  if (typeof url !== "string") return undefined;
  return url.replaceAll(/\{([^{}]+)\}/g, (written, name: string) => {
    const variable: JsonValue | undefined = isJsonObject(variables) ? variables[name] : undefined;
    const value = isJsonObject(variable) ? variable["default"] : undefined;
    return typeof value === "string" ? value : written;
  });
}
