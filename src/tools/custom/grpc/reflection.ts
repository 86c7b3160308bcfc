import { fromBinary, type FileRegistry } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { status, type Client, type Metadata } from "@grpc/grpc-js";
import { missingImports, registryOf } from "./file-registry.ts";
import { ReflectionStream, type ReflectionVersion } from "./reflection-stream.ts";
import { codeOf } from "./status.ts";

const MAX_FILES = 2_000;

const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Fetches the types of a service by grpc.reflection.v1, or v1alpha as a fallback.
 * @throws Error with a message for the operator, or ServiceError of grpc-js
 */
export async function reflect(
  client: Client,
  service: string,
  metadata: Metadata,
  signal: AbortSignal,
): Promise<FileRegistry> {
  try {
    return await reflectBy("v1", client, service, metadata, signal);
  } catch (error) {
    if (codeOf(error) !== status.UNIMPLEMENTED) throw error;
  }
  try {
    return await reflectBy("v1alpha", client, service, metadata, signal);
  } catch (error) {
    if (codeOf(error) !== status.UNIMPLEMENTED) throw error;
    throw new Error(
      "the server does not support reflection (grpc.reflection.v1); set descriptor_set instead",
      {
        cause: error,
      },
    );
  }
}

async function reflectBy(
  version: ReflectionVersion,
  client: Client,
  service: string,
  metadata: Metadata,
  signal: AbortSignal,
): Promise<FileRegistry> {
  const stream = new ReflectionStream(client, version, metadata, signal);
  try {
    return registryOf(await filesOf(stream, service));
  } finally {
    await stream.end();
  }
}

/** Fetches the file that declares a service, and its imports. */
async function filesOf(stream: ReflectionStream, service: string): Promise<Map<string, FileDescriptorProto>> {
  const files = new Map<string, FileDescriptorProto>();
  let size = 0;
  const add = (encoded: readonly Uint8Array[]): void => {
    for (const bytes of encoded) {
      size += bytes.length;
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      files.set(file.name, file);
    }
    if (files.size > MAX_FILES || size > MAX_BYTES) throw new Error("the server's reflection is too large");
  };
  const declaring = await stream.request({ case: "fileContainingSymbol", value: service });
  if (declaring.case !== "fileDescriptorResponse") throw new Error(await unknownService(stream, service));
  add(declaring.value.fileDescriptorProto);
  for (;;) {
    const [missing] = missingImports(files);
    if (missing === undefined) return files;
    const answer = await stream.request({ case: "fileByFilename", value: missing });
    if (answer.case === "fileDescriptorResponse") add(answer.value.fileDescriptorProto);
    if (!files.has(missing))
      throw new Error(
        `the server's reflection lacks ${missing}, which ${service} needs; set descriptor_set instead`,
      );
  }
}

async function unknownService(stream: ReflectionStream, service: string): Promise<string> {
  const list = await stream.request({ case: "listServices", value: "" });
  const names = list.case === "listServicesResponse" ? list.value.service.map(({ name }) => name) : [];
  const known = names.length === 0 ? "" : `; it has ${names.slice(0, 20).join(", ")}`;
  return `the server has no service ${service}${known}`;
}
