import {
  fromBinary,
  type FileRegistry,
  create,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { status, type Client, type Metadata, type ClientDuplexStream } from "@grpc/grpc-js";
import { missingImports, missingTypes, registryOf } from "./file-registry.ts";
import { codeOf } from "./status.ts";
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { once } from "node:events";

const MAX_FILES = 2_000;

const MAX_BYTES = 32 * 1024 * 1024;

/** Fetches types by grpc.reflection.v1, or v1alpha. @throws Error for the operator, or ServiceError */
export async function reflect(
  client: Client,
  service: string,
  metadata: Metadata,
  signal: AbortSignal,
): Promise<FileRegistry> {
  try {
    return await reflectBy("v1", client, service, metadata, signal);
  } catch (error) {
    if (!isUnknownService(error)) throw error;
  }
  try {
    return await reflectBy("v1alpha", client, service, metadata, signal);
  } catch (error) {
    if (!isUnknownService(error)) throw error;
    throw new Error(
      "the server does not support reflection (grpc.reflection.v1); set descriptor_set instead",
      {
        cause: error,
      },
    );
  }
}

/** Servers behind proxies say it with other codes than UNIMPLEMENTED. */
function isUnknownService(error: unknown): boolean {
  const code = codeOf(error);
  return code === status.UNIMPLEMENTED || code === status.UNKNOWN || code === status.NOT_FOUND;
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
  const asked = new Set<string>();
  const ask = async (kind: "fileByFilename" | "fileContainingSymbol", value: string): Promise<void> => {
    asked.add(value);
    const answer = await stream.request({ case: kind, value });
    if (answer.case === "fileDescriptorResponse") add(answer.value.fileDescriptorProto);
  };
  const next = (names: Iterable<string>) => [...names].find((name) => !asked.has(name));
  // Servers lack files that have only options.
  for (let name = next(missingImports(files)); name !== undefined; name = next(missingImports(files)))
    await ask("fileByFilename", name);
  // Servers leave out imports, or register files by other names.
  for (let name = next(missingTypes(files)); name !== undefined; name = next(missingTypes(files)))
    await ask("fileContainingSymbol", name);
  const [missing] = missingTypes(files);
  if (missing === undefined) return files;
  throw new Error(
    `the server's reflection lacks ${missing}, which ${service} needs; set descriptor_set instead`,
  );
}

async function unknownService(stream: ReflectionStream, service: string): Promise<string> {
  const list = await stream.request({ case: "listServices", value: "" });
  const names = list.case === "listServicesResponse" ? list.value.service.map(({ name }) => name) : [];
  const known = names.length === 0 ? "" : `; it has ${names.slice(0, 20).join(", ")}`;
  return `the server has no service ${service}${known}`;
}

type Request = MessageInitShape<typeof ServerReflectionRequestSchema>;
type Response = MessageShape<typeof ServerReflectionResponseSchema>;

/** Both use the same messages; older servers only have v1alpha. */
type ReflectionVersion = "v1" | "v1alpha";

/** Sequential reflection requests over one stream (grpc.reflection). */
class ReflectionStream {
  readonly #call: ClientDuplexStream<Uint8Array, Response>;
  readonly #answers: AsyncIterator<Response>;
  readonly #abort: () => void;
  readonly #signal: AbortSignal;

  constructor(client: Client, version: ReflectionVersion, metadata: Metadata, signal: AbortSignal) {
    this.#call = client.makeBidiStreamRequest<Uint8Array, Response>(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (bytes) => Buffer.from(bytes),
      (bytes) => fromBinary(ServerReflectionResponseSchema, bytes, { readUnknownFields: false }),
      metadata,
    );
    this.#answers = this.#call[Symbol.asyncIterator]();
    this.#signal = signal;
    this.#abort = () => this.#call.cancel();
    signal.addEventListener("abort", this.#abort, { once: true });
    if (signal.aborted) this.#abort();
  }

  /** @throws ServiceError of grpc-js */
  async request(
    messageRequest: NonNullable<Request["messageRequest"]>,
  ): Promise<Response["messageResponse"]> {
    this.#call.write(
      toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })),
    );
    const answer = await this.#answers.next();
    if (answer.done === true) throw new Error("the server ended the reflection stream without a response");
    return answer.value.messageResponse;
  }

  async end(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#abort);
    if (this.#call.destroyed) return;
    const closed = once(this.#call, "close").catch(() => {});
    this.#call.cancel();
    this.#call.destroy();
    await closed;
  }
}
