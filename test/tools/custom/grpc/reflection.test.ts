import path from "node:path";
import { clone, create, toBinary, type MessageShape } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProtoSchema,
  DescriptorProtoSchema,
  type DescriptorProto,
  type FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import {
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  ServerReflection,
  type ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { GrpcBackend } from "../../../../src/tools/custom/grpc/grpc-backend.ts";
import { registerEncoded } from "../../../../src/transport/grpc/register.ts";
import { ROOT } from "../../../tooling/command.ts";
import { buildOddTypes, type OddTypes } from "./odd-types.ts";

/** How the reflection of other languages differs from what protoc writes. */

const never = new AbortController().signal;
const SERVICE = "odd.v1.OddService";
const same = (bytes: Buffer) => bytes;

async function listening(server: Server): Promise<string> {
  onTestFinished(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    );
  });
}

function open(address: string, method: string): GrpcBackend {
  const backend = new GrpcBackend({
    tool: "odd_tool",
    section: { address, method: `${SERVICE}/${method}`, tls: false },
    headers: {},
    timeoutMs: 20_000,
    maxResponseBytes: 100_000,
    guard: { network: "any" },
  });
  onTestFinished(() => backend.close());
  return backend;
}

/** A server whose methods echo. */
function echoing(types: OddTypes): Server {
  const server = new Server({ "grpc.enable_channelz": 0 });
  const echo = ({ request }: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) =>
    respond(null, request);
  for (const { name } of types.registry.getService(SERVICE)?.methods ?? [])
    server.register(`/${SERVICE}/${name}`, echo, same, same, "unary");
  return server;
}

type ReflectionCall = ServerDuplexStream<MessageShape<typeof ServerReflectionRequestSchema>, Buffer>;

/** What a server reflects: the files that declare a symbol, or have a name. */
type Reflect = (wanted: string) => readonly FileDescriptorProto[];

function reflecting(server: Server, reflect: Reflect): void {
  registerEncoded(server, ServerReflection.method.serverReflectionInfo, (call: ReflectionCall) => {
    call.on("data", ({ messageRequest: { value } }) => {
      const files = reflect(typeof value === "string" ? value : "");
      const fileDescriptorProto = files.map((file) => toBinary(FileDescriptorProtoSchema, file));
      const errorResponse = { errorCode: status.NOT_FOUND, errorMessage: "unknown" };
      const messageResponse =
        files.length > 0
          ? ({ case: "fileDescriptorResponse", value: { fileDescriptorProto } } as const)
          : ({ case: "errorResponse", value: errorResponse } as const);
      const response = create(ServerReflectionResponseSchema, { messageResponse });
      call.write(Buffer.from(toBinary(ServerReflectionResponseSchema, response)));
    });
    call.on("end", () => call.end());
  });
}

const WITHOUT_JSON_NAMES = (file: FileDescriptorProto) =>
  eachMessage(file.messageType, (message) => {
    for (const field of message.field) field.jsonName = "";
  });
const WITH_RELATIVE_NAMES = (file: FileDescriptorProto) =>
  eachMessage(file.messageType, (message) => {
    for (const field of message.field)
      field.typeName = field.typeName.replace(/^\.(?:odd\.v1\.(?:Everything\.)?)?/, "");
  });
const WITHOUT_IMPORTS = (file: FileDescriptorProto) => {
  file.dependency = [];
};

function eachMessage(messages: readonly DescriptorProto[], change: (message: DescriptorProto) => void): void {
  for (const message of messages) {
    change(message);
    eachMessage(message.nestedType, change);
  }
}

describe("gRPC reflection", () => {
  let types: OddTypes;
  let files: FileDescriptorProto[];

  beforeAll(async () => {
    types = await buildOddTypes();
    files = types.set.file.map((file) => clone(FileDescriptorProtoSchema, file));
  });

  const changed = (...changes: ((file: FileDescriptorProto) => void)[]) =>
    files.map((file) => {
      const copy = clone(FileDescriptorProtoSchema, file);
      for (const change of changes) change(copy);
      return copy;
    });
  const named = (all: readonly FileDescriptorProto[], wanted: string) =>
    all.filter(
      ({ name, package: scope }) => name === wanted || (scope !== "" && wanted.startsWith(`${scope}.`)),
    );

  it.each<[string, () => Reflect]>([
    ["leaves out json_name", () => () => changed(WITHOUT_JSON_NAMES)],
    ["sends files in any order", () => () => changed().reverse()],
    ["sends files one by one", () => (wanted) => named(changed(), wanted)],
    [
      "lacks the files of options",
      () => (wanted) => named(changed(), wanted).filter(({ name }) => !name.startsWith("buf/")),
    ],
    ["names no imports", () => (wanted) => named(changed(WITHOUT_IMPORTS), wanted)],
    ["names types relatively", () => () => changed(WITH_RELATIVE_NAMES, WITHOUT_IMPORTS, WITHOUT_JSON_NAMES)],
  ])("is read when it %s", async (title, reflect) => {
    const server = echoing(types);
    reflecting(server, reflect());
    const address = await listening(server);
    const backend = open(address, "Echo");
    const { inputSchema } = await backend.describe(never);
    const properties = Object.keys(Object(inputSchema["properties"]));
    expect(properties).toContain("aInt32");
    expect(properties).toContain("byName");
    expect(properties).toContain(/json_name|relatively/.test(title) ? "named" : "called-otherwise");
    const params = { aInt64: "5", byName: { x: { maybe: 0 } }, at: "2026-01-01T00:00:00Z", chosenNull: null };
    const { result } = await backend.call(params, { signal: never, idempotencyKey: undefined });
    expect(result).toMatchObject(params);
  });

  it("says which type is missing", async () => {
    const server = echoing(types);
    reflecting(server, (wanted) => {
      const found = named(changed(), wanted);
      for (const { messageType } of found) messageType.splice(0, messageType.length - 1);
      return found;
    });
    await expect(open(await listening(server), "Perform").describe(never)).rejects.toThrow(
      `lacks odd.v1.Everything, which ${SERVICE} needs; set descriptor_set instead`,
    );
  });

  it("says which files import each other, as @grpc/reflection makes one file of each package", async () => {
    const server = echoing(types);
    const field = (typeName: string) =>
      create(FieldDescriptorProtoSchema, { name: "other", number: 99, typeName, label: 1 });
    const other = create(FileDescriptorProtoSchema, { name: "other.proto", package: "other" });
    other.messageType.push(
      create(DescriptorProtoSchema, { name: "M", field: [field(".odd.v1.Everything")] }),
    );
    reflecting(server, () => {
      const all = changed();
      const { messageType = [] } = all.find(({ package: scope }) => scope === "odd.v1") ?? {};
      messageType.find(({ name }) => name === "Everything")?.field.push(field(".other.M"));
      return [...all, other];
    });
    await expect(open(await listening(server), "Echo").describe(never)).rejects.toThrow(
      /the files (.*odd.proto → other.proto|other.proto → .*odd.proto) → .* import each other; set descriptor_set/,
    );
  });

  it.each([true, false])("of @grpc/reflection is read, with keepCase: %s", async (keepCase) => {
    const folder = path.join(ROOT, "test/tools/custom/grpc/proto");
    const loaded = loadSync("odd.proto", { includeDirs: [folder, path.join(ROOT, "proto")], keepCase });
    const definition = loaded[SERVICE] as ServiceDefinition;
    const server = new Server({ "grpc.enable_channelz": 0 });
    server.addService(definition, {
      Echo: ({ request }: { request: object }, respond: (error: null, answer: object) => void) =>
        respond(null, request),
    });
    new ReflectionService(loaded).addToServer(server);
    const backend = open(await listening(server), "Echo");
    const { inputSchema, fieldPath } = await backend.describe(never);
    const properties = Object.keys(Object(inputSchema["properties"]));
    expect(properties.filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))).toEqual([]);
    expect(properties).toContain("aInt32");
    expect(fieldPath?.("inner.a_int32")).toEqual(["inner", "aInt32"]);
    const params = {
      aInt32: 7,
      aInt64: "9007199254740993",
      aColour: "COLOUR_RED",
      maybe: 0,
      byName: { x: { longs: ["1"] } },
      inner: { chosenInner: { deeper: { "1": { colour: "COLOUR_RED" } } } },
      at: "2026-01-01T00:00:00Z",
    };
    const { result } = await backend.call(params, { signal: never, idempotencyKey: undefined });
    expect(result).toMatchObject(params);
  });
});
