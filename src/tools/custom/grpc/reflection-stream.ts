import { create, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "#gen/grpc/reflection/v1/reflection_pb.ts";
import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import { once } from "node:events";

type Request = MessageInitShape<typeof ServerReflectionRequestSchema>;
type Response = MessageShape<typeof ServerReflectionResponseSchema>;

/** Both use the same messages; older servers only have v1alpha. */
export type ReflectionVersion = "v1" | "v1alpha";

/** Sequential reflection requests over one stream (grpc.reflection). */
export class ReflectionStream {
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

  /** Closes the stream. */
  async end(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#abort);
    if (this.#call.destroyed) return;
    const closed = once(this.#call, "close").catch(() => {});
    this.#call.cancel();
    this.#call.destroy();
    await closed;
  }
}
