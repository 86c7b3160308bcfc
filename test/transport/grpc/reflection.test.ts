import { create, createFileRegistry, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { type Client, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { GRPC_SERVERS, useGateway } from "../gateway.ts";
import { grpcClient } from "../grpc-client.ts";

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;
type Answer = ServerReflectionResponse["messageResponse"];

const SERVICES = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
  "toolgate.v1.HealthService",
  "toolgate.v1.ToolService",
];

describe.each(GRPC_SERVERS)("reflection of the %s gRPC server", (_name, byLibrary) => {
  const gateway = useGateway({}, [], byLibrary);
  let client: Client;
  beforeAll(() => {
    client = grpcClient(gateway.grpcAddress);
  });
  afterAll(() => client.close());

  const ask = (...questions: Question[]) => askAs("v1", ...questions);

  async function askAs(version: "v1" | "v1alpha", ...questions: Question[]): Promise<Answer[]> {
    const stream = client.makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (messageRequest: Question) =>
        Buffer.from(
          toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })),
        ),
      (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    );
    for (const question of questions) stream.write(question);
    stream.end();
    const answers: Answer[] = [];
    for await (const response of stream) answers.push((response as ServerReflectionResponse).messageResponse);
    return answers;
  }

  function filesOf(answer: Answer | undefined): FileDescriptorProto[] {
    if (answer?.case !== "fileDescriptorResponse") throw new Error(`no files but ${answer?.case}`);
    return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  }

  it("lists the services", async () => {
    const [answer] = await ask({ case: "listServices", value: "" });
    expect(answer?.case === "listServicesResponse" && answer.value.service.map(({ name }) => name)).toEqual(
      SERVICES,
    );
  });

  it("returns a file with all its imports", async () => {
    const [answer] = await ask({ case: "fileByFilename", value: "toolgate/v1/tool_service.proto" });
    const file = filesOf(answer);
    expect(file[0]?.name).toBe("toolgate/v1/tool_service.proto");
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...file].reverse() }));
    expect(registry.getService("toolgate.v1.ToolService")?.method["callTool"]?.input.typeName).toBe(
      "toolgate.v1.CallToolRequest",
    );
  });

  it.each([
    "toolgate.v1.ToolService",
    "toolgate.v1.ToolService.CallTool",
    "toolgate.v1.CallToolRequest",
    ".toolgate.v1.CallToolRequest",
  ])("finds the file that declares %s", async (symbol) => {
    const [answer] = await ask({ case: "fileContainingSymbol", value: symbol });
    expect(filesOf(answer)[0]?.name).toBe("toolgate/v1/tool_service.proto");
  });

  it("sends each file once per stream unless requested again", async () => {
    const [first, second, third] = await ask(
      { case: "fileByFilename", value: "toolgate/v1/tool_service.proto" },
      { case: "fileByFilename", value: "toolgate/v1/health_service.proto" },
      { case: "fileByFilename", value: "toolgate/v1/health_service.proto" },
    );
    const sent = new Set(filesOf(first).map(({ name }) => name));
    expect(filesOf(second).filter(({ name }) => sent.has(name))).toEqual([]);
    expect(filesOf(third).map(({ name }) => name)).toEqual(["toolgate/v1/health_service.proto"]);
  });

  it("finds extensions by type and number", async () => {
    const extendee = "google.protobuf.MethodOptions";
    const [numbers, file] = await ask(
      { case: "allExtensionNumbersOfType", value: extendee },
      { case: "fileContainingExtension", value: { containingType: extendee, extensionNumber: 72295728 } },
    );
    expect(numbers).toMatchObject({
      value: { baseTypeName: extendee, extensionNumber: expect.arrayContaining([72295728]) },
    });
    expect(filesOf(file)[0]?.name).toBe("google/api/annotations.proto");
  });

  it("returns NOT_FOUND for unknown symbols and keeps the stream", async () => {
    const answers = await ask(
      { case: "fileByFilename", value: "nothing.proto" },
      { case: "fileContainingSymbol", value: "toolgate.v1.Nothing" },
      { case: "fileContainingExtension", value: { containingType: "toolgate.v1.Tool", extensionNumber: 1 } },
      { case: "allExtensionNumbersOfType", value: "toolgate.v1.Nothing" },
    );
    expect(answers.map((answer) => answer.case === "errorResponse" && answer.value.errorCode)).toEqual([
      5, 5, 5, 5,
    ]);
    expect(status.NOT_FOUND).toBe(5);
  });

  it("serves the v1alpha name that grpcurl before 2023 uses", async () => {
    const [list, declared] = await askAs(
      "v1alpha",
      { case: "listServices", value: "*" },
      { case: "fileContainingSymbol", value: "toolgate.v1.ToolService" },
    );
    expect(list?.case === "listServicesResponse" && list.value.service.map(({ name }) => name)).toEqual(
      SERVICES,
    );
    const registry = createFileRegistry(
      create(FileDescriptorSetSchema, { file: filesOf(declared).reverse() }),
    );
    expect(registry.getService("toolgate.v1.ToolService")?.methods.map(({ name }) => name)).toContain(
      "CallTool",
    );
    const [itself] = await askAs("v1alpha", {
      case: "fileContainingSymbol",
      value: "grpc.reflection.v1alpha.ServerReflectionRequest",
    });
    expect(filesOf(itself)[0]?.package).toBe("grpc.reflection.v1alpha");
  });
});
