import { Code, type ConnectError } from "@connectrpc/connect";
import {
  encodeEnvelope,
  type UniversalHandler,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import {
  headerGrpcStatus,
  setTrailerStatus,
  trailerFlag,
  trailerParse,
  trailerSerialize,
} from "@connectrpc/connect/protocol-grpc-web";
import type { RequestRecord } from "../../app/operations/request-record.ts";
import { ENVELOPE_BYTES } from "./plain-message.ts";
import { ToolgateError } from "../../domain/core/errors.ts";

/** INVALID_REQUEST, as over gRPC. */
export function unreadable({ method }: UniversalHandler): ToolgateError {
  const problem = `the request is not a ${method.input.typeName} in the encoding that it names`;
  return new ToolgateError("INVALID_REQUEST", problem);
}

/** Returns the answer, with another error where Connect answers INTERNAL to an unreadable message. */
export async function replaceUnreadable(
  answer: UniversalServerResponse,
  record: RequestRecord,
  error: () => ConnectError,
): Promise<UniversalServerResponse> {
  if (record.status !== 0) return answer;
  if (answer.status === 500) return connectAnswer(answer, error());
  if (!answer.header?.get("content-type")?.startsWith("application/grpc-web")) return answer;
  // Nothing but trailers: the service has not answered.
  const body = await bytesOf(answer.body ?? []);
  const status = trailerParse(body.subarray(ENVELOPE_BYTES)).get(headerGrpcStatus);
  if (status !== String(Code.Internal)) return { ...answer, body: oneChunk(body) };
  const trailer = new Headers();
  setTrailerStatus(trailer, error());
  return { ...answer, body: oneChunk(encodeEnvelope(trailerFlag, trailerSerialize(trailer))) };
}

/** The answer with the error in place of its own (Connect protocol, "Unary-Response"). */
function connectAnswer(answer: UniversalServerResponse, error: ConnectError): UniversalServerResponse {
  const body = errorToJsonBytes(error, undefined);
  const header = new Headers(answer.header);
  header.set("content-length", String(body.byteLength));
  return { ...answer, status: codeToHttpStatus(error.code), header, body: oneChunk(body) };
}

export async function bytesOf(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function* oneChunk(body: Uint8Array): AsyncIterable<Uint8Array> {
  yield body;
}
