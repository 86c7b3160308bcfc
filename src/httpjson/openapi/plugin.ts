import type { DescFile, JsonObject } from "@bufbuild/protobuf";
import { findAnnotations, isObject, type Annotations } from "../plugin/annotations.ts";
import { checkDistinct } from "../plugin/check-distinct.ts";
import { commentOf } from "../plugin/comments.ts";
import { GenerationError } from "../plugin/generation-error.ts";
import { bindingsOf, type Binding } from "../plugin/http-rule.ts";
import { findReachable } from "../plugin/reachable.ts";
import { textPlugin, type Input, type Output } from "../plugin/text-plugin.ts";
import { ApiCatalogue, type ApiError } from "./catalogue.ts";
import { objectsOf, textOf, schemeNames, securityBy } from "./json-option.ts";
import { operationOf, type OperationContext } from "./operation.ts";
import { headerSchema } from "./responses.ts";
import type { Schema } from "./rules.ts";
import { Schemas } from "./schemas.ts";

/** The protoc plugin of `openapi.json` (OpenAPI 3.1): the JSON that the HTTP/JSON generator serves. */
export const openApiPlugin = textPlugin("protoc-gen-httpjson-openapi", generate);

function* generate({ files, allFiles, options }: Input): Iterable<Output> {
  const annotations = findAnnotations(allFiles);
  const [owner, second] = files.filter((file) => annotations.document(file) !== undefined);
  const document = owner && annotations.document(owner);
  if (owner === undefined || document === undefined) return;
  if (second !== undefined) {
    throw new GenerationError(
      second,
      "has the option httpjson.v1.document, which another file has already; keep one",
    );
  }
  const bindings = bindingsIn(files, annotations);
  checkDistinct(bindings);
  const { read } = findReachable(files, bindings, annotations);
  const catalogue = new ApiCatalogue(owner, document, allFiles, annotations);
  const schemas = new Schemas(annotations, options, read);
  const context: OperationContext = { bindings, catalogue, schemas, annotations, options };
  const paths = pathsOf(bindings, context);
  const openapi = { ...head(document, bindings), paths, ...components(catalogue, schemas) };
  yield { name: "openapi.json", content: `${JSON.stringify(openapi, undefined, 2)}\n` };
  const table = errorTable(owner, catalogue.errors);
  if (table !== undefined) yield { name: "errors.ts", content: table };
}

function bindingsIn(files: readonly DescFile[], annotations: Annotations): Binding[] {
  const methods = files.flatMap(({ services }) => services.flatMap((service) => service.methods));
  return methods.flatMap((method) => {
    const rule = annotations.http(method);
    return rule === undefined ? [] : bindingsOf(method, rule);
  });
}

function head(document: JsonObject, bindings: readonly Binding[]): Schema {
  const license = textOf(document, "license");
  const bearer = bearerOf(document);
  const services = new Set(bindings.map(({ method }) => method.parent));
  return {
    openapi: "3.1.0",
    info: {
      title: textOf(document, "title"),
      summary: textOf(document, "summary"),
      description: textOf(document, "description"),
      version: textOf(document, "version"),
      ...(license !== "" && { license: { name: license, identifier: license } }),
    },
    servers: [{ url: "/" }],
    ...(bearer !== undefined && { security: securityBy(bearer) }),
    tags: [...services].map((service) => ({ name: service.name, description: commentOf(service) })),
  };
}

/** @throws GenerationError where two operations would have the same path and method, or the same name */
function pathsOf(bindings: readonly Binding[], context: OperationContext): Schema {
  const paths = new Map<string, Schema>();
  const names = new Set<string>();
  for (const binding of bindings) {
    const [path, method, operation] = operationOf(binding, context);
    const item = paths.get(path) ?? {};
    if (method in item) {
      throw new GenerationError(
        binding.method,
        `OpenAPI cannot distinguish ${binding.pattern} from another route, it has ${path} for both; ` +
          "name the variables differently",
      );
    }
    const operationId = textOf(operation, "operationId");
    if (names.has(operationId)) {
      throw new GenerationError(
        binding.method,
        `another operation is called ${operationId} already; set operation_id in httpjson.v1.operation`,
      );
    }
    names.add(operationId);
    paths.set(path, { ...item, [method]: operation });
  }
  return Object.fromEntries(paths);
}

function components({ document, errors }: ApiCatalogue, schemas: Schemas): Schema {
  const bearer = bearerOf(document);
  const parameters = new Map<string, Schema>();
  for (const header of objectsOf(document, "requestHeaders")) {
    const name = textOf(header, "name");
    const description = textOf(header, "description");
    parameters.set(name, { name, in: "header", description, schema: headerSchema(header) });
  }
  const headers = new Map<string, Schema>();
  for (const header of objectsOf(document, "responseHeaders")) {
    headers.set(textOf(header, "name"), {
      description: textOf(header, "description"),
      schema: headerSchema(header),
    });
  }
  return {
    components: {
      schemas: schemas.all(),
      parameters: Object.fromEntries(parameters),
      headers: Object.fromEntries(headers),
      ...(bearer !== undefined && { securitySchemes: schemesOf(bearer) }),
    },
    "x-errors": errors.map(({ code, status, meaning }) => ({ code, status, meaning })),
  };
}

function bearerOf(document: JsonObject): JsonObject | undefined {
  const { bearer } = document;
  return isObject(bearer) ? bearer : undefined;
}

/** The token in Authorization, and in the other header that takes it. */
function schemesOf(bearer: JsonObject): Schema {
  const description = textOf(bearer, "description");
  const bearerFormat = textOf(bearer, "format");
  const [name = "", other] = schemeNames(bearer);
  const header = textOf(bearer, "header");
  return {
    [name]: { type: "http", scheme: "bearer", bearerFormat, description },
    ...(other !== undefined && { [other]: { type: "apiKey", in: "header", name: header, description } }),
  };
}

/** Returns a TypeScript table of error codes; the first entry of a code counts. @throws GenerationError */
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
