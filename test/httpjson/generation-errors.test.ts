import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { create, fromBinary } from "@bufbuild/protobuf";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { CodeGeneratorRequestSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plugin } from "#httpjson/plugin/plugin.ts";

// Protos that cannot be served, each with the generator's error. buf compiles all at once.

const root = path.resolve(import.meta.dirname, "../..");

interface Case {
  readonly what: string;
  readonly says: string;
  readonly proto: string;
}

/** One method with these options, over a message with a field of each sort. */
function rule(what: string, http: string, says: string, signature = "(Request) returns (Response)"): Case {
  return {
    ...{ what, says },
    proto: `service S { rpc Do ${signature} { option (google.api.http) = {${http}}; } }
      message Request { string id = 1; repeated string tags = 2; map<string, string> labels = 3;
        Nested nested = 4; google.protobuf.Timestamp time = 5; google.protobuf.NullValue nothing = 6; }
      message Nested { string id = 1; repeated Nested more = 2; }
      message Response { string id = 1; }`,
  };
}

/** A message that the one method answers with. */
function response(what: string, body: string, says: string, more = ""): Case {
  return {
    what,
    says,
    proto:
      "service S { rpc Do(google.protobuf.Empty) returns (Response) { option (google.api.http) = {get: " +
      `"/a"}; } } message Response { ${body} } ${more}`,
  };
}

const cases: readonly Case[] = [
  rule("no pattern", 'body: "*"', "has no pattern; set one of get, put, post, delete, patch, custom"),
  rule(
    "a template against the grammar",
    'get: "/a//b"',
    'path template "/a//b" has an unexpected "/" at position 4',
  ),
  rule("a template that does not start with a slash", 'get: "a"', 'must start with "/"'),
  rule("** before the end", 'get: "/a/**/b"', '"**" before its last segment; it may only be the last one'),
  rule(
    "a nested variable",
    'get: "/{id={nested.id}/a}"',
    "a variable inside a variable; name each part as a variable of its own",
  ),
  rule("a variable that appears twice", 'get: "/{id}/{id}"', "has the variable id twice"),
  rule("a malformed percent escape", 'get: "/a%1"', 'malformed percent escape in "a%1"'),
  rule(
    "a variable that is no field",
    'get: "/{nope}"',
    "the path variable nope is no field of cases.c7.Request",
  ),
  rule(
    "a variable below a repeated field",
    'get: "/{nested.more.id}"',
    "the path variable nested.more.id is no field",
  ),
  rule("a repeated variable", 'get: "/{tags}"', "the path variable tags must be a scalar field"),
  rule("a map variable", 'get: "/{labels}"', "the path variable labels must be a scalar field"),
  rule("a message variable", 'get: "/{nested}"', "the path variable nested must be a scalar field"),
  rule("a timestamp variable", 'get: "/{time}"', "the path variable time must be a scalar field"),
  rule("a null variable", 'get: "/{nothing}"', "the path variable nothing must be a scalar field"),
  rule("a body that is no field", 'post: "/a" body: "nope"', 'body: "nope" is no top-level field'),
  rule(
    "a body that is not at the top",
    'post: "/a" body: "nested.id"',
    'body: "nested.id" is no top-level field',
  ),
  rule(
    "a body that the path binds",
    'post: "/{id}" body: "id"',
    "id is both the body and a variable of the path; choose one",
  ),
  rule(
    "a response_body that is no field",
    'get: "/a" response_body: "nope"',
    'response_body: "nope" is no top-level field',
  ),
  rule(
    "bindings inside additional_bindings",
    'get: "/a" additional_bindings: {get: "/b" additional_bindings: {get: "/c"}}',
    "additional_bindings may not have additional_bindings",
  ),
  rule(
    "a custom kind that is no HTTP method",
    'custom: {kind: "A B" path: "/a"}',
    'custom kind "A B" is no HTTP method',
  ),
  rule(
    "the same path twice in a method",
    'get: "/a/{id}" additional_bindings: {get: "/a/{nested.id}"}',
    "GET /a/{nested.id} is already served as /a/{id}",
  ),
  rule(
    "the same path in two spellings",
    'get: "/%61" additional_bindings: {get: "/a"}',
    "GET /a is already served as /%61",
  ),
  rule(
    "a client stream",
    'post: "/a" body: "*"',
    "streaming methods have no HTTP/JSON form here",
    "(stream Request) returns (Response)",
  ),
  rule(
    "a server stream",
    'post: "/a" body: "*"',
    "streaming methods have no HTTP/JSON form here",
    "(Request) returns (stream Response)",
  ),
  rule(
    "a Struct as the request",
    'post: "/a" body: "*"',
    "google.protobuf.Struct cannot be a whole request",
    "(google.protobuf.Struct) returns (Response)",
  ),
  rule(
    "a Timestamp as the response",
    'get: "/a"',
    "google.protobuf.Timestamp cannot be a whole request or response",
    "(Request) returns (google.protobuf.Timestamp)",
  ),
  {
    what: "google.api.HttpBody",
    says: "google.api.HttpBody is not supported",
    proto:
      'import "google/api/httpbody.proto"; service S { rpc Do(google.protobuf.Empty) returns ' +
      '(google.api.HttpBody) { option (google.api.http) = {get: "/a"}; } }',
  },
  response(
    "google.protobuf.Any",
    "google.protobuf.Any any = 1;",
    "google.protobuf.Any is not supported; use a oneof",
  ),
  response(
    "a field called __proto__",
    "string __proto__ = 1;",
    "__proto__ cannot be the name of a JavaScript property; rename the field",
  ),
  {
    what: "a field that answers to another one's name",
    says: 'answers to the JSON name "foo_bar" as foo_bar does; change a name or json_name',
    proto:
      'service S { rpc Do(R) returns (R) { option (google.api.http) = {get: "/a"}; } } message R { ' +
      'string foo_bar = 1; string other = 2 [json_name = "foo_bar"]; }',
  },
  response(
    "a json_value that another value has",
    "E e = 1;",
    'json_value "x" stands for another value',
    'enum E { A = 0 [(httpjson.v1.json_value) = "x"]; B = 1 [(httpjson.v1.json_value) = "x"]; }',
  ),
  response(
    "a json_value that is another value's name",
    "E e = 1;",
    'json_value "B" stands for another value',
    'enum E { A = 0 [(httpjson.v1.json_value) = "B"]; B = 1; }',
  ),
  response(
    "a json_value that looks like a number",
    "E e = 1;",
    'json_value "1" would be mistaken for a number',
    'enum E { A = 0 [(httpjson.v1.json_value) = "1"]; }',
  ),
  response(
    "null_when_unset without presence",
    "string a = 1 [(httpjson.v1.null_when_unset) = true];",
    "null_when_unset is only for fields with presence; make it optional",
  ),
  response(
    "null_when_unset on a list",
    "repeated string a = 1 [(httpjson.v1.null_when_unset) = true];",
    "null_when_unset is only for fields with presence",
  ),
  response(
    "null_when_unset in a oneof",
    "oneof o { string a = 1 [(httpjson.v1.null_when_unset) = true]; }",
    "null_when_unset is not for members of a oneof; remove it",
  ),
  {
    what: "proto2",
    says: "only proto3 messages are supported",
    proto:
      "service S { rpc Do(google.protobuf.Empty) returns (R) { option (google.api.http) = {get: " +
      '"/a"}; } } message R { optional string a = 1; }',
  },
  rule(
    "a message of a file that is not generated",
    'get: "/a"',
    "its file is not generated; generate it in the same run (buf: strategy: all)",
    "(cases.c0.Request) returns (Response)",
  ),
];

const imports = [
  "google/api/annotations.proto",
  "google/protobuf/any.proto",
  "google/protobuf/empty.proto",
  "google/protobuf/struct.proto",
  "google/protobuf/timestamp.proto",
  "httpjson/v1/options.proto",
];

let folder = "";
let files: readonly FileDescriptorProto[] = [];

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "httpjson-"));
  for (const vendored of ["google/api", "httpjson"]) {
    cpSync(path.join(root, "proto", vendored), path.join(folder, vendored), { recursive: true });
  }
  writeFileSync(
    path.join(folder, "google/api/httpbody.proto"),
    'syntax = "proto3"; package google.api; message HttpBody { string content_type = 1; bytes data = 2; }',
  );
  mkdirSync(path.join(folder, "cases"));
  cases.forEach(({ what, proto }, index) => {
    const [, own = "", rest = proto] = /^(import [^;]+;)(.*)$/s.exec(proto) ?? [];
    const other = proto.includes("cases.c0.") ? 'import "cases/c0.proto";' : "";
    const header =
      `syntax = "${what === "proto2" ? "proto2" : "proto3"}"; package cases.c${index}; ` +
      `${imports.map((name) => `import "${name}";`).join(" ")} ${own} ${other}`;
    writeFileSync(path.join(folder, `cases/c${index}.proto`), `${header}\n${rest}`);
  });
  const image = path.join(folder, "image.binpb");
  execFileSync(
    path.join(root, "node_modules/.bin/buf"),
    ["build", folder, "--as-file-descriptor-set", "-o", image],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  files = fromBinary(FileDescriptorSetSchema, readFileSync(image)).file;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function generate(name: string, parameter = ""): string {
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: [name],
    protoFile: [...files],
    parameter,
  });
  const { file } = plugin.run(request);
  return file.map(({ content }) => content).join("\n");
}

describe("the generator refuses", () => {
  it.each(cases.map(({ what, says }, index) => ({ what, says, index })))("$what", ({ says, index }) => {
    const run = (): string => generate(`cases/c${index}.proto`);
    expect(run).toThrow(says);
    expect(run).toThrow(/^cases\/c\d+\.proto: /);
  });

  it("refuses unknown options and values", () => {
    expect(() => generate("cases/c0.proto", "case=snake")).toThrow(/case/);
    expect(() => generate("cases/c0.proto", "int64=bigint")).toThrow(
      'option int64 must be number or string, not "bigint"',
    );
  });
});
