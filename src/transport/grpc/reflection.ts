import { create, type DescFile, type DescService, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import {
  type ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { type handleBidiStreamingCall, status } from "@grpc/grpc-js";
import { DescriptorIndex } from "./descriptor-index.ts";

type Request = MessageShape<typeof ServerReflectionRequestSchema>;
type Response = MessageShape<typeof ServerReflectionResponseSchema>;
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** grpc.reflection.v1.ServerReflection over the descriptors of the services that the server has. */
export function serverReflection(services: readonly DescService[]): handleBidiStreamingCall<Request, Response> {
  const index = new DescriptorIndex(services.map(({ file }) => file));
  const names = services.map(({ typeName }) => ({ name: typeName })).sort((a, b) => (a.name < b.name ? -1 : 1));
  return (call) => {
    const sent = new Set<DescFile>();
    call.on("data", (originalRequest: Request) => {
      const messageResponse = answer(originalRequest, index, names, sent);
      const response = { validHost: originalRequest.host, originalRequest, messageResponse };
      // Answers that nobody takes would be kept, as many as are asked for.
      if (!call.write(create(ServerReflectionResponseSchema, response))) call.pause();
    });
    call.on("drain", () => call.resume());
    call.on("end", () => call.end());
  };
}

function answer(
  { messageRequest }: Request,
  index: DescriptorIndex,
  names: { name: string }[],
  sent: Set<DescFile>,
): Answer {
  switch (messageRequest.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: names } };
    case "fileByFilename":
      return fileAnswer(index, index.fileNamed(messageRequest.value), sent);
    case "fileContainingSymbol":
      return fileAnswer(index, index.fileDeclaring(messageRequest.value.replace(/^\./, "")), sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = messageRequest.value;
      return fileAnswer(index, index.fileExtending(containingType, extensionNumber), sent);
    }
    case "allExtensionNumbersOfType": {
      const extensionNumber = index.extensionNumbers(messageRequest.value);
      if (!extensionNumber) return errorAnswer(status.NOT_FOUND, "there is no such type");
      return { case: "allExtensionNumbersResponse", value: { baseTypeName: messageRequest.value, extensionNumber } };
    }
    case undefined:
      return errorAnswer(status.INVALID_ARGUMENT, "the request asks for nothing");
  }
}

/** The file, then all that it imports, less what this stream was sent before; the file that was asked for is always sent. */
function fileAnswer(index: DescriptorIndex, file: DescFile | undefined, sent: Set<DescFile>): Answer {
  if (!file) return errorAnswer(status.NOT_FOUND, "there is no such file, symbol or extension");
  sent.delete(file);
  const files: DescFile[] = [];
  collect(file, sent, files);
  return {
    case: "fileDescriptorResponse",
    value: { fileDescriptorProto: files.reverse().map((one) => index.encoded(one)) },
  };
}

function collect(file: DescFile, sent: Set<DescFile>, into: DescFile[]): void {
  if (sent.has(file)) return;
  sent.add(file);
  for (const dependency of file.dependencies) collect(dependency, sent, into);
  into.push(file);
}

function errorAnswer(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
