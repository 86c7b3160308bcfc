import {
  create,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  type DescExtension,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  type ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { type handleBidiStreamingCall, status } from "@grpc/grpc-js";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

type Request = MessageShape<typeof ServerReflectionRequestSchema>;
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** grpc.reflection.v1.ServerReflection for the given services; responses are encoded. */
export function serverReflection(services: readonly DescService[]): handleBidiStreamingCall<Request, Buffer> {
  const index = new DescriptorIndex(services.map(({ file }) => file));
  const names = services
    .map(({ typeName }) => ({ name: typeName }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const list: Answer = { case: "listServicesResponse", value: { service: names } };
  return (call) => {
    const sent = new Set<DescFile>();
    call.on("data", (request: Request) => {
      // One request at a time: unread responses would pile up.
      call.pause();
      call.write(answer(request, index, list, sent), () => call.resume());
    });
    call.on("end", () => call.end());
  };
}

function answer(request: Request, index: DescriptorIndex, list: Answer, sent: Set<DescFile>): Buffer {
  const { messageRequest } = request;
  switch (messageRequest.case) {
    case "listServices":
      return encoded(request, list);
    case "fileByFilename":
      return files(request, index, index.fileNamed(messageRequest.value), sent);
    case "fileContainingSymbol":
      return files(request, index, index.fileDeclaring(messageRequest.value.replace(/^\./, "")), sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = messageRequest.value;
      return files(request, index, index.fileExtending(containingType, extensionNumber), sent);
    }
    case "allExtensionNumbersOfType": {
      const extensionNumber = index.extensionNumbers(messageRequest.value);
      if (!extensionNumber) return error(request, status.NOT_FOUND, "unknown type");
      const value = { baseTypeName: messageRequest.value, extensionNumber };
      return encoded(request, { case: "allExtensionNumbersResponse", value });
    }
    case undefined:
      return error(request, status.INVALID_ARGUMENT, "the request is empty");
  }
}

/** Returns the file and its imports (file_descriptor_response = 4) that this stream does not have yet. */
function files(
  request: Request,
  index: DescriptorIndex,
  file: DescFile | undefined,
  sent: Set<DescFile>,
): Buffer {
  if (!file) return error(request, status.NOT_FOUND, "unknown file, symbol or extension");
  sent.delete(file);
  const found: DescFile[] = [];
  collect(file, sent, found);
  const pieces = found.reverse().map((one) => index.encoded(one));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const head = new BinaryWriter().tag(4, WireType.LengthDelimited).uint32(length).finish();
  return Buffer.concat([encoded(request), head, ...pieces]);
}

function collect(file: DescFile, sent: Set<DescFile>, into: DescFile[]): void {
  if (sent.has(file)) return;
  sent.add(file);
  for (const dependency of file.dependencies) collect(dependency, sent, into);
  into.push(file);
}

function error(request: Request, errorCode: number, errorMessage: string): Buffer {
  return encoded(request, { case: "errorResponse", value: { errorCode, errorMessage } });
}

function encoded(originalRequest: Request, messageResponse?: Answer): Buffer {
  const response = {
    validHost: originalRequest.host,
    originalRequest,
    ...(messageResponse && { messageResponse }),
  };
  const bytes = toBinary(ServerReflectionResponseSchema, create(ServerReflectionResponseSchema, response));
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

class DescriptorIndex {
  readonly #byName = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();
  /** By extended type, then by number. */
  readonly #extensions = new Map<string, Map<number, DescExtension>>();
  readonly #encoded = new Map<DescFile, Uint8Array>();

  /** Indexes the files and their imports. */
  constructor(files: Iterable<DescFile>) {
    for (const file of files) this.#add(file);
  }

  /** Returns a file by name, such as `toolgate/v1/tool.proto`. */
  fileNamed(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** Returns the file that declares a symbol, by full name without a leading dot. */
  fileDeclaring(symbol: string): DescFile | undefined {
    return this.#bySymbol.get(symbol);
  }

  /** Returns the file that declares an extension. */
  fileExtending(typeName: string, extensionNumber: number): DescFile | undefined {
    return this.#extensions.get(typeName)?.get(extensionNumber)?.file;
  }

  /** Returns the extension numbers of a message; undefined for an unknown message. */
  extensionNumbers(typeName: string): number[] | undefined {
    if (!this.#bySymbol.has(typeName)) return undefined;
    return [...(this.#extensions.get(typeName)?.keys() ?? [])];
  }

  /** Returns a file encoded as an element of FileDescriptorResponse.file_descriptor_proto. */
  encoded(file: DescFile): Uint8Array {
    let bytes = this.#encoded.get(file);
    if (!bytes) {
      const descriptor = toBinary(FileDescriptorProtoSchema, file.proto);
      bytes = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(descriptor).finish();
      this.#encoded.set(file, bytes);
    }
    return bytes;
  }

  #add(file: DescFile): void {
    if (this.#byName.has(file.proto.name)) return;
    this.#byName.set(file.proto.name, file);
    for (const type of nestedTypes(file)) {
      this.#bySymbol.set(type.typeName, file);
      if (type.kind === "extension") this.#extensionsOf(type.extendee.typeName).set(type.number, type);
      if (type.kind === "service")
        for (const { name } of type.methods) this.#bySymbol.set(`${type.typeName}.${name}`, file);
    }
    for (const dependency of file.dependencies) this.#add(dependency);
  }

  #extensionsOf(typeName: string): Map<number, DescExtension> {
    let extensions = this.#extensions.get(typeName);
    if (!extensions) {
      extensions = new Map();
      this.#extensions.set(typeName, extensions);
    }
    return extensions;
  }
}
