import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import { resolved, type OpenApiDocument } from "./document.ts";

const METHODS = [
  ["get", "GET"],
  ["put", "PUT"],
  ["post", "POST"],
  ["delete", "DELETE"],
  ["patch", "PATCH"],
] as const;

const MAX_LISTED = 20;

/** An operation merged with its path item. */
export interface Operation {
  readonly method: (typeof METHODS)[number][1];
  /** With parameters in braces. */
  readonly path: string;
  readonly description: string | undefined;
  /** References resolved. The operation's parameters override those of the path. */
  readonly parameters: readonly JsonObject[];
  readonly requestBody: JsonObject | undefined;
  /** Media types of successful responses; empty: not documented. */
  readonly responseTypes: readonly string[];
  /** From the nearest `servers`. */
  readonly server: JsonObject | undefined;
}

/** Finds an operation by its `operationId`. @throws Error with a message for the operator */
export function findOperation({ root }: OpenApiDocument, operationId: string): Operation {
  const all = operationsOf(root);
  const [found, another] = all.filter(({ operation }) => operation["operationId"] === operationId);
  if (!found) {
    const ids = all
      .map(({ operation: { operationId } }) => operationId)
      .filter((id) => typeof id === "string")
      .slice(0, MAX_LISTED);
    throw new Error(
      `has no operation ${operationId} with GET, PUT, POST, DELETE or PATCH; there ` +
        `are ${ids.join(", ") || "none"}`,
    );
  }
  if (another) throw new Error(`has the operation ${operationId} twice`);
  const { path, method, item, operation } = found;
  return {
    method,
    path,
    description: [operation["description"], operation["summary"]].find((text) => typeof text === "string"),
    parameters: parametersOf(root, operation, item),
    requestBody:
      operation["requestBody"] === undefined ? undefined : resolved(root, operation["requestBody"]),
    responseTypes: responseTypesOf(root, operation),
    server: [operation, item, root]
      .flatMap(({ servers }) => (Array.isArray(servers) ? servers : []))
      .find(isJsonObject),
  };
}

interface Found {
  readonly path: string;
  readonly method: Operation["method"];
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

function operationsOf(root: JsonObject): Found[] {
  const paths = isJsonObject(root["paths"]) ? root["paths"] : {};
  return Object.entries(paths).flatMap(([path, value]) => {
    const item = resolved(root, value);
    return METHODS.flatMap(([member, method]) => {
      const operation = item[member];
      return isJsonObject(operation) ? [{ path, method, item, operation }] : [];
    });
  });
}

/** The operation's parameters, and those of the path it does not override. */
function parametersOf(root: JsonObject, operation: JsonObject, item: JsonObject): JsonObject[] {
  const found = new Map<string, JsonObject>();
  for (const list of [operation["parameters"], item["parameters"]]) {
    for (const entry of Array.isArray(list) ? list : []) {
      const parameter = resolved(root, entry);
      const key = JSON.stringify([parameter["in"], parameter["name"]]);
      if (!found.has(key)) found.set(key, parameter);
    }
  }
  return [...found.values()];
}

function responseTypesOf(root: JsonObject, operation: JsonObject): string[] {
  const responses = isJsonObject(operation["responses"]) ? operation["responses"] : {};
  return Object.entries(responses)
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .flatMap(([, response]) => Object.keys(contentOf(resolved(root, response))));
}

/** `content` of a parameter, request body or response, by media type. */
export function contentOf(holder: JsonObject): Record<string, JsonValue> {
  return isJsonObject(holder["content"]) ? holder["content"] : {};
}
