import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import SwaggerParser from "@apidevtools/swagger-parser";
import { create, fromBinary, type DescFile } from "@bufbuild/protobuf";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { CodeGeneratorRequestSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "@bufbuild/protoplugin";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiError } from "#httpjson/openapi/catalogue.ts";
import { errorTable, openApiPlugin } from "#httpjson/openapi/plugin.ts";
import { referencePlugin } from "#httpjson/reference/plugin.ts";

// The OpenAPI document and reference pages of an API with all features. All protos are compiled in one run of
// buf.

const root = path.resolve(import.meta.dirname, "../..");

const DOCUMENT = `option (httpjson.v1.document) = {
  title: "Shelves" version: "1"
  bearer: {name: "key" format: "k-…" description: "A key."}
  errors: [{code: "BAD" status: 400 applies: APPLIES_EVERYWHERE meaning: "Wrong."},
    {code: "GONE" status: 410 body: "PKG.Gone" meaning: "No more."},
    {code: "LARGE" status: 413 applies: APPLIES_WITH_BODY meaning: "Less."},
    {code: "WHO" status: 401 applies: APPLIES_WITH_CREDENTIAL meaning: "Say who."}]
  response_headers: [{name: "X-Id" applies: APPLIES_EVERYWHERE description: "Id." statuses: [400]}]
};
message Failure { option (httpjson.v1.error) = {status: 0}; string code = 1; }
message Gone { option (httpjson.v1.error) = {status: 410}; string where = 1; }`;

const SHELVES = `
// Keeps books.
service Shelves {
  // Fetches a book. And more.
  rpc Get(GetRequest) returns (Book) {
    option (google.api.http) = {get: "/{name=shelves/*/books/*}:read"
      additional_bindings: {get: "/books/{name}"}};
    option (httpjson.v1.operation) = {credential: CREDENTIAL_NONE errors: ["GONE"]};
  }
  rpc Put(PutRequest) returns (google.protobuf.Empty) {
    option (google.api.http) = {put: "/shelves/{shelf}" body: "book"};
    option (httpjson.v1.operation) = {credential: CREDENTIAL_OPTIONAL};
  }
  rpc Move(MoveRequest) returns (MoveResponse) {
    option (google.api.http) = {post: "/shelves/{shelf}:move" body: "*" } ; }
}
message GetRequest { string name = 1;
  repeated int32 pages = 2 [(buf.validate.field).repeated =
    {min_items: 1 max_items: 9 unique: true items: {int32: {gt: 0 lt: 99}}}];
  Options options = 3; }
message Options { bool deep = 1; google.protobuf.FieldMask mask = 2; }
message PutRequest { string shelf = 1; Book book = 2; }
// A book.
message Book {
  // Its name.
  string name = 1 [(buf.validate.field).string = {len: 5}];
  uint64 sold = 2;
  map<string, Book> similar = 3 [(buf.validate.field).map.max_pairs = 3];
  google.protobuf.Timestamp printed = 4 [(httpjson.v1.null_when_unset) = true];
  Kind kind = 5;
  bytes cover = 6;
  google.protobuf.StringValue note = 7;
  google.protobuf.Value any = 8;
  google.protobuf.Duration loan = 9;
  double price = 10 [(buf.validate.field).double = {gte: 0 lt: 100}];
  string state = 11 [(buf.validate.field).string = {in: ["new", "used"]}];
  int64 level = 12 [(buf.validate.field).int64 = {not_in: [0]}];
}
// Sorts.
enum Kind { KIND_UNSPECIFIED = 0;
  // Made up.
  KIND_FICTION = 1 [(httpjson.v1.json_value) = "fiction"]; }
message MoveRequest { string shelf = 1; string to = 2 [(buf.validate.field).string.min_len = 1];
  optional string why = 3; }
message MoveResponse { optional Book book = 1 [(httpjson.v1.null_when_unset) = true];
  Book other = 2 [(httpjson.v1.always_set) = true]; optional int32 left = 3; }`;

const ROUTE = (name: string, get: string) =>
  `rpc ${name}(Empty) returns (Empty) { option (google.api.http) = {get: "${get}"}; option ` +
  "(httpjson.v1.operation) = {OPERATION}; }";
const one = (operation: string, more = "") =>
  `${DOCUMENT} service S { ${ROUTE("Do", "/a").replace("OPERATION", operation)} ${more} } message Empty {}`;

const refused: [what: string, says: string, proto: string][] = [
  [
    "an error that the catalogue does not have",
    "the document has no error NOPE; add it to its catalogue",
    one('errors: ["NOPE"]'),
  ],
  [
    "a header that the document does not have",
    "the document has no header X-No; add it to its list",
    one('response_headers: ["X-No"]'),
  ],
  [
    "a body that is no error",
    "PKG.Empty has no status; give it the option httpjson.v1.error with one",
    one('error_bodies: ["PKG.Empty"]'),
  ],
  [
    "a message that is not there",
    "there is no message PKG.Nope",
    one('paths: {path: "/a" other_request: "PKG.Nope"}'),
  ],
  [
    "an error whose body is none",
    "the body of GONE must be a message with the option httpjson.v1.error",
    one("").replace("PKG.Gone", "PKG.Empty"),
  ],
  [
    "an error without a gRPC code beside one that has one",
    "document: the error GONE has no grpc; set it",
    one("").replace("status: 400", 'status: 400 grpc: "INVALID_ARGUMENT"'),
  ],
  [
    "routes that OpenAPI cannot distinguish",
    "OpenAPI cannot distinguish /{x=b/*} from another route",
    `${DOCUMENT} service S { ${ROUTE("A", "/{x=a/*}")} ${ROUTE("B", "/{x=b/*}")} }
     message Empty { string x = 1; }`.replaceAll("OPERATION", ""),
  ],
  [
    "operations of one name",
    "another operation is called Do already; set operation_id",
    `${one("")} service T { ${ROUTE("Do", "/b").replace("OPERATION", "")} }`,
  ],
  [
    "an HTTP method of its own",
    "OpenAPI 3.1 has no place for the HTTP method FETCH",
    one(
      "",
      'rpc F(Empty) returns (Empty) { option (google.api.http) = {custom: {kind: "FETCH" path: "/f"}}; }',
    ),
  ],
];

let folder = "";
let files: readonly FileDescriptorProto[] = [];

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "httpjson-"));
  for (const vendored of ["google/api", "httpjson", "buf"]) {
    cpSync(path.join(root, "proto", vendored), path.join(folder, vendored), { recursive: true });
  }
  const imports = ["google/api/annotations", "httpjson/v1/options", "buf/validate/validate"];
  const known = ["duration", "empty", "field_mask", "struct", "timestamp", "wrappers"].map(
    (name) => `google/protobuf/${name}`,
  );
  const head = [...imports, ...known].map((name) => `import "${name}.proto";`).join("\n");
  const write = (name: string, text: string) =>
    writeFileSync(
      path.join(folder, `${name}.proto`),
      `syntax = "proto3"; package ${name}; ${head}\n${text.replaceAll("PKG", name)}`,
    );
  write("shelves", DOCUMENT + SHELVES);
  refused.forEach(([, , proto], index) => write(`r${index}`, proto));
  const image = path.join(folder, "image.binpb");
  execFileSync(
    path.join(root, "node_modules/.bin/buf"),
    ["build", folder, "--as-file-descriptor-set", "-o", image],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  files = fromBinary(FileDescriptorSetSchema, readFileSync(image)).file;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function generate(plugin: Plugin, name: string, parameter = ""): Map<string, string> {
  const fileToGenerate = [`${name}.proto`];
  const { file } = plugin.run(
    create(CodeGeneratorRequestSchema, { fileToGenerate, protoFile: [...files], parameter }),
  );
  return new Map(file.map((each) => [each.name, each.content]));
}
const documentOf = (parameter = "field_names=proto,emit_default=true,int64=number") =>
  JSON.parse(generate(openApiPlugin, "shelves", parameter).get("openapi.json") ?? "");

describe("the error table", () => {
  it("is written only when the catalogue has gRPC codes", () => {
    expect(generate(openApiPlugin, "shelves").has("errors.ts")).toBe(false);
  });

  it("has the first entry of each code", () => {
    const file = { proto: { name: "a.proto" } } as DescFile;
    const entry = (code: string, status: number, grpc: string) => ({ code, status, grpc }) as ApiError;
    const table = errorTable(file, [
      entry("A", 402, "ABORTED"),
      entry("A", 400, ""),
      entry("B", 404, "NOT_FOUND"),
    ]);
    expect(table).toContain(
      '{\n  A: { status: 402, rpc: "ABORTED" },\n  B: { status: 404, rpc: "NOT_FOUND" },\n} as const;\n',
    );
  });
});

describe("the OpenAPI document", () => {
  it("passes a validator", async () => {
    expect(await SwaggerParser.validate(documentOf())).toMatchObject({ openapi: "3.1.0" });
  });

  it("contains each binding with verbs and variables under a unique name", () => {
    const { paths } = documentOf();
    const items: [string, Record<string, { operationId: string }>][] = Object.entries(paths);
    const names = items.flatMap(([route, item]) =>
      Object.entries(item).map(([verb, { operationId }]) => [verb, route, operationId]),
    );
    expect(names).toEqual([
      ["get", "/{name}:read", "Get"],
      ["get", "/books/{name}", "Get_2"],
      ["put", "/shelves/{shelf}", "Put"],
      ["post", "/shelves/{shelf}:move", "Move"],
    ]);
  });

  it("assigns inputs to path, query and body", () => {
    const { paths, components } = documentOf();
    const pages = {
      type: "array",
      items: { type: "integer", format: "int32", exclusiveMinimum: 0, exclusiveMaximum: 99 },
      minItems: 1,
      maxItems: 9,
      uniqueItems: true,
    };
    expect(paths["/{name}:read"].get.parameters).toEqual([
      { name: "name", in: "path", required: true, schema: { type: "string" } },
      { name: "pages", in: "query", required: true, schema: pages },
      { name: "options.deep", in: "query", schema: { type: "boolean" } },
      { name: "options.mask", in: "query", schema: { type: "string" } },
    ]);
    const bodyOf = (route: string, verb: string) =>
      paths[route][verb].requestBody.content["application/json"].schema;
    expect(bodyOf("/shelves/{shelf}", "put")).toEqual({ $ref: "#/components/schemas/Book" });
    const why = { to: { type: "string", minLength: 1 }, why: { type: "string" } };
    expect(bodyOf("/shelves/{shelf}:move", "post")).toEqual({
      type: "object",
      description: "",
      properties: why,
      required: ["to"],
      additionalProperties: false,
    });
    expect(components.schemas.Gone.required).toEqual(["where"]);
  });

  it("contains rules, comments and JSON forms of well-known types", () => {
    const { Book, Kind, MoveResponse } = documentOf().components.schemas;
    expect(Book).toMatchObject({ description: "A book.", additionalProperties: false, required: ["name"] });
    expect(Book.properties).toEqual({
      name: { type: "string", minLength: 5, maxLength: 5, description: "Its name." },
      sold: { type: "integer", format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      similar: {
        type: "object",
        additionalProperties: { $ref: "#/components/schemas/Book" },
        maxProperties: 3,
      },
      printed: { type: ["string", "null"], format: "date-time" },
      kind: { $ref: "#/components/schemas/Kind" },
      cover: { type: "string", contentEncoding: "base64" },
      note: { type: "string" },
      any: {},
      loan: { type: "string", pattern: "^-?\\d+(\\.\\d{1,9})?s$" },
      price: { type: "number", minimum: 0, exclusiveMaximum: 100 },
      state: { type: "string", enum: ["new", "used"] },
      level: {
        type: "integer",
        format: "int64",
        minimum: -Number.MAX_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
        not: { enum: [0] },
      },
    });
    expect(Kind).toEqual({
      type: "string",
      description: "Sorts.\n\n- `fiction`: Made up.",
      enum: ["fiction"],
    });
    expect(MoveResponse.required).toEqual(["book", "other"]);
    expect(MoveResponse.properties.book).toEqual({
      anyOf: [{ $ref: "#/components/schemas/Book" }, { type: "null" }],
    });
  });

  it("describes ProtoJSON when that is served", () => {
    const { paths, components } = documentOf("");
    expect(components.schemas.Book.properties.sold).toEqual({ type: "string", pattern: "^\\d+$" });
    expect(components.schemas.Book.properties.level).toEqual({ type: "string", pattern: "^-?\\d+$" });
    expect(components.schemas.Gone.required).toBeUndefined();
    expect(paths["/{name}:read"].get.parameters[2].name).toBe("options.deep");
  });

  it("lists each operation's errors and credentials", () => {
    const { paths, security } = documentOf();
    const { get } = paths["/{name}:read"];
    const { put } = paths["/shelves/{shelf}"];
    const { post } = paths["/shelves/{shelf}:move"];
    expect(Object.keys(get.responses)).toEqual(["200", "400", "410"]);
    expect(Object.keys(post.responses)).toEqual(["200", "400", "401", "413"]);
    expect(get.responses["410"].content["application/json"].schema).toEqual({
      $ref: "#/components/schemas/Gone",
    });
    expect(get.responses["400"]["x-error-codes"]).toEqual(["BAD"]);
    expect(Object.keys(get.responses["400"].headers)).toEqual(["X-Id"]);
    expect(put.responses["200"].content["application/json"].schema).toEqual({ type: "object" });
    expect([security, get.security, put.security, post.security]).toEqual([
      [{ key: [] }],
      [],
      [{}, { key: [] }],
      undefined,
    ]);
    expect([get.summary, get.description]).toEqual(["Fetches a book", "Fetches a book. And more."]);
  });

  it.each(refused.map(([what, says], index) => ({ what, says, index })))(
    "cannot be generated with $what",
    ({ says, index }) => {
      expect(() => generate(openApiPlugin, `r${index}`)).toThrow(says.replaceAll("PKG", `r${index}`));
      expect(() => generate(openApiPlugin, `r${index}`)).toThrow(/^r\d+\.proto: /);
    },
  );
});

describe("the reference pages", () => {
  it("contain a page for the service, one for the types and an index", () => {
    const pages = generate(referencePlugin, "shelves");
    expect([...pages.keys()]).toEqual(["shelves.md", "types.md", "README.md"]);
    const page = pages.get("shelves.md") ?? "";
    expect(page).toContain("`GET /{name=shelves/*/books/*}:read`; fields are query parameters.");
    expect(page).toContain(
      "- `pages` int32[]; required; 1 to 9 items; no two alike; each: above 0, below 99",
    );
    expect(page).toContain("No API key is read. Errors: `GONE` (410).");
    expect(pages.get("types.md")).toContain("- 1 `KIND_FICTION` (`fiction`): Made up.");
    const index = pages.get("README.md") ?? "";
    expect(index).toContain("| [Shelves](shelves.md) | Keeps books |");
    expect(index).toContain(
      "Errors of each route: `BAD`; of each that reads an API key: `WHO`; of each with a body: `LARGE`.",
    );
  });
});
