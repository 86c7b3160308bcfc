import type { Metadata, ServerInterceptingCallInterface, StatusObject } from "@grpc/grpc-js";
import type { DescMethod } from "@bufbuild/protobuf";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Authentication, Credentials } from "../authentication.ts";
import { rateLimitHeaders, type Header } from "../headers.ts";
import { KEYLESS_MESSAGE_LIMIT, messageLimit } from "../limits.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestIds } from "../request-context.ts";
import { encodingOf, readWith } from "./call-internals.ts";
import { pathOf } from "./register.ts";
import { SmallMessages } from "./small-messages.ts";
import { statusOf } from "./status.ts";

/** A call that passed the checks of its headers. */
export interface AcceptedCall {
  readonly requestId: string;
  readonly authentication: Authentication;
  /** Request id and rate limit headers. */
  readonly headers: Header[];
}

export type CheckResult = { readonly keyless: boolean } | { readonly refusal: StatusObject };

/**
 * Checks the headers of each call before it reads a message: compression, API key, rate limit, message size.
 */
export class CallAuthenticator {
  readonly #pipeline: Pipeline;
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #requestIds: RequestIds;
  readonly #bodyLimit: number;
  readonly #accepted = new WeakMap<Metadata, AcceptedCall>();

  constructor(pipeline: Pipeline, methods: readonly DescMethod[], requestIds: RequestIds, bodyLimit: number) {
    this.#pipeline = pipeline;
    this.#operations = new Map(methods.map((method) => [pathOf(method), pipeline.operation(method)]));
    this.#requestIds = requestIds;
    this.#bodyLimit = bodyLimit;
  }

  /** Returns the accepted call of this metadata. */
  accepted(metadata: Metadata): AcceptedCall {
    const accepted = this.#accepted.get(metadata);
    if (!accepted) throw new Error("request context missing");
    return accepted;
  }

  async check(path: string, call: ServerInterceptingCallInterface, metadata: Metadata): Promise<CheckResult> {
    const requestId = this.#requestIds.next();
    const headers: Header[] = [["x-request-id", requestId]];
    const operation = this.#operations.get(path);
    try {
      requireIdentity(call, headers);
      const limit = operation ? messageLimit(operation.endpoint, this.#bodyLimit) : KEYLESS_MESSAGE_LIMIT;
      if (operation?.endpoint.key !== "required") readWith(call, new SmallMessages(limit));
      if (!operation) return { keyless: true };
      const authentication = await this.#pipeline.authenticate(operation, credentialsOf(call, metadata));
      if (authentication.rate) headers.push(...rateLimitHeaders(authentication.rate));
      this.#accepted.set(metadata, { requestId, authentication, headers });
      return { keyless: authentication.caller === undefined };
    } catch (error) {
      return { refusal: statusOf(this.#pipeline.failure(error, requestId), headers) };
    }
  }
}

/** @throws ToolgateError UNSUPPORTED_MEDIA_TYPE (UNIMPLEMENTED) for compressed messages (compression.md) */
function requireIdentity(call: ServerInterceptingCallInterface, headers: Header[]): void {
  if (encodingOf(call) === "identity") return;
  headers.push(["grpc-accept-encoding", "identity"]);
  throw new ToolgateError(
    "UNSUPPORTED_MEDIA_TYPE",
    "grpc-encoding: must be identity; send messages uncompressed",
    {
      rpc: "UNIMPLEMENTED",
    },
  );
}

/** Returns the credentials of a call. The peer of grpc-js is `address:port`, IPv6 without brackets. */
function credentialsOf(call: ServerInterceptingCallInterface, metadata: Metadata): Credentials {
  const peer = call.getPeer();
  return {
    authorization: metadataValue(metadata, "authorization"),
    peer: peer.slice(0, Math.max(0, peer.lastIndexOf(":"))),
    forwardedFor: metadataValue(metadata, "x-forwarded-for"),
  };
}

/**
 * Returns a metadata value; repeats are joined as in HTTP (RFC 9110 section 5.3), which makes them invalid
 * for all values read here.
 */
export function metadataValue(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
}
