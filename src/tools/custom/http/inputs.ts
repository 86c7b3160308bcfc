import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import { isReserved } from "../headers.ts";
import type { OpenApiDocument } from "./document.ts";
import { SchemaWriter } from "./json-schema.ts";
import { mediaTypeOf, isJsonType } from "./media-type.ts";
import { contentOf, type Operation } from "./operation.ts";

const LOCATIONS = ["path", "query", "header", "cookie"] as const;

export type ParameterLocation = (typeof LOCATIONS)[number];

/** Serialisation style (OpenAPI 3.1, 4.8.12); `json`: as JSON text. */
const STYLES = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
} as const satisfies Record<ParameterLocation, readonly string[]>;
export type Style = (typeof STYLES)[ParameterLocation][number] | "json";

export interface ParameterInput {
  /** Name in the tool's parameters. */
  readonly member: string;
  /** Name in the request. */
  readonly name: string;
  readonly location: ParameterLocation;
  readonly style: Style;
  readonly explode: boolean;
}

/** The request body, passed as the tool's parameter `body`. */
export interface BodyInput {
  readonly mediaType: string;
  readonly encoding: "json" | "form";
}

export interface Inputs {
  readonly parameters: readonly ParameterInput[];
  readonly body: BodyInput | undefined;
  /** Schema of the tool's parameters. Unknown members are rejected. */
  readonly schema: JsonObject;
}

/** A parameter as documented. */
interface Declared extends Omit<ParameterInput, "member"> {
  readonly required: boolean;
  readonly schema: JsonValue | undefined;
  readonly description: JsonValue | undefined;
}

/** Derives the inputs of an operation. @param fixed the operator's headers. @throws Error for the operator */
export function inputsOf(document: OpenApiDocument, operation: Operation, fixed: readonly string[]): Inputs {
  const writer = new SchemaWriter(document);
  const taken = new Set(fixed.map((header) => header.toLowerCase()));
  const declared = operation.parameters.flatMap((parameter) => declaredOf(parameter, taken));
  const body = bodyOf(operation);
  const names = [...declared.map(({ name }) => name), ...(body ? ["body"] : [])];
  const isShared = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  const properties: JsonObject = {};
  const required: string[] = [];
  const parameters = declared.map(({ name, location, style, explode, ...rest }) => {
    const member = isShared(name) ? `${location}_${name}` : name;
    if (Object.hasOwn(properties, member))
      throw new Error(`has two parameters that would both be called ${member}`);
    properties[member] = withDescription(writer.write(rest.schema), rest.description);
    if (rest.required) required.push(member);
    return { member, name, location, style, explode };
  });
  if (body) {
    if (Object.hasOwn(properties, "body"))
      throw new Error("has a body and a parameter that would be called body");
    properties["body"] = withDescription(writer.write(body.schema), operation.requestBody?.["description"]);
    if (body.required) required.push("body");
  }
  const { definitions } = writer;
  return {
    parameters,
    body,
    schema: {
      type: "object",
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    },
  };
}

function declaredOf(parameter: JsonObject, fixed: ReadonlySet<string>): Declared[] {
  const { name, schema, description } = parameter;
  const location = LOCATIONS.find((one) => one === parameter["in"]);
  if (typeof name !== "string" || location === undefined)
    throw new Error("has a parameter without a name or a location");
  // JavaScript objects cannot hold it as a member of their own.
  if (name === "__proto__") throw new Error("has a parameter called __proto__, which is not supported");
  const required = location === "path" || parameter["required"] === true;
  // Accept, Content-Type and Authorization are no parameters (OpenAPI 3.1, 4.8.12.2). Other reserved
  // headers belong to the operator or to HTTP.
  if (location === "header" && fixed.has(name.toLowerCase())) return [];
  if (location === "header" && (/^authorization$/i.test(name) || isReserved(name))) {
    if (required && !/^(?:accept|authorization|content-type|idempotency-key)$/i.test(name))
      throw new Error(
        `needs the header ${name}, which the gateway does not let callers set; set it in headers_env`,
      );
    return [];
  }
  const [content] = Object.entries(contentOf(parameter));
  if (content) {
    const [mediaType, media] = content;
    if (!isJsonType(mediaTypeOf(mediaType)))
      throw new Error(`wants the parameter ${name} as ${mediaType}, which the gateway cannot encode`);
    const inner = isJsonObject(media) ? media["schema"] : undefined;
    return [{ name, location, style: "json", explode: false, required, schema: inner, description }];
  }
  const styles: readonly Style[] = STYLES[location];
  const wanted = parameter["style"] ?? styles[0];
  const style = styles.find((one) => one === wanted);
  if (style === undefined) throw new Error(`wants the ${location} parameter ${name} in an unknown style`);
  const { explode = style === "form" } = parameter;
  return [{ name, location, style, explode: explode === true, required, schema, description }];
}

function bodyOf({
  method,
  requestBody,
}: Operation): (BodyInput & { required: boolean; schema: JsonValue | undefined }) | undefined {
  if (!requestBody) return undefined;
  if (method === "GET") {
    // A body of GET has no meaning (RFC 9110, 9.3.1).
    if (requestBody["required"] === true)
      throw new Error("requires a body with GET, which the gateway does not send");
    return undefined;
  }
  const media = Object.entries(contentOf(requestBody)).map(([written, value]) => ({
    type: mediaTypeOf(written),
    schema: isJsonObject(value) ? value["schema"] : undefined,
  }));
  const required = requestBody["required"] === true;
  const json = media.find(({ type }) => isJsonType(type));
  if (json) return { mediaType: json.type, encoding: "json", required, schema: json.schema };
  const form = media.find(({ type }) => type === "application/x-www-form-urlencoded");
  if (form) return { mediaType: form.type, encoding: "form", required, schema: form.schema };
  if (!required) return undefined;
  throw new Error(
    `wants a body of ${media.map(({ type }) => type).join(" or ") || "no known kind"}; the gateway ` +
      "supports application/json and application/x-www-form-urlencoded",
  );
}

/** The parameter's description overrides its schema's. */
function withDescription(schema: JsonValue, description: JsonValue | undefined): JsonValue {
  return isJsonObject(schema) && typeof description === "string" ? { ...schema, description } : schema;
}
